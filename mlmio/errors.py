"""The errors that mlmio raises: one sentence that says what, where and what to do."""


class MlmioError(Exception):
    """Base of every error that mlmio raises on purpose."""


class DataError(MlmioError, ValueError):
    """The data cannot be used as they are: the message names the row, column or class."""


class CompositionError(MlmioError, ValueError):
    """A composition cannot be parsed, combined or completed: the message names the blocks."""


class SolverError(MlmioError, RuntimeError):
    """A solver or a strategy is unknown, absent, or cannot take this class of problem."""


class MlmioWarning(UserWarning):
    """Something is unusual but has a documented answer."""


#: What code that mlmio did not write (a stranger's block, a solver's interface) may raise. It is
#: caught where one failure must not end the rest, and said in one line.
FAILURES = (
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
