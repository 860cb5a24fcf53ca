"""A matcher accepts the graphs of the signature it was made for, and refuses every neighbour of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.compiler import compile_backward
from srcdiff.config import Options
from srcdiff.tape.node import FREED_MESSAGE

Build = Callable[..., Any]


def leaf(*shape: int, fill: float = 1.0) -> Any:
    return sd.from_numpy(np.full(shape or (3,), fill)).requires_grad_()


def edges(tensors: Any) -> Any:
    return None if tensors is None else [t._edge for t in tensors]


def compiled(roots: Any, wanted: Any = None) -> Any:
    return compile_backward(edges(roots), edges(wanted), Options(verify=True))


def matches(executable: Any, roots: Any, wanted: Any = None, free: bool = False) -> bool:
    return executable.match(edges(roots), edges(wanted), free) is not None


def product(x: Any, y: Any) -> Any:
    return np.sum(np.sin(x * y) * x)


def test_accepts_its_graph_with_other_data() -> None:
    executable = compiled([product(leaf(), leaf())])
    x, y = leaf(fill=2.0), leaf(fill=3.0)
    out = product(x, y)
    leaves, values = executable.match([out._edge], None, False)
    assert [node.variable for node in leaves] == [x, y]
    (gx, gy) = executable.run(np.float64(1.0), *values)
    np.testing.assert_allclose(gx, np.cos(6.0) * 3.0 * 2.0 + np.sin(6.0) * np.ones(3))
    np.testing.assert_allclose(gy, np.cos(6.0) * 4.0 * np.ones(3))


@pytest.mark.parametrize(("first", "second"), [("xx", "xy"), ("xy", "xx")])
def test_leaves_are_checked_by_identity(first: str, second: str) -> None:
    def build(names: str) -> Any:
        leaves = {"x": leaf(), "y": leaf()}
        return product(*(leaves[name] for name in names))

    executable = compiled([build(first)])
    assert matches(executable, [build(first)])
    assert not matches(executable, [build(second)])


def sines(names: str) -> Any:
    """The product of two sines of one leaf at one place, computed anew or shared."""
    x = leaf()
    made = [np.sin(x) for _ in range(2)]
    return x, made, np.sum(made[0] * made["ab".index(names[1])])


def test_what_is_shared_must_be_shared() -> None:
    assert not matches(compiled([sines("aa")[2]]), [sines("ab")[2]])


def test_more_sharing_does_no_harm() -> None:
    """Cotangents of a value that is shared are passed on one by one and meet at the leaf."""
    executable = compiled([sines("ab")[2]])
    x, _, out = sines("aa")
    leaves, values = executable.match([out._edge], None, False)
    assert [node.variable for node in leaves] == [x]
    (g,) = executable.run(np.float64(1.0), *values)
    np.testing.assert_allclose(g, 2.0 * np.sin(1.0) * np.cos(1.0) * np.ones(3))


def test_more_sharing_is_refused_where_a_gradient_would_be_partial() -> None:
    _, made, out = sines("ab")
    executable = compiled([out], [made[0]])
    _, made, out = sines("ab")
    assert matches(executable, [out], [made[0]])
    _, made, out = sines("aa")
    assert not matches(executable, [out], [made[0]])


@pytest.mark.parametrize("wanted", ["x", "y", "xy"])
def test_leaves_that_coincide_are_refused(wanted: str) -> None:
    x, y = leaf(), leaf()
    executable = compiled([product(x, y)], [{"x": x, "y": y}[name] for name in wanted])
    assert not matches(executable, [product(x, x)], [x for _ in wanted])


def test_another_operation_shape_or_constant_is_refused() -> None:
    def build(f: Any, n: int, needs: bool) -> Any:
        y = leaf(n) if needs else np.ones(n)
        return np.sum(f(leaf(n)) * y)

    executable = compiled([build(np.sin, 3, True)])
    assert matches(executable, [build(np.sin, 3, True)])
    assert not matches(executable, [build(np.cos, 3, True)])
    assert not matches(executable, [build(np.sin, 4, True)])
    assert not matches(executable, [build(np.sin, 3, False)])


WANTED: list[tuple[str, ...] | None] = [
    None, (), ("x",), ("y",), ("h",), ("x", "y"), ("y", "x"), ("x", "x"), ("h", "x"), ("z",), ("x", "z"), ("z", "x"),
    ("z", "z"),
]  # fmt: skip


@pytest.mark.parametrize("known", [w for w in WANTED if w and set(w) != {"z"}] + [None])
def test_another_wanted_set_is_refused(known: Any) -> None:
    def build() -> dict[str, Any]:
        x, y = leaf(), leaf()
        h = x * y
        return {"x": x, "y": y, "h": h, "z": leaf(), "out": np.sum(np.sin(h) * x)}

    def pick(graph: dict[str, Any], names: Any) -> Any:
        return None if names is None else [graph[name] for name in names]

    graph = build()
    executable = compiled([graph["out"]], pick(graph, known))
    for asked in WANTED:
        again = build()
        assert matches(executable, [again["out"]], pick(again, asked)) == (asked == known), asked


def test_other_outputs_of_an_operation_are_refused() -> None:
    def build() -> Any:
        x = leaf(4)
        parts = np.split(x * 2.0, 2)
        return x, parts, np.sum(parts[0] * parts[1])

    _, parts, out = build()
    executable = compiled([out], [parts[0]])
    _, parts, out = build()
    assert matches(executable, [out], [parts[0]])
    assert not matches(executable, [out], [parts[1]])
    assert not matches(executable, [parts[0]], [parts[0]])


def test_other_roots_are_refused() -> None:
    def build() -> Any:
        h = np.sin(leaf())
        return np.sum(h), np.sum(h * h)

    a, b = build()
    one, two = compiled([a]), compiled([a, b])
    a, b = build()
    assert matches(one, [a]) and matches(two, [a, b])
    assert not matches(one, [b]) and not matches(one, [a, b]) and not matches(two, [a]) and not matches(two, [b, a])
    assert not matches(two, [a, a])


def test_freed_graphs_are_refused() -> None:
    executable = compiled([product(leaf(), leaf())])
    out = product(leaf(), leaf())
    assert matches(executable, [out], free=False)
    assert matches(executable, [out], free=True)
    assert not matches(executable, [out], free=False)
    with pytest.raises(RuntimeError) as error:
        out.backward()
    assert str(error.value) == FREED_MESSAGE


def test_nothing_is_freed_by_a_refusal() -> None:
    executable = compiled([product(leaf(), leaf())])
    x = leaf()
    out = product(x, x)
    assert not matches(executable, [out], free=True)
    out.backward()


def test_a_factor_that_is_a_number_is_freed_too() -> None:
    def build() -> Any:
        return np.sum(leaf() * 3.0)

    executable = compiled([build()])
    out = build()
    assert matches(executable, [out], free=True)
    assert not matches(executable, [out], free=True)


def test_what_saves_nothing_is_never_freed() -> None:
    def build() -> Any:
        return np.sum(leaf() + 3.0)

    executable = compiled([build()])
    out = build()
    assert matches(executable, [out], free=True)
    assert matches(executable, [out], free=True)


def test_stale_values_are_refused_though_the_code_does_not_read_them() -> None:
    def build() -> Any:
        x = leaf()
        h = np.exp(x)
        return h, np.sum(h)

    _, out = build()
    executable = compiled([out])
    h, out = build()
    assert matches(executable, [out])
    with sd.no_grad():
        h.mul_(2.0)
    assert not matches(executable, [out])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_hooked_and_retaining_nodes_are_refused() -> None:
    def build() -> Any:
        x = leaf()
        h = np.sin(x)
        return x, h, np.sum(h)

    executable = compiled([build()[2]])
    for k in (0, 1):
        made = build()
        made[k].register_hook(lambda g: None)
        assert not matches(executable, [made[2]])
    _, h, out = build()
    h.retain_grad()
    assert not matches(executable, [out])
    _, _, out = build()
    out.grad_fn.register_prehook(lambda gs: None)
    assert not matches(executable, [out])


def test_parts_that_lead_to_nothing_wanted_are_neither_read_nor_freed() -> None:
    def build() -> Any:
        x, y = leaf(), leaf()
        side = np.exp(y)
        return x, y, side, np.sum(np.sin(x)) + np.sum(side)

    x, _, _, out = build()
    executable = compiled([out], [x])
    x, y, side, out = build()
    with sd.no_grad():
        side.zero_()
    assert matches(executable, [out], [x])
    x, y, side, out = build()
    assert matches(executable, [out], [x], free=True)
    side.sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), np.exp(1.0) * np.ones(3))


def test_the_operation_that_made_a_wanted_value_is_not_freed() -> None:
    def build() -> Any:
        x = leaf()
        h = np.exp(x)
        return x, h, np.sum(h * h)

    _, h, out = build()
    executable = compiled([out], [h])
    x, h, out = build()
    assert matches(executable, [out], [h], free=True)
    h.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(1.0) * np.ones(3))


def test_the_same_array_may_or_may_not_be_passed_twice() -> None:
    """Constants are numbered per use: what one call happened to share says nothing about the next."""

    def build(a: Any, b: Any) -> Any:
        x = leaf()
        out = np.sum(x * a + x * b)
        return x, out

    a, b = np.full(3, 2.0), np.full(3, 5.0)
    executable = compiled([build(a, a)[1]])
    x, out = build(a, b)
    leaves, values = executable.match([out._edge], None, False)
    (g,) = executable.run(np.float64(1.0), *values)
    np.testing.assert_array_equal(g, np.full(3, 7.0))
    assert leaves[0].variable is x
