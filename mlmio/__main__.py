"""``python -m mlmio`` is the command ``mlmio``."""

from mlmio.cli import main

main()
