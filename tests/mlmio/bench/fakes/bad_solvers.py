"""Solvers that misbehave, each in its own way; installed as a package by a fixture."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from typing import Any, ClassVar

from mlmio.solvers.base import Answer, Options, Solver, register_solver
from mlmio.solvers.highs import Highs


class Bad(Solver):
    """What they have in common."""

    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP"})

    def version(self) -> str:
        return "1.0"


@register_solver
class Crashes(Bad):
    name: ClassVar[str] = "crashes"

    def solve(self, model: Any, options: Options) -> Answer:
        os.write(2, b"the last words of a solver\n")
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError("not reached")


@register_solver
class Killed(Bad):
    """As by a system that has no memory left."""

    name: ClassVar[str] = "killed"

    def solve(self, model: Any, options: Options) -> Answer:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("not reached")


@register_solver
class Hangs(Bad):
    """With an executable in a session of its own, both deaf to kind words."""

    name: ClassVar[str] = "hangs"

    def solve(self, model: Any, options: Options) -> Answer:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        while True:
            time.sleep(1.0)


@register_solver
class Eats(Bad):
    name: ClassVar[str] = "eats"

    def solve(self, model: Any, options: Options) -> Answer:
        held = []
        while True:
            held.append(b"x" * 2**29)
            time.sleep(0.1)


@register_solver
class Lies(Highs):
    name: ClassVar[str] = "lies"

    def solve(self, model: Any, options: Options) -> Answer:
        answer = super().solve(model, options)
        return replace(answer, objective=0.9, bound=0.9)


@register_solver
class HalfAnswer(Bad):
    """Writes half an answer wherever it can, and leaves as if all were well."""

    name: ClassVar[str] = "halfanswer"

    def solve(self, model: Any, options: Options) -> Answer:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b'{"outcome": "done", "message": "half of')
            except OSError:
                continue
        os._exit(0)


@register_solver
class Raises(Bad):
    name: ClassVar[str] = "raises"

    def solve(self, model: Any, options: Options) -> Answer:
        raise ValueError("nobody foresaw this")


@register_solver
class Exits(Bad):
    name: ClassVar[str] = "exits"

    def solve(self, model: Any, options: Options) -> Answer:
        raise SystemExit("out of licences")


@register_solver
class Fine(Highs):
    name: ClassVar[str] = "fine"
