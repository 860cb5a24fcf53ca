"""Losses that PyTorch records as one node. Of each there are three primitives: element by element, summed, averaged.

A loss of two operands states its value at one element and its slope along each operand; the reduction is added here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import item
from srcdiff.core.primitive import Primitive, VjpRule
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import not_equal, sign, where
from srcdiff.ops.families import broadcast_shapes, elementwise, nondiff, primitive, result_dtype
from srcdiff.ops.layers import embedding
from srcdiff.ops.reductions import sum
from srcdiff.ops.selection import clip, maximum
from srcdiff.ops.structural import reshape
from srcdiff.ops.transcendental import exp, log, log1p, sigmoid


class Loss(NamedTuple):
    """The primitives of one loss, by reduction."""

    none: Primitive
    mean: Primitive
    sum: Primitive


def _size(operands: tuple[Any, ...]) -> int:
    return math.prod(broadcast_shapes(*(getattr(o, "shape", ()) for o in operands)))


def _averaged(rule: VjpRule) -> VjpRule:
    return lambda ct, out, *xs, **params: rule(ct / max(_size(xs), 1), None, *xs, **params)


def _summed(rule: VjpRule) -> VjpRule:
    return lambda ct, out, *xs, **params: rule(ct, None, *xs, **params)


def _scalar(each: Primitive) -> Callable[..., Aval]:
    """A number of the dtype that the elements have; they must broadcast."""
    return lambda *avals, **params: aval((), each.infer(*avals, **params).dtype)


def loss(name: str, expr: str, along: Sequence[VjpRule], params: str = "", real: bool = True) -> Loss:
    """The primitives of a loss of operands x and y whose elements are `expr`; no rule in `along` may read `out`."""
    each = elementwise(name, "x y", expr, along, params, real=real)
    saves = [" ".join(names) for names in each.saves]
    shared: dict[str, Any] = {
        "infer": _scalar(each),
        "params": params,
        "saves": saves,
        "label": each.label,
        "real": real,
    }
    mean = primitive(
        f"{name}_mean", "x y", f"np.mean({expr})", list(map(_averaged, along)), fast=f"rt.mean({expr}, None, False)",
        **shared,
    )  # fmt: skip
    total = primitive(
        f"{name}_sum", "x y", f"np.sum({expr})", list(map(_summed, along)), fast=f"np.add.reduce({expr}, axis=None)",
        **shared,
    )  # fmt: skip
    return Loss(each, mean, total)


# ---------------------------------------------------------------------------------------------- distances of two values

mse_loss = loss(
    "mse_loss", "np.square(x - y)",
    [lambda t, out, x, y: (2.0 * t) * (x - y), lambda t, out, x, y: (2.0 * t) * (y - x)],
)  # fmt: skip
l1_loss = loss(
    "l1_loss", "np.abs(x - y)", [lambda t, out, x, y: t * sign(x - y), lambda t, out, x, y: t * sign(y - x)], real=False
)
smooth_l1_loss = loss(
    "smooth_l1_loss", "rt.huber(x - y, beta) / beta",
    [
        lambda t, out, x, y, *, beta: t * clip((x - y) / beta, -1.0, 1.0),
        lambda t, out, x, y, *, beta: t * clip((y - x) / beta, -1.0, 1.0),
    ],
    "beta",
)  # fmt: skip
huber_loss = loss(
    "huber_loss", "rt.huber(x - y, delta)",
    [
        lambda t, out, x, y, *, delta: t * clip(x - y, -delta, delta),
        lambda t, out, x, y, *, delta: t * clip(y - x, -delta, delta),
    ],
    "delta",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------- probabilities

# logarithms are not below -100, and the slope's denominator not below 1e-12, as in PyTorch
binary_cross_entropy = loss(
    "binary_cross_entropy", "rt.binary_cross_entropy(x, y)",
    [
        lambda t, out, x, y: t * (x - y) / maximum((1.0 - x) * x, 1e-12),
        lambda t, out, x, y: t * (maximum(log1p(-x), -100.0) - maximum(log(x), -100.0)),
    ],
)  # fmt: skip
binary_cross_entropy_with_logits = loss(
    "binary_cross_entropy_with_logits", "np.logaddexp(0.0, x) - x * y",
    [lambda t, out, x, y: t * (sigmoid(x) - y), lambda t, out, x, y: -t * x],
)  # fmt: skip
# x are logarithms of probabilities, y probabilities
kl_div = loss("kl_div", "rt.kl_div(x, y)", [lambda t, out, x, y: -t * y, lambda t, out, x, y: t * (log(y) + 1.0 - x)])

# ------------------------------------------------------------------------------------------------------------- classes


def _one_hot(index: Aval, *, classes: int, axis: int, dtype: Any) -> Aval:
    return aval((*index.shape[:axis], classes, *index.shape[axis:]), dtype)


one_hot = nondiff(
    "one_hot", "index", "rt.one_hot(index, classes, axis, dtype)", _one_hot, "classes axis dtype",
    reason="an index has no derivative",
)  # fmt: skip
#: how much the loss at each target counts if all classes weigh the same
class_shares = nondiff(
    "class_shares", "target", "rt.class_shares(target, classes, ignored, mean, dtype)",
    lambda target, *, classes, ignored, mean, dtype: aval(target.shape, dtype), "classes ignored mean dtype",
    reason="an index has no derivative",
)  # fmt: skip


def _targets(x: Aval, target: Aval, axis: int) -> None:
    if target.shape != (*x.shape[:axis], *x.shape[axis + 1 :]):
        raise ShapeError(f"nll_loss: targets {target} do not fit {x} with classes along axis {axis}")


def _nll_aval(x: Aval, target: Aval, weight: Aval, *, axis: int, ignored: int, reduction: str) -> Aval:
    _targets(x, target, axis)
    return aval(target.shape if reduction == "none" else (), x.dtype)


def _cross_entropy_aval(x: Aval, target: Aval, weight: Aval, *, axis: int, ignored: int, reduction: str) -> Any:
    like_x = aval(x.shape, result_dtype("log_softmax", (x,), {"axis": 0}, ndim=1))
    return _nll_aval(like_x, target, weight, axis=axis, ignored=ignored, reduction=reduction), like_x


def _per_target(ct: Any, x: Any, target: Any, weight: Any, axis: int, ignored: int, reduction: str) -> Any:
    """The cotangent of minus x at each target, with an axis for the classes."""
    mean = reduction == "mean"
    if type(weight) is float:
        shares = class_shares(target, classes=x.shape[axis], ignored=ignored, mean=mean, dtype=x.dtype)
    else:
        counts = not_equal(target, ignored)
        shares = where(counts, embedding(weight, where(counts, target, 0), padding=None), 0.0)
        shares = shares / sum(shares, axis=None, keepdims=False) if mean else shares
    return reshape(ct * shares, shape=(*x.shape[:axis], 1, *x.shape[axis + 1 :]))


def _nll_x(ct: Any, out: Any, x: Any, target: Any, weight: Any, *, axis: int, ignored: int, reduction: str) -> Any:
    each = _per_target(ct, x, target, weight, axis, ignored, reduction)
    hot = one_hot(target, classes=x.shape[axis], axis=axis, dtype=x.dtype)
    return where(not_equal(hot, 0), -each, 0.0)  # no product: to the others nothing goes, rather than a zero


def _cross_entropy_x(
    ct: Any, out: Any, x: Any, target: Any, weight: Any, *, axis: int, ignored: int, reduction: str
) -> Any:
    loss_ct, logs_ct = ct
    powers = exp(item(out, 1))
    made = None
    if loss_ct is not None:
        each = _per_target(loss_ct, x, target, weight, axis, ignored, reduction)
        made = (powers - one_hot(target, classes=x.shape[axis], axis=axis, dtype=x.dtype)) * each
    if logs_ct is not None:
        from_logs = logs_ct - powers * sum(logs_ct, axis=axis, keepdims=True)
        made = from_logs if made is None else made + from_logs
    return made


#: x are logarithms of probabilities
nll_loss = primitive(
    "nll_loss", "x target weight", "rt.nll_loss(x, target, weight, axis, ignored, reduction)", [_nll_x, None, None],
    infer=_nll_aval, params="axis ignored reduction", saves=["target weight", "", ""], selects=True, real=True,
)  # fmt: skip
#: x are any numbers; the outputs are the loss, and the logarithms of softmax(x), which backward needs
cross_entropy = primitive(
    "cross_entropy", "x target weight", "rt.cross_entropy(x, target, weight, axis, ignored, reduction)",
    [_cross_entropy_x, None, None], infer=_cross_entropy_aval, params="axis ignored reduction",
    saves=["out target weight", "", ""], multi=True, unread=frozenset((0,)), label="NllLoss", real=True,
)  # fmt: skip
