"""Programs for the tests of passes and of generated code: recorded by hand as the tape would, or drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import srcdiff.ops.catalogue  # noqa: F401
from srcdiff.aval import Aval, aval
from srcdiff.core.builder import Builder, rename
from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.core.program import Node, Program, Source
from srcdiff.index import Dynamic, Index, Slice
from srcdiff.transform.reverse import active_nodes, reverse
from srcdiff.transform.rewrite import prepare, simplify
from srcdiff.transform.values import Derived

P = REGISTRY


def f64(*shape: int) -> Aval:
    return aval(shape, np.dtype(np.float64))


def f32(*shape: int) -> Aval:
    return aval(shape, np.dtype(np.float32))


def i64(*shape: int) -> Aval:
    return aval(shape, np.dtype(np.int64))


class Tape(Builder):
    """Records as the tape does: no operation is folded or shared, and each has the user's line and variable."""

    __slots__ = ()

    def emit(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], aval: Any = None) -> Node:
        nodes = tuple(map(self.lift, operands))
        return self.opaque(prim, nodes, params, prim.infer(*(node.aval for node in nodes), **params))

    def line(self, number: int, text: str, compute: Callable[[], Node]) -> Node:
        """The value of one line of the user's, `name = ...` or `return ...`."""
        first = text.partition(" = ")[0]
        target = first if first.isidentifier() and first != text else None
        self.source = Source(target, "/home/user/model.py", number, text)
        return rename(compute(), target)


def total(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return P["sum"](x, axis=axis, keepdims=keepdims)


def average(x: Any, axis: Any = None) -> Any:
    return P["mean"](x, axis=axis, keepdims=False)


def peak(x: Any, axis: Any) -> Any:
    return P["max"](x, axis=axis, keepdims=True)


def at(x: Any, *parts: Any, rows: Any = ()) -> Any:
    """`x[parts]`; an entry `Dynamic(k)` is the k-th of `rows`, whose entries may repeat."""
    return P["getitem"](x, *rows, index=Index(parts, len(parts) > 1, not rows))


def saved(program: Program, wrt: Sequence[Node]) -> set[Node]:
    """What the tape saves of a forward program, and its inputs."""
    nodes = program.nodes()
    active = active_nodes(nodes, wrt)
    kept = set(program.inputs)
    for node in nodes:
        if node.prim is None or node not in active:
            continue
        names = {name for k, x in enumerate(node.operands) if x in active for name in node.prim.saved_for(k)}
        kept.update(x for k, x in enumerate(node.operands) if node.prim.operand_name(k) in names and not x.is_literal)
        kept.update([node] if "out" in names else [])
    return kept


def backward(program: Program, wrt: Sequence[Node], keep: set[Node] | None = None) -> Derived:
    """The simplified backward program, as the pipeline makes it."""
    keep = saved(program, wrt) if keep is None else keep
    prepared, new = prepare(program, keep, wrt)
    made = reverse(prepared, [new[node] for node in wrt], {new[node] for node in keep})
    return Derived(simplify(made.program), made.saved)


# ---------------------------------------------------------------------------------------------------- random programs

SHAPES = [(), (3,), (1, 3), (2, 3), (2, 1), (3, 3)]
UNARY = ["neg", "tanh", "sin", "square", "abs"]
LITERALS = [2.0, -1.0, 0.5, 3.0, -100, 1, 1.0, 7, 0.1]


def _same_size(draw: Any, x: Node) -> tuple[int, ...]:
    n = int(np.prod(x.shape))
    return draw(st.sampled_from([(n,), (1, n), (n, 1), x.shape] + ([()] if n == 1 else [])))


def _step(draw: Any, builder: Builder, values: list[Node], inputs: list[Node]) -> Node | None:
    """One more value made of those there are, or None where the operation drawn does not fit."""
    x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
    kind = draw(st.sampled_from(["unary", "sum", "literal", "divide", "shape", "reduce", "matmul", "index", "where"]))
    if kind == "unary":
        return P[draw(st.sampled_from(UNARY))](x)
    if kind == "literal":
        c = draw(st.sampled_from(LITERALS))
        prim = P[draw(st.sampled_from(["add", "sub", "mul", "div"]))]
        return prim(c, x) if prim.name != "div" and draw(st.booleans()) else prim(x, c)
    if kind == "divide":
        y = draw(st.sampled_from(inputs))
        return P["div"](x, y) if _fits(x, y) else None
    if kind == "sum":
        return P[draw(st.sampled_from(["add", "sub", "mul"]))](x, y) if _fits(x, y) else None
    if kind == "where":
        return P["where"](P["greater"](x, 0.7), x, draw(st.sampled_from([0.0, y, x]))) if _fits(x, y) else None
    if kind == "reduce":
        return total(x, draw(st.sampled_from([None, *((k,) for k in range(x.ndim))])), draw(st.booleans()))
    if kind == "matmul":
        fits = x.ndim and y.ndim and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]
        return x @ y if fits else None
    if kind == "index":
        return _indexed(draw, x)
    return _reshaped(draw, x, y)


