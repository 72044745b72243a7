"""Texts of small suites, for tests."""

SUITE = """
name: toy
datasets:
  - name: iris
    per_class: {per_class}
compositions: [linear + nearest + bigm]
solvers: [{solvers}]
limits: {{time_limit: {time_limit}, grace: {grace}, memory_mib: {memory_mib}}}
repetitions: {repetitions}
"""


def suite_text(
    *solvers: str,
    per_class: str = "2",
    time_limit: float = 5,
    grace: float = 60,
    memory_mib: int = 2048,
    repetitions: int = 1,
) -> str:
    return SUITE.format(
        solvers=", ".join(solvers),
        per_class=per_class,
        time_limit=time_limit,
        grace=grace,
        memory_mib=memory_mib,
        repetitions=repetitions,
    )
