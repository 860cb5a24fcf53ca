"""Memory is reused only when nobody can tell: not inputs, not outputs, not what a view still shows."""

from __future__ import annotations

from typing import Any

import pytest

from srcdiff.core.builder import Builder
from srcdiff.core.program import Node
from srcdiff.transform.schedule import Plan, Step, schedule
from tests.transform.programs import P, f32, f64


class Steps:
    """Collects steps, one a value."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.steps: list[Step] = []

    def new(self, node: Node, writable: bool = True) -> Node:
        self.steps.append(Step(node, tuple(x for x in node.operands if not x.is_literal), node, True, writable))
        return node

    def view(self, node: Node, of: Node) -> Node:
        self.steps.append(Step(node, (of,), of, False, False))
        return node

    def plan(self, *outputs: Node, smallest: int = 1) -> Plan:
        return schedule(self.steps, outputs, smallest)


@pytest.fixture
def s() -> Steps:
    return Steps()


def test_a_dying_value_gives_its_memory(s: Steps) -> None:
    x = s.builder.input(f64(4), "x")
    a = s.new(P["sin"](x))
    b = s.new(P["cos"](a))
    c = s.new(b * b)
    assert s.plan(c).into == (None, a, b)


def test_inputs_and_outputs_are_never_written_to(s: Steps) -> None:
    x = s.builder.input(f64(4), "x")
    a = s.new(P["sin"](x))
    b = s.new(P["cos"](a))
    assert s.plan(a, b).into == (None, None)


def test_a_value_read_later_keeps_its_memory(s: Steps) -> None:
    x = s.builder.input(f64(4), "x")
    a = s.new(P["sin"](x))
    b = s.new(P["cos"](a))
    c = s.new(a * b)
    assert s.plan(c).into == (None, None, a)


def test_a_view_keeps_memory_alive(s: Steps) -> None:
    x = s.builder.input(f64(4, 4), "x")
    a = s.new(P["sin"](x))
    turned = s.view(P["transpose"](a, axes=(1, 0)), a)
    b = s.new(P["cos"](a))
    c = s.new(turned * b)
    assert s.plan(c).into[2] is None
    assert s.plan(turned).into == (None, None, None, b)


def test_a_view_of_an_output_is_one_too(s: Steps) -> None:
    x = s.builder.input(f64(4, 4), "x")
    a = s.new(P["sin"](x))
    turned = s.view(P["transpose"](a, axes=(1, 0)), a)
    b = s.new(P["cos"](a))
    assert s.plan(turned, b).into == (None, None, None)


def test_only_the_very_type_fits(s: Steps) -> None:
    x = s.builder.input(f64(4), "x")
    a = s.new(P["sin"](x))
    b = s.new(P["cast"](a, dtype=f32(1).dtype))
    assert s.plan(b).into == (None, None)


def test_memory_freed_earlier_is_found_again(s: Steps) -> None:
    x = s.builder.input(f64(4, 4), "x")
    a = s.new(P["sin"](x))
    b = s.new(a @ a, writable=False)
    c = s.new(P["cos"](x))
    assert s.plan(b, c).into == (None, None, a)


def test_small_values_are_left_alone(s: Steps) -> None:
    x = s.builder.input(f64(4), "x")
    a = s.new(P["sin"](x))
    b = s.new(P["cos"](a))
    assert s.plan(b, smallest=100) == Plan((None, None), ((), ()))


def deleted(plan: Plan) -> list[tuple[Any, ...]]:
    return list(plan.deleted)


def test_what_is_not_reused_is_deleted_under_all_its_names(s: Steps) -> None:
    x = s.builder.input(f64(4, 4), "x")
    a = s.new(P["sin"](x))
    b = s.new(P["cos"](a))
    product = s.new(b @ b, writable=False)
    last = s.new(product @ product, writable=False)
    assert deleted(s.plan(last)) == [(), (), (a, b), ()]


def test_nothing_is_deleted_before_the_end_only(s: Steps) -> None:
    x = s.builder.input(f64(4, 4), "x")
    a = s.new(P["sin"](x))
    b = s.new(a @ a, writable=False)
    assert deleted(s.plan(b)) == [(), ()]


def test_small_values_are_deleted_before_large_memory_is_allocated(s: Steps) -> None:
    x, y = s.builder.input(f64(4), "x"), s.builder.input(f64(100, 4), "y")
    a = s.new(P["sin"](x))
    b = s.new(P["cos"](a))
    c = s.new(b * b)
    large = s.new(y * c)
    d = s.new(P["sin"](c))
    assert schedule(s.steps, (large, d), 1000).deleted == ((), (), (), (), ())
    assert schedule(s.steps, (large, d), 1000, light=32).deleted == ((), (), (a, b), (), ())
    assert schedule(s.steps, (large, d, b), 1000, light=32).deleted == ((), (), (a,), (), ())
    assert schedule(s.steps, (large, d), 1000, light=33).deleted == ((), (), (), (), ())


def test_small_values_are_deleted_under_the_names_of_their_views(s: Steps) -> None:
    x, y = s.builder.input(f64(4), "x"), s.builder.input(f64(100, 4), "y")
    a = s.new(P["sin"](x))
    shown = s.view(P["reshape"](a, shape=(2, 2)), a)
    large = s.new(P["sin"](y))
    assert schedule(s.steps, (large,), 1000, light=32).deleted == ((), (a, shown), ())
    assert schedule(s.steps, (large, shown), 1000, light=32).deleted == ((), (), ())


def test_all_that_is_dead_is_deleted_where_the_steps_are_done_again(s: Steps) -> None:
    x = s.builder.input(f64(4), "x")
    a = s.new(P["sin"](x), writable=False)
    b = s.new(P["cos"](a), writable=False)
    assert schedule(s.steps, (), 1).deleted == ((), ())
    assert schedule(s.steps, (b,), 1).deleted == ((), ())
    assert schedule(s.steps, (b,), 1, again=True).deleted == ((), (a,))
