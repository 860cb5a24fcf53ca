"""Activation functions that PyTorch records as one node, with its choice of what to save."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.ops.elementwise import greater, less, logical_and, where
from srcdiff.ops.families import elementwise, primitive, result_dtype
from srcdiff.ops.reductions import sum
from srcdiff.ops.special import ndtr
from srcdiff.ops.transcendental import exp, sigmoid, tanh

# --------------------------------------------------------------------------------------------------------- piecewise

relu = elementwise(
    "relu", "x", "np.maximum(x, 0)", along=[lambda t, out, x: where(greater(out, 0), t, 0.0)], selects=True
)
leaky_relu = elementwise(
    "leaky_relu", "x", "rt.leaky_relu(x, slope)",
    along=[lambda t, out, x, *, slope: where(greater(x, 0), t, t * slope)], params="slope",
)  # fmt: skip
# unlike clip, flat at the bounds too
hardtanh = elementwise(
    "hardtanh", "x", "np.clip(x, low, high)",
    along=[lambda t, out, x, *, low, high: where(logical_and(greater(x, low), less(x, high)), t, 0.0)],
    params="low high", fast="rt.clip(x, low, high)", selects=True,
)  # fmt: skip


def _along_elu(t: Any, out: Any, x: Any, *, alpha: float, scale: float, rate: float) -> Any:
    above = greater(x, 0)
    return where(above, t * scale, t * (scale * alpha * rate * exp(where(above, 0.0, x) * rate)))


# scale * x above 0, scale * alpha * (exp(rate * x) - 1) below: elu, selu and celu
elu = elementwise("elu", "x", "rt.elu(x, alpha, scale, rate)", along=[_along_elu], params="alpha scale rate", real=True)

# ----------------------------------------------------------------------------------------------------------- smooth

log_sigmoid = elementwise("log_sigmoid", "x", "rt.log_sigmoid(x)", along=[lambda t, out, x: t * sigmoid(-x)])


def _along_softplus(t: Any, out: Any, x: Any, *, beta: float, threshold: float) -> Any:
    return where(greater(x * beta, threshold), t, t * sigmoid(x * beta))


softplus = elementwise(
    "softplus", "x", "rt.softplus(x, beta, threshold)", along=[_along_softplus], params="beta threshold"
)


def _along_silu(t: Any, out: Any, x: Any) -> Any:
    gate = sigmoid(x)
    return t * (gate * (1.0 + x * (1.0 - gate)))


silu = elementwise("silu", "x", "rt.silu(x)", along=[_along_silu], real=True)


def _along_mish(t: Any, out: Any, x: Any) -> Any:
    gate = tanh(softplus(x, beta=1.0, threshold=math.inf))
    return t * (gate + x * sigmoid(x) * (1.0 - gate * gate))


mish = elementwise("mish", "x", "rt.mish(x)", along=[_along_mish])


def _along_gelu(t: Any, out: Any, x: Any) -> Any:
    return t * (ndtr(x) + x * (exp(-0.5 * (x * x)) * (1.0 / math.sqrt(2.0 * math.pi))))


def _along_gelu_tanh(t: Any, out: Any, x: Any) -> Any:
    rate, cubic = math.sqrt(2.0 / math.pi), 0.044715
    gate = tanh(rate * (x + cubic * (x * x * x)))
    return t * (0.5 * (1.0 + gate) + 0.5 * x * (1.0 - gate * gate) * (rate * (1.0 + 3.0 * cubic * (x * x))))


gelu = elementwise("gelu", "x", "rt.gelu(x)", along=[_along_gelu], real=True)
gelu_tanh = elementwise("gelu_tanh", "x", "rt.gelu_tanh(x)", along=[_along_gelu_tanh], label="Gelu", real=True)

# ---------------------------------------------------------------------------------------------------------- softmax


def _like(name: str) -> Any:
    """The operand's shape; the dtype as NumPy computes it."""

    def infer(x: Aval, *, axis: int) -> Aval:
        return aval(x.shape, result_dtype(name, (x,), {"axis": 0}, ndim=1))

    return infer


def _softmax_x(ct: Any, out: Any, x: Any, *, axis: int) -> Any:
    weighted = ct * out
    return weighted - out * sum(weighted, axis=axis, keepdims=True)


softmax = primitive(
    "softmax", "x", "rt.softmax(x, axis)", [_softmax_x], infer=_like("softmax"), params="axis", real=True
)
log_softmax = primitive(
    "log_softmax", "x", "rt.log_softmax(x, axis)",
    [lambda ct, out, x, *, axis: ct - exp(out) * sum(ct, axis=axis, keepdims=True)], infer=_like("log_softmax"),
    params="axis", real=True,
)  # fmt: skip