def _indexed(draw: Any, x: Node) -> Node | None:
    if not x.ndim or not x.shape[0]:
        return None
    part = draw(st.sampled_from([0, -1, Slice(0, 1, None), Slice(None, None, -1)]))
    if draw(st.booleans()):
        return at(x, part)
    taken = at(x, part)
    return P["scatter"](taken, index=Index((part,), False, True), shape=x.shape, unique=True)


def _reshaped(draw: Any, x: Node, y: Node) -> Node | None:
    kind = draw(st.sampled_from(["reshape", "transpose", "broadcast_to", "sum_to"]))
    if kind == "reshape":
        return P["reshape"](x, shape=_same_size(draw, x))
    if kind == "transpose":
        return P["transpose"](x, axes=tuple(reversed(range(x.ndim)))) if x.ndim > 1 else None
    if not _fits(x, y) or np.broadcast_shapes(x.shape, y.shape) != y.shape:
        return None
    return P["broadcast_to"](x, shape=y.shape) if kind == "broadcast_to" else P["sum_to"](y, shape=x.shape)


def _fits(x: Node, y: Node) -> bool:
    try:
        return len(np.broadcast_shapes(x.shape, y.shape)) <= 2
    except ValueError:
        return False


@st.composite
def programs(draw: Any, dtype: str = "f8", most: int = 16) -> Program:
    """A random program of a dozen operations or so; each value may be used several times, some have names."""
    builder = Builder()
    inputs = [builder.input(aval(shape, np.dtype(dtype)), f"x{k}") for k, shape in enumerate(SHAPES)]
    values = list(inputs)
    for k in range(draw(st.integers(1, most))):
        made = _step(draw, builder, values, inputs)
        if made is not None and not made.is_literal and made.dtype == dtype:
            values.append(rename(made, f"g_v{k}") if draw(st.integers(0, 3)) == 0 else made)
    outputs = draw(st.lists(st.sampled_from(values[len(inputs) :] or values), min_size=1, max_size=3))
    return Program("f", tuple(inputs), (*outputs, values[-1]))


