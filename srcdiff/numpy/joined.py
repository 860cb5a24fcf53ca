"""`r_[a, b]` and `c_[a, b]` with Tensors in and out."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import SCALARS
from srcdiff.errors import UnsupportedError
from srcdiff.functions.assembly import differentiated, has_tensor, values
from srcdiff.numpy.lift import array, lift, tensors
from srcdiff.origin import where
from srcdiff.tape.site import user_place

_concatenate = lift(np.concatenate)


class Joined:
    """Joins what it is subscripted with, as `numpy.r_` or, with `columns`, as `numpy.c_`.

    UnsupportedError for a directive, such as `r_["1,2", x]`, that comes with values that need a gradient.
    """

    def __init__(self, theirs: Any, columns: bool) -> None:
        self._theirs = theirs
        self._columns = columns

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not differentiated(parts):
            return tensors(self._theirs[tuple(values(x) if has_tensor(x) else x for x in parts)])
        if any(isinstance(x, str) for x in parts):
            raise UnsupportedError(f"np.r_: the directive {parts[0]!r} is not supported, at {where(*user_place(2))}")
        made = [array(self._theirs[x] if isinstance(x, slice) else x, copy=None, ndmin=1) for x in parts]
        dtype = np.result_type(*(x if type(x) in SCALARS else m.dtype for x, m in zip(parts, made, strict=True)))
        if not self._columns:
            return _concatenate(made, dtype=dtype)
        return _concatenate([x[:, None] if x.ndim == 1 else x for x in made], axis=-1, dtype=dtype)


r_, c_ = Joined(np.r_, False), Joined(np.c_, True)
