"""How the inner loops are compiled."""

from __future__ import annotations

import numba

# A literal among the arguments of a compiled function has it compiled once more, for that literal
# alone: constants that are passed are therefore np.int64, whose values numba does not look at.
compiled = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
# To compile a function compiles all that it calls once more: what one or two others call is put
# into them.
inlined = numba.njit(
    cache=True, nogil=True, inline="always", fastmath={"reassoc", "contract", "nsz"}
)
# What allocates nothing need not count references, which threads that share arrays wait for.
leaf = numba.njit(cache=True, nogil=True, _nrt=False, fastmath={"reassoc", "contract", "nsz"})
