"""Constructors of primitives by family, so that a declaration states its mathematics and nothing else.

    elementwise   tangent rules along each operand; serve forward and reverse, since the Jacobian is diagonal
    linear        its adjoint
    bilinear      two adjoints
    primitive     a full vjp, one function per operand
    nondiff       no derivative (piecewise constant, integer or boolean results)

What a rule reads is worked out from its bytecode: an operand that a rule mentions is saved for backward, unless only
its `.shape`, `.dtype`, `.ndim` or `.size` is read. Broadcasting is no rule's business: whoever runs a rule sums its
result to the operand's shape and casts it to the operand's dtype (`srcdiff.ops.fit`).
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import REGISTRY, InferRule, Primitive, Saves, VjpRule
from srcdiff.errors import ShapeError

_STATIC = frozenset({"shape", "dtype", "ndim", "size"})
_dtypes: dict[tuple[Any, ...], Any] = {}


def elementwise(
    name: str,
    args: str,
    expr: str,
    along: Sequence[VjpRule | None] | None = None,
    params: str = "",
    **options: Any,
) -> Primitive:
    """Each element of the result computed from the corresponding elements of the (broadcast) operands.

    `along[i](t, out, *xs, **params)` pushes a tangent `t` through operand i. It is the vjp as well.
    """
    rules = None if along is None else tuple(along)
    return _declare(name, args, expr, params, infer_elementwise(name), rules, elementwise=True, **options)


def linear(
    name: str, args: str, expr: str, adjoint: VjpRule, infer: InferRule, params: str = "", **options: Any
) -> Primitive:
    """Linear in its first operand; `adjoint(ct, out, x, *rest, **params)`. Further operands have no derivative."""
    return _declare(name, args, expr, params, infer, (adjoint,), **{"linear": "each", **options})


def bilinear(
    name: str, args: str, expr: str, adjoint: Sequence[VjpRule], infer: InferRule, params: str = "", **options: Any
) -> Primitive:
    """Linear in each of its two operands; `adjoint[i](ct, out, x, y, **params)`."""
    return _declare(name, args, expr, params, infer, tuple(adjoint), **{"linear": "each", **options})


def primitive(
    name: str,
    args: str,
    expr: str,
    vjp: Sequence[VjpRule | None] | VjpRule,
    infer: InferRule,
    params: str = "",
    **options: Any,
) -> Primitive:
    """The general form: `vjp[i](ct, out, *operands, **params)`; variadic ones have `vjp(i, ct, out, *xs, **params)`."""
    rules = vjp if callable(vjp) else tuple(vjp)
    return _declare(name, args, expr, params, infer, rules, **options)


def nondiff(
    name: str, args: str, expr: str, infer: InferRule | None = None, params: str = "", reason: str = "", **options: Any
) -> Primitive:
    """No derivative. Without `infer` it is elementwise."""
    if infer is None:
        return elementwise(name, args, expr, None, params, reason=reason, **options)
    return _declare(name, args, expr, params, infer, None, reason=reason, **options)


def _declare(
    name: str, args: str, expr: str, params: str, infer: InferRule, vjps: Any, saves: Any = None, **options: Any
) -> Primitive:
    arg_names = tuple(args.split())
    param_names = tuple(params.split())
    return Primitive(name, arg_names, param_names, expr, infer, vjps, _saves(arg_names, vjps, saves), **options)


def _saves(args: tuple[str, ...], vjps: Any, declared: Any) -> Saves | Callable[[], Saves]:
    if declared is not None:
        per_rule = [declared] if isinstance(declared, str) else list(declared)
        return tuple(frozenset(text.split()) for text in per_rule)
    if vjps is None:
        return ()
    if callable(vjps):
        raise TypeError(f"a variadic primitive declares what it saves: {args}")
    return lambda: tuple(frozenset() if rule is None else frozenset(_reads(rule, args)) for rule in vjps)


def _reads(rule: Callable[..., Any], args: tuple[str, ...]) -> set[str]:
    """The names of `args` and "out" whose values a rule's bytecode reads."""
    code = rule.__code__
    parameters = code.co_varnames[: code.co_argcount]
    meaning = dict(zip(parameters, ("ct", "out", *args), strict=False))
    return {meaning[name] for name in _loads(code) if name in meaning} - {"ct"}


def _loads(code: CodeType) -> set[str]:
    used: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for here, after in zip(instructions, [*instructions[1:], None], strict=True):
        if here.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "STORE_FAST_LOAD_FAST")):
            names = here.argval if isinstance(here.argval, tuple) else (here.argval,)
            used.update(names[:-1])
            if not (after is not None and after.opname == "LOAD_ATTR" and after.argval in _STATIC):
                used.add(names[-1])
    return used


# ---------------------------------------------------------------------------------------------------- shapes and dtypes


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """NumPy's broadcasting of shapes; raises ValueError as NumPy does."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return np.broadcast_shapes(*shapes)


def sample(a: Aval, ndim: int | None = None) -> Any:
    """A one-element array of the aval's dtype (or a Python number if weak), to learn a result dtype from."""
    if a.weak is not None:
        return a.weak(1)
    return np.ones((1,) * (a.ndim if ndim is None else ndim), a.dtype)[()]


def result_dtype(name: str, avals: Sequence[Aval], params: dict[str, Any], ndim: int | None = 0) -> np.dtype[Any]:
    """The dtype of a primitive's result, learnt by evaluating it once on one-element arrays."""
    from_avals = tuple(a.weak if a.weak is not None else (a.dtype, a.ndim if ndim is None else ndim) for a in avals)
    key = (name, from_avals, tuple(params.items()))
    found = _dtypes.get(key)
    if found is None:
        with np.errstate(all="ignore"):
            found = np.asarray(REGISTRY[name].eval(*(sample(a, ndim) for a in avals), **params)).dtype
        if len(_dtypes) > 10_000:
            _dtypes.clear()
        _dtypes[key] = found
    return found


def infer_elementwise(name: str) -> InferRule:
    """Broadcast shape; the dtype as NumPy computes it."""

    def infer(*avals: Aval, **params: Any) -> Aval:
        try:
            shape = broadcast_shapes(*(a.shape for a in avals))
        except ValueError:
            raise ShapeError(f"{name}: shapes {', '.join(str(a) for a in avals)} do not broadcast") from None
        return aval(shape, result_dtype(name, avals, params))

    return infer


def same(*avals: Aval, **params: Any) -> Aval:
    """The aval of the first operand."""
    return avals[0]


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple of non-negative ints in ascending order; None means all. Raises np.exceptions.AxisError."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    out = []
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim)
        out.append(a % ndim)
    if len(set(out)) != len(out):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(out))


def reduced_shape(shape: tuple[int, ...], axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape after reducing over `axis`."""
    axes = normalize_axes(axis, len(shape))
    if keepdims:
        return tuple(1 if k in axes else n for k, n in enumerate(shape))
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def infer_reduction(name: str) -> InferRule:
    """Shape without the reduced axes (parameters `axis`, `keepdims`); the dtype as NumPy computes it."""

    def infer(x: Aval, *rest: Aval, axis: Any = None, keepdims: bool = False, **params: Any) -> Aval:
        probe = {"axis": None, "keepdims": False, **params}
        return aval(reduced_shape(x.shape, axis, keepdims), result_dtype(name, (x, *rest), probe))

    return infer
