"""The compiled alternation, which polishes what the strategy ``alternating`` finds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.halting import halt_at
from mlmio.outline import Serving, Softening

if TYPE_CHECKING:
    from mlmio.kernels.programs import Work
    from mlmio.outline import Outline

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Features of all pairs that the compiled alternation may take.
POLISHED_BYTES = 2**28


@dataclass(frozen=True)
class Best:
    """The best solution of some.

    Parameters
    ----------
    objective : float
        Its objective.
    theta : (P,) array or None
        Parameters, None where there is no solution.
    outliers : (N,) array of bool
        Who is given up.
    """

    objective: float
    theta: Array | None
    outliers: Mask


def fits(sketch: Outline) -> bool:
    """Whether the compiled alternation takes it: no soft margin, and features that fit memory."""
    context = sketch.context
    margin = isinstance(context.neighbors, Serving) and not isinstance(context.loss, Softening)
    return margin and 8 * sketch.data.N**2 * sketch.region.P <= POLISHED_BYTES


class Polish:
    """The compiled alternation, for the margin alone: who is given up is settled, then fixed.

    Parameters
    ----------
    sketch : Outline
        What is solved.
    threads : int
        How many may alternate at a time.
    stop : callable () -> bool
        Whether to halt; what was found until then is kept.
    """

    def __init__(self, sketch: Outline, threads: int, stop: Callable[[], bool]) -> None:
        from mlmio.kernels.programs import new_counts, new_work
        from mlmio.parametric import parametric, root_of

        self.problem = parametric(sketch)
        self.threads, self.stop = threads, stop
        self.pool = ThreadPoolExecutor(threads)
        self.halt = np.zeros(1, dtype=np.bool_)
        works = [new_work(self.problem.instance)._replace(halt=self.halt) for _ in range(threads)]
        _, self.root = root_of(self.problem, works[0], new_counts())
        self.works: SimpleQueue[Work] = SimpleQueue()
        for work in works:
            self.works.put(work)

    def improve_each(self, thetas: Iterable[Array]) -> Generator[tuple[Array, Best], None, None]:
        """Yield every θ with what the alternation finds from it, in their order.

        Some are alternated from ahead of the one that is yielded, as many as keep the threads busy.
        """
        ahead: deque[tuple[Array, Future[Best]]] = deque()
        for theta in thetas:
            ahead.append((theta, self.pool.submit(self._improve, theta)))
            if len(ahead) == 2 * self.threads - 1:
                theta, found = ahead.popleft()
                yield theta, self._result(found)
        for theta, found in ahead:
            yield theta, self._result(found)

    def improve(self, theta: Array) -> Best:
        """Return the best of an alternation from θ."""
        return self._result(self.pool.submit(self._improve, theta))

    def close(self) -> None:
        """Halt what is still being alternated, for which nobody waits."""
        self.halt[0] = True
        self.pool.shutdown(cancel_futures=True)

    def _result(self, future: Future[Best]) -> Best:
        """Wait for an alternation, and halt it once it is to stop."""
        halt_at(self.stop, [future], self.halt)
        return future.result()

    def _improve(self, theta: Array) -> Best:
        from mlmio.kernels.alternate import ROUNDS, alternate
        from mlmio.kernels.programs import new_counts

        problem, found = self.problem, self.problem.nothing_found()
        work = self.works.get()
        try:
            problem.distances(theta, work)
            alternate(problem.instance, self.root, work, found, ROUNDS, new_counts())
        finally:
            self.works.put(work)
        value = float(found.value[0])
        return Best(
            value, problem.theta(found.x) if value > -np.inf else None, problem.given_up(found)
        )
