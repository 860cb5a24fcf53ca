"""Checks for derivatives: `gradcheck`, `gradgradcheck`, and the comparison of values `assert_close`."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from srcdiff.tape.value import TensorBase

__all__ = ["GradcheckError", "assert_close", "gradcheck", "gradgradcheck"]

#: (rtol, atol) by dtype, for values computed in it; exact for integers
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: str | None = None,
) -> None:
    """Raise AssertionError unless two values agree: `abs(a - e) <= atol + rtol * abs(e)` for each element.

    Values are Tensors, arrays or numbers of equal shape (and with `check_dtype` equal dtype), or sequences and dicts of
    such. Tolerances follow from the less exact dtype unless both are given.
    """
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or actual.keys() != expected.keys():
            raise AssertionError(msg or f"The keys of the mappings do not match: {actual!r} and {expected!r}")
        actual, expected = list(actual.values()), [expected[key] for key in actual]
    if isinstance(expected, (list, tuple)):
        if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            raise AssertionError(msg or f"The length of the sequences mismatch: {actual!r} and {expected!r}")
        for a, e in zip(actual, expected, strict=True):
            assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=check_dtype, msg=msg)
        return
    a, e = _array(actual), _array(expected)
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    if a.shape != e.shape:
        raise AssertionError(msg or f"The values for attribute 'shape' do not match: {a.shape} != {e.shape}.")
    if check_dtype and isinstance(actual, TensorBase) and isinstance(expected, TensorBase) and a.dtype != e.dtype:
        raise AssertionError(msg or f"The values for attribute 'dtype' do not match: {a.dtype} != {e.dtype}.")
    if rtol is None or atol is None:
        known = [_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (a, e)]
        rtol, atol = max(r for r, _ in known), max(t for _, t in known)
    wrong = ~np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if np.any(wrong):
        kind = "Scalars" if not a.shape else "Tensor-likes"
        with np.errstate(invalid="ignore"):
            largest = np.max(np.abs(a - e)) if a.dtype.kind != "b" else 1
        raise AssertionError(
            msg
            or f"{kind} are not close!\n\nMismatched elements: {np.sum(wrong)} / {wrong.size}\n"
            f"Greatest absolute difference: {largest} (up to {atol} allowed, relative {rtol})\n"
            f"actual: {a}\nexpected: {e}"
        )


def _array(x: Any) -> np.ndarray[Any, np.dtype[Any]]:
    return x._array if isinstance(x, TensorBase) else np.asarray(x)
