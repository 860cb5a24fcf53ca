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

from srcdiff.config import config

#: glibc, bits/fenv.h for x86: the control register of SSE, after 28 bytes for the old floating-point unit
_WORDS, _REGISTER = 8, 7
#: Intel's manual, volume 1, 10.2.3: flush to zero, and denormals are zero
_FLUSH = 1 << 15 | 1 << 6


def set_flush_denormal(mode: bool) -> bool:
    """Take denormal numbers for 0 in the calling thread, as operands and as results; the default is not to. Returns
    whether this can be done here: with the GNU C library on x86-64. Elsewhere nothing changes.

    It holds for all that the thread computes: NumPy's functions, generated code, Python's floats. Threads that it
    starts later are like it; those that NumPy's BLAS has for large products are not. Raises TypeError for other modes
    than True and False.
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
    if _flushes() is not bool(mode):
        environment[_REGISTER] = before
        library.fesetenv(environment)
        return False
    if mode and not config.current.asked:
        config.current.asked.append(_flushes)
    config.current.settle(flushes=bool(mode))
    return True


def _library() -> Any:
    """The C library whose `fenv_t` is known; None for others."""
    known = sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64") and sys.maxsize > 1 << 32
    if not known or platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "fegetenv") and hasattr(library, "fesetenv") else None


def _flushes() -> bool:
    """Whether denormal results are 0, and denormal operands."""
    with np.errstate(all="ignore"):
        return not any(_remains(*each) for each in ((np.float32, np.uint32), (np.float64, np.uint64)))


def _remains(dtype: Any, bits: Any) -> bool:
    """Whether a quarter of the smallest normal number is one, or 2^40 times a denormal one."""
    small, denormal = np.full(4, np.finfo(dtype).tiny, dtype), np.full(4, 1 << 20, bits).view(dtype)
    return bool((small * dtype(0.25)).any() or (denormal * dtype(2.0**40)).any())
