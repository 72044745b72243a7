import os
import signal
import threading

from mlmio.solvers.interrupts import noting_interrupts


def test_noted_and_not_raised():
    before = signal.getsignal(signal.SIGINT)
    with noting_interrupts() as interrupted:
        assert not interrupted()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupted()
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    said = []

    def work():
        with noting_interrupts() as interrupted:
            said.append(interrupted())

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert said == [False]
    assert signal.getsignal(signal.SIGINT) is before
