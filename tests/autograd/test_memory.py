"""Memory: no more is saved for backward than PyTorch saves, and everything dies by reference count alone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from weakref import ref

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.tape.lower import collect

Graph = Callable[..., Any]


# -------------------------------------------------------------------------------------------------------- bytes saved


def saved_bytes(root: Any) -> int:
    """Bytes of the distinct arrays that the graph keeps for backward; those of leaves and constants count too."""
    found: dict[int, int] = {}

    def see(value: Any) -> None:
        if type(value) is tuple:
            for part in value:
                see(part)
            return
        array = np.asarray(getattr(value, "array", value))
        place = array.__array_interface__["data"][0]
        if not np.isscalar(getattr(value, "array", value)) or array.ndim:
            found[place] = max(found.get(place, 0), array.nbytes)

    for node in collect([root._edge]):
        for value in node.saved or ():
            see(value)
    return sum(found.values())


def torch_bytes(graph: Graph, args: list[Any]) -> int:
    """The same for PyTorch."""
    torch: Any = pytest.importorskip("torch")
    found: dict[int, int] = {}

    def pack(t: Any) -> Any:
        if t.dim():  # numbers are tensors there
            found[t.data_ptr()] = max(found.get(t.data_ptr(), 0), t.numel() * t.element_size())
        return t

    leaves = [torch.tensor(a, requires_grad=True) for a in args]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        graph(torch, *leaves)
    return sum(found.values())


def mlp(lib: Any, x: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
    return (lib.tanh(x @ W1 + b1) @ W2 + b2).sum()


def logistic(lib: Any, x: Any, w: Any) -> Any:
    z = x @ w
    return lib.log(1.0 + lib.exp(-z)).mean()


def attention(lib: Any, q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T / 2.0
    weights = lib.exp(scores - lib.logsumexp(scores, 1)[:, None])
    return (weights @ v).sum()


def rnn(lib: Any, x: Any, W: Any, U: Any) -> Any:
    h = x[0] * 0.0
    for t in range(5):
        h = lib.tanh(x[t] + h @ W)
    return (h @ U).sum()


def standardised(lib: Any, x: Any, g: Any) -> Any:
    centred = x - x.mean(1)[:, None]
    scale = lib.sqrt((centred * centred).mean(1) + 1e-5)
    return (centred / scale[:, None] * g).sum()


def polynomial(lib: Any, x: Any) -> Any:
    return (3.0 * x**3 - x**2 / 2.0 + x).sum()


def shapes(lib: Any, x: Any) -> Any:
    y = x.reshape(-1)[2:].sum() + (x.T + 1.0)[1:3].mean()
    return y + lib.stack([x, x]).sum() - lib.flip(x, (0,)).sum()


def choices(lib: Any, x: Any, y: Any) -> Any:
    return (lib.where(x > 0, x, 2.0 * y) + lib.maximum(x, y)).sum()


#: name, graph, shapes of its arguments, and the bytes saved
GRAPHS: list[tuple[Graph, tuple[tuple[int, ...], ...], int]] = [
    # x, W1, h, W2
    (mlp, ((5, 4), (4, 8), (8,), (8, 3), (3,)), 8 * (20 + 32 + 40 + 24)),
    (logistic, ((6, 4), (4,)), 8 * (24 + 4 + 6 + 6)),
    (attention, ((4, 2), (5, 2), (5, 3)), 8 * (8 + 10 + 20 + 4 + 20 + 15)),
    # W, U, all states, and h0 = 0 x[0]
    (rnn, ((5, 3), (3, 3), (3, 2)), 8 * (9 + 6 + 5 * 3 + 3)),
    (standardised, ((3, 4), (4,)), 8 * (12 + 3 + 12 + 4)),
    (polynomial, ((7,),), 8 * 7),
    (shapes, ((4, 4),), 0),
    (choices, ((3, 3), (3, 3)), 9 + 2 * 72),
]


def arguments(shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize(("graph", "shapes", "expected"), GRAPHS, ids=[g.__name__ for g, _, _ in GRAPHS])
def test_bytes_saved(graph: Graph, shapes: tuple[tuple[int, ...], ...], expected: int) -> None:
    out = graph(sd, *[sd.from_numpy(a).requires_grad_() for a in arguments(shapes)])
    assert saved_bytes(out) == expected


@pytest.mark.parametrize(("graph", "shapes", "_"), GRAPHS, ids=[g.__name__ for g, _, _ in GRAPHS])
def test_no_more_is_saved_than_pytorch_saves(graph: Graph, shapes: tuple[tuple[int, ...], ...], _: int) -> None:
    args = arguments(shapes)
    out = graph(sd, *[sd.from_numpy(a).requires_grad_() for a in args])
    assert saved_bytes(out) <= torch_bytes(graph, args)


def test_what_needs_no_gradient_saves_nothing() -> None:
    x, w = sd.from_numpy(np.ones((5, 4))), sd.from_numpy(np.ones((4, 3))).requires_grad_()
    assert saved_bytes(x @ w) == x.numpy().nbytes
    assert saved_bytes((x @ w) * 2.0 + np.ones(3)) == x.numpy().nbytes


def test_backward_drops_what_was_saved() -> None:
    for retain, expected in ((True, 8 * 7), (False, 0)):
        for _ in range(3):
            out = polynomial(sd, sd.from_numpy(np.ones(7)).requires_grad_())
            out.backward(retain_graph=retain)
            assert saved_bytes(out) == expected


def test_explain_states_the_bytes() -> None:
    f = sd.grad(lambda x: np.sum(np.tanh(x) ** 2))
    assert "24 bytes for backward" in f.explain(np.ones(3))


# ----------------------------------------------------------------------------------------------------- life and death


@pytest.fixture
def _no_gc() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def leaf(n: int = 3) -> Any:
    return sd.from_numpy(np.ones(n)).requires_grad_()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: np.sin(x) * x + 2.0,
    "reduction": lambda x: np.mean(x**2),
    "views": lambda x: (x * 1.0)[1:].reshape(-1, 1).T,
    "several outputs": lambda x: np.split(x * 1.0, [1])[1],
    "linear algebra": lambda x: np.linalg.norm(np.outer(x, x)),
    "written": lambda x: (x * 2.0).mul_(3.0),
    "written through a view": lambda x: _written(x * 2.0),
    "detached": lambda x: (x * 2.0).detach() * x,
    "saved result": lambda x: np.exp(np.tanh(x)),
    "indexed": lambda x: x[np.array([0, 0, 1])],
}


def _written(y: Any) -> Any:
    y[0] = 5.0
    y[1:] *= 2.0
    return y


@pytest.mark.usefixtures("_no_gc")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("end", ["dropped", "backward", "retained", "second order", "hooks"])
def test_everything_dies_by_reference_count(name: str, end: str) -> None:
    for _ in range(3):
        x = leaf()
        h = x * 1.5
        out = PROGRAMS[name](h)
        watched = [ref(x), ref(h), ref(out), ref(h.grad_fn), ref(out.grad_fn), ref(x.numpy(force=True))]
        loss = np.sum(out)
        if end == "hooks":
            h.retain_grad()
            out.register_hook(lambda g: g * 2.0)
        if end in ("backward", "hooks"):
            loss.backward()
        elif end == "retained":
            loss.backward(retain_graph=True)
            loss.backward(retain_graph=True)
        elif end == "second order":
            (g,) = sd.autograd.grad(loss, x, create_graph=True)
            np.sum(g * x).backward()
            watched.append(ref(g))
            del g
        del x, h, out, loss
        assert [r() for r in watched] == [None] * len(watched)


@pytest.mark.usefixtures("_no_gc")
def test_intermediate_tensors_die_while_the_graph_lives() -> None:
    x = leaf()
    h = x + 1.0
    dead = ref(h)
    out = np.sum(h)
    del h
    assert dead() is None
    out.backward()
    assert x.grad is not None


@pytest.mark.usefixtures("_no_gc")
def test_a_leaf_may_die_before_its_graph() -> None:
    x = leaf()
    out = np.sum(x * x)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    dead = ref(x)
    del x
    assert dead() is None
    out.backward()
    assert seen == [[2.0, 2.0, 2.0]]
    assert out.grad_fn.next_functions[0][0].next_functions[0][0].variable.grad.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.usefixtures("_no_gc")
def test_gradient_functions_leave_nothing_behind() -> None:
    alive: list[Any] = []

    def f(x: Any) -> Any:
        h = np.tanh(x)
        alive.extend([ref(x), ref(h), ref(h.grad_fn)])
        return np.sum(h * h)

    functions = [sd.grad(f), sd.value_and_grad(f), sd.hessian(f), sd.jacobian(lambda x: f(x) * x)]
    for g in functions * 3:
        g(np.ones(3))
    assert alive and all(r() is None for r in alive)


@pytest.mark.usefixtures("_no_gc")
def test_failed_calls_leave_nothing_behind() -> None:
    alive: list[Any] = []

    def f(x: Any) -> Any:
        h = np.tanh(x)
        alive.extend([ref(x), ref(h)])
        raise ZeroDivisionError

    for _ in range(3):
        with suppress(ZeroDivisionError):
            sd.grad(f)(np.ones(3))
    assert all(r() is None for r in alive)


@pytest.mark.usefixtures("_no_gc")
def test_training_makes_no_cycles() -> None:
    w, x = leaf(4), np.ones((5, 4))
    before = 0
    for k in range(50):
        np.sum(np.tanh(x @ w)).backward()
        with sd.no_grad():
            w -= 0.1 * w.grad
            w.grad = None
        if k == 10:
            gc.collect()
            before = len(gc.get_objects())
    assert len(gc.get_objects()) <= before + 5
    assert gc.collect() < 20


def test_deep_graphs_are_freed_without_recursion() -> None:
    h = leaf()
    for _ in range(100_000):
        h = h * 1.0
    del h
    h = leaf()
    for _ in range(2_000):
        h = h[:]
    del h
