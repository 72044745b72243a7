"""The experiments of "Active Metric Learning for Supervised Classification", one command each.

    python -m benchmarks.paper NAME [--fast] [--data-dir DIR] --out DIR

An experiment is a module here, named as the command but for its hyphens. It has a docstring whose
first line is its title, a frozen dataclass ``Parameters`` whose values are those of the full run,
``FAST``, the parameters of ``--fast``, and ``run(record, parameters)``.
"""