def inputs_of(program: Program, seed: int = 0) -> tuple[Any, ...]:
    """Random inputs, of size about 1 and away from 0."""
    rng = np.random.default_rng(seed)
    return tuple(
        rng.integers(0, 3, node.shape) if node.dtype.kind == "i"
        else np.asarray(rng.uniform(0.5, 1.5, node.shape)).astype(node.dtype)
        for node in program.inputs
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- programs users would write

Case = tuple[Program, tuple[Node, ...]]


def logistic() -> Case:
    b = Tape()
    w, bias, X, y = (b.input(a, n) for a, n in [(f64(5), "w"), (f64(), "b"), (f64(100, 5), "X"), (f64(100), "y")])
    z = b.line(9, "z = X @ w + b", lambda: X @ w + bias)
    p = b.line(10, "p = 1 / (1 + np.exp(-z))", lambda: 1 / (1 + P["exp"](-z)))
    text = "return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))"
    out = b.line(11, text, lambda: -average(y * P["log"](p) + (1 - y) * P["log"](1 - p)))
    return Program("logistic_loss", (w, bias, X, y), (out,)), (w, bias)


def mlp(cross_entropy: bool) -> Case:
    b = Tape()
    inputs = [
        b.input(f32(*shape), name)
        for name, shape in [
            ("x", (32, 64)), ("targets", (32, 10)), ("W1", (64, 64)), ("b1", (64,)), ("W2", (64, 10)), ("b2", (10,)),
        ]
    ]  # fmt: skip
    x, targets, w1, b1, w2, b2 = inputs
    hidden = b.line(3, "hidden = np.tanh(x @ W1 + b1)", lambda: P["tanh"](x @ w1 + b1))
    logits = b.line(4, "logits = hidden @ W2 + b2", lambda: hidden @ w2 + b2)
    if not cross_entropy:
        out = b.line(5, "return np.mean((logits - targets) ** 2)", lambda: average((logits - targets) ** 2))
        return Program("loss", tuple(inputs), (out,)), (w1, b1, w2, b2)
    top = b.line(5, "peak = np.max(logits, axis=1, keepdims=True)", lambda: peak(logits, (1,)))
    shifted = b.line(6, "shifted = logits - peak", lambda: logits - top)
    text = "log_norm = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))"
    log_norm = b.line(7, text, lambda: P["log"](total(P["exp"](shifted), (1,), True)))
    text = "return -np.mean(np.sum((shifted - log_norm) * targets, axis=1))"
    out = b.line(8, text, lambda: -average(total((shifted - log_norm) * targets, (1,))))
    return Program("loss", tuple(inputs), (out,)), (w1, b1, w2, b2)


def attention() -> Case:
    b = Tape()
    x, y = b.input(f32(4, 16, 8), "x"), b.input(f32(4, 16, 8), "y")
    weights = [b.input(f32(8, 8), name) for name in ("wq", "wk", "wv", "wo")]
    wq, wk, wv, wo = weights
    q = b.line(2, "q = x @ wq", lambda: x @ wq)
    k = b.line(3, "k = x @ wk", lambda: x @ wk)
    v = b.line(4, "v = x @ wv", lambda: x @ wv)
    text = "scores = q @ np.swapaxes(k, -1, -2) * 0.125"
    scores = b.line(5, text, lambda: q @ P["transpose"](k, axes=(0, 2, 1)) * 0.125)
    text = "e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))"
    e = b.line(6, text, lambda: P["exp"](scores - peak(scores, (2,))))
    a = b.line(7, "a = e / np.sum(e, axis=-1, keepdims=True)", lambda: e / total(e, (2,), True))
    out = b.line(8, "return np.mean((a @ v @ wo + x - y) ** 2)", lambda: average((a @ v @ wo + x - y) ** 2))
    return Program("attention", (x, y, *weights), (out,)), tuple(weights)


def rnn(steps: int = 3) -> Case:
    b = Tape()
    w, u, bias, xs = (
        b.input(f64(*shape), name) for name, shape in [("W", (3, 4)), ("U", (4, 4)), ("b", (4,)), ("xs", (steps, 3))]
    )
    h = first = b.input(f64(4), "h")
    for t in range(steps):
        h = b.line(23, "h = np.tanh(xs[t] @ W + h @ U + b)", lambda t=t, h=h: P["tanh"](at(xs, t) @ w + h @ u + bias))
    out = b.line(24, "return np.sum(h ** 2)", lambda: total(h**2))
    return Program("rnn", (w, u, bias, xs, first), (out,)), (w, u, bias)


def indexing() -> Case:
    b = Tape()
    x, rows = b.input(f64(5), "x"), b.input(i64(7), "rows")
    y = b.line(2, "y = x[1:3] * x[0]", lambda: at(x, Slice(1, 3, None)) * at(x, 0))
    z = b.line(3, "z = x[rows]", lambda: at(x, Dynamic(0), rows=(rows,)))
    out = b.line(4, "return np.sum(y) + np.sum(z * z)", lambda: total(y) + total(z * z))
    return Program("pick", (x, rows), (out,)), (x,)


def mixed() -> Case:
    b = Tape()
    a, c, m = b.input(f64(4, 1), "a"), b.input(f64(3), "c"), b.input(f64(4, 3), "m")
    u = b.line(2, "u = (a - c) * m", lambda: (a - c) * m)
    s = b.line(3, "s = np.mean(u, axis=0)", lambda: average(u, (0,)))
    n = b.line(4, "n = np.sqrt(np.sum(u * u, axis=1, keepdims=True))", lambda: P["sqrt"](total(u * u, (1,), True)))
    v = b.line(5, "v = u / n", lambda: u / n)
    out = b.line(6, "return np.sum(v * s) + 2 * np.sum(s ** 3)", lambda: total(v * s) + 2 * total(s**3))
    return Program("mixed", (a, c, m), (out,)), (a, c, m)


CASES: dict[str, Callable[[], Case]] = {
    "logistic": logistic,
    "mlp_cross_entropy": lambda: mlp(True),
    "mlp_squares": lambda: mlp(False),
    "attention": attention,
    "rnn": rnn,
    "indexing": indexing,
    "mixed": mixed,
}
