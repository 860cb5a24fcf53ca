"""Denormal numbers taken for zero, as processors can: PyTorch's `set_flush_denormal`.

Numbers below the smallest normal one (1.2e-38 for float32, 2.2e-308 for float64) cost most processors a hundred times
as much as others. The gradients of long recurrent networks pass through them on their way to 0.

There is no portable way to the processor's control register, but C's `fenv.h` has it in what `fegetenv` saves. Where it
is in there is known for x86-64 and the GNU C library, and tried out before it is relied upon.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import Any

import numpy as np

from srcdiff.api.inspect import cache_clear

#: glibc, bits/fenv.h for x86: the control register of SSE, after 28 bytes for the old floating-point unit
_WORDS, _REGISTER = 8, 7
#: Intel's manual, volume 1, 10.2.3: flush to zero, and denormals are zero
_FLUSH = 1 << 15 | 1 << 6


def set_flush_denormal(mode: bool) -> bool:
    """Take denormal numbers for 0 in the calling thread, as operands and as results; the default is not to. Returns
    whether this can be done here: with the GNU C library on x86-64. Elsewhere nothing changes.

    It holds for all that the thread computes: NumPy's functions, generated code, Python's floats. Threads that it
    starts later are like it; those that NumPy's BLAS has for large products are not. Raises TypeError for other modes
    than True and False. A change forgets all that was compiled.
    """
    if not isinstance(mode, (bool, np.bool_)):
        raise TypeError(f"set_flush_denormal expects a bool, but got {type(mode).__name__}")
    library = _library()
    if library is None:
        return False
    environment = (ctypes.c_uint32 * _WORDS)()
    if library.fegetenv(environment):
        return False
    before = environment[_REGISTER]
    environment[_REGISTER] = before | _FLUSH if mode else before & ~_FLUSH
    library.fesetenv(environment)
    if _flushes() is bool(mode):
        if environment[_REGISTER] != before:
            cache_clear()  # what was compiled may have constants that were computed in the other mode
        return True
    environment[_REGISTER] = before
    library.fesetenv(environment)
    return False


def _library() -> Any:
    """The C library whose `fenv_t` is known; None for others."""
    known = sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64") and sys.maxsize > 1 << 32
    if not known or platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "fegetenv") and hasattr(library, "fesetenv") else None


def _flushes() -> bool:
    """Whether a product of two normal numbers that is denormal is 0."""
    return not bool(np.multiply(np.full(4, 1e-30, np.float32), np.float32(1e-10)).any())
