"""`bytes_as`: the bytes of an array as another dtype, which is ndarray's `view(dtype)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import GradientLostError
from srcdiff.index import at
from srcdiff.ops import shaping as ops
from srcdiff.ops.indexing import getitem
from srcdiff.ops.structural import imag_part, real_part, reshape
from srcdiff.origin import where
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain
from srcdiff.tape.site import user_place


def bytes_as(x: Any, dtype: np.dtype[Any]) -> Any:
    """A view if the dtype stays, else an array that cannot be written to where it would have to change x.

    Between a complex dtype and the real one of its parts it differentiates; other floating-point results of a value
    with a gradient are a GradientLostError.
    """
    own = x._value.dtype
    if dtype == own:
        return reshape(x, shape=x._value.shape)
    pattern = np.asarray(x.materialise()).view(dtype)
    if own.kind == "c" and dtype == x._value.real.dtype:
        return _read_only(reshape(ops.stack(real_part(x), imag_part(x), axis=x._value.ndim), shape=pattern.shape))
    if dtype.kind == "c" and own == pattern.real.dtype:
        pairs = reshape(x, shape=(*pattern.shape, 2))
        return _read_only(
            getitem(pairs, index=at(pattern.ndim, 0)) + getitem(pairs, index=at(pattern.ndim, 1)) * np.array(1j, dtype)
        )
    if x._edge is None or not modes.grad:
        return plain(pattern, x._traced)
    if dtype.kind in "fc":
        raise GradientLostError(
            f"view: the bytes of {own} numbers as {dtype} have no derivative, at {where(*user_place(2))}; sd.detach(x) "
            "if none is wanted"
        )
    return _read_only(plain(pattern, x._traced))


def _read_only(x: Any) -> Any:
    if isinstance(x._value, np.ndarray):
        x._value.flags.writeable = False
    return x
