"""Reductions over axes. Parameters: `axis` (None, int or tuple) and `keepdims`."""

from __future__ import annotations

from srcdiff.ops.families import infer_reduction, linear
from srcdiff.ops.structural import expand

sum = linear(  # noqa: A001
    "sum", "x", "np.sum(x, axis=axis, keepdims=keepdims)",
    lambda ct, out, x, *, axis, keepdims: expand(ct, x.shape, axis, keepdims),
    infer=infer_reduction("sum"), params="axis keepdims",
)  # fmt: skip
