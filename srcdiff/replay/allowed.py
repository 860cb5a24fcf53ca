"""The names that replayable functions may use. All of them give values that depend on their arguments alone."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Final

import numpy as np

MODULES: Final = (np, np.linalg, math, functools, itertools, operator)
#: functions and types that are free of effects wherever they are read from
FUNCTIONS: Final = (functools.partial, functools.reduce, itertools.accumulate, itertools.chain, itertools.product)

_ELEMENTWISE = """
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil clip conj conjugate copysign cos
    cosh deg2rad degrees divide equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod greater
    greater_equal heaviside hypot isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logaddexp2
    logical_and logical_not logical_or logical_xor maximum minimum mod multiply negative not_equal positive power
    rad2deg radians reciprocal remainder rint sign sin sinc sinh sqrt square subtract tan tanh true_divide trunc where
    nan_to_num real imag
"""
_REDUCTIONS = """
    sum mean prod max min amax amin var std ptp cumsum cumprod argmax argmin average trapezoid diff nansum norm
"""
_SHAPES = """
    reshape ravel transpose swapaxes moveaxis squeeze expand_dims broadcast_to concatenate stack hstack vstack dstack
    column_stack flip flipud fliplr roll tile repeat pad split array_split hsplit vsplit atleast_1d
    atleast_2d atleast_3d flatten copy astype T mT shape ndim size dtype rot90 triu tril diag diagonal trace
"""
_PRODUCTS = """
    dot vdot inner outer matmul tensordot einsum kron cross linalg inv pinv solve det slogdet cholesky eigh eigvalsh
    svd qr
"""
_CREATION = """
    zeros ones full eye identity arange linspace empty zeros_like ones_like full_like empty_like array float32 float64
    int32 int64 intp bool_ newaxis pi e inf nan kind name itemsize
"""
_TRANSFORMS = "grad value_and_grad"
_TOOLS = "partial reduce accumulate chain product islice repeat starmap pairwise itemgetter truediv matmul pow"
_CHANGES = "append extend insert pop reverse setdefault update clear remove add popitem sort"
_CONTAINERS = f"items keys values index count get {_CHANGES}"

MUTATORS: Final = frozenset([*_CHANGES.split(), "fill"])
ATTRIBUTES: Final = frozenset(
    " ".join((_ELEMENTWISE, _REDUCTIONS, _SHAPES, _PRODUCTS, _CREATION, _CONTAINERS, _TOOLS, _TRANSFORMS)).split()
) - {"sort"}
BUILTINS: Final = frozenset(
    """range len zip enumerate reversed sum min max abs sorted map filter list tuple dict set any all slice round pow
    divmod float int bool isinstance AssertionError ValueError TypeError RuntimeError Exception True False None
    """
)
