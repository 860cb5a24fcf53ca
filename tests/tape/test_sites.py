"""Sites: one per place in the code, operation, operand types and literals; they generalise, and die with their code."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.tape.site import STATIC, VARYING, find_place, is_inside, tables


def leaf(*shape: int, dtype: Any = np.float64) -> Any:
    return sd.from_numpy(np.ones(shape, dtype)).requires_grad_()


def site(t: Any) -> Any:
    return t.grad_fn.site


def test_the_same_place_has_the_same_site() -> None:
    made = [np.sin(leaf(3)) for _ in range(3)]
    assert len({id(site(t)) for t in made}) == 1


def test_two_places_have_two_sites() -> None:
    x = leaf(3)
    assert site(np.sin(x)) is not site(np.sin(x))
    y, z = x * 2.0, x * 2.0
    assert site(y) is not site(z)


def test_two_operations_at_one_place_have_two_sites() -> None:
    x = leaf(3)
    sites = [site(f(x)) for f in (np.sin, np.cos)]
    assert sites[0] is not sites[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (leaf(3), leaf(4)),
        (leaf(3), leaf(3, dtype=np.float32)),
        (leaf(3), leaf(1, 3)),
    ],
)
def test_shapes_and_dtypes_separate(one: Any, other: Any) -> None:
    sites = [site(np.tanh(x)) for x in (one, other, one)]
    assert sites[0] is sites[2] and sites[0] is not sites[1]


def test_which_operands_need_a_gradient_separates() -> None:
    x, w = leaf(3), leaf(3)
    constant = w.detach()
    sites = [site(x * y) for y in (w, constant, constant.numpy(), w)]
    assert sites[0] is sites[3]
    assert len({id(s) for s in sites}) == 3


def test_parameters_separate() -> None:
    x = leaf(2, 3)
    sites = [site(np.sum(x, axis=axis)) for axis in (0, 1, 0)]
    assert sites[0] is sites[2] and sites[0] is not sites[1]


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), (0.0, -0.0), (2.0, 3.0), (1.0, np.float64(1.0))])
def test_literals_are_known_by_type_value_and_sign(pair: tuple[Any, Any]) -> None:
    f = compiled("def f(x, number): return x * number")
    x = leaf(3)
    sites = [site(f(x, number)) for number in (*pair, *pair)]
    assert sites[0] is sites[2] and sites[1] is sites[3]
    assert sites[0] is not sites[1]


def test_nan_is_one_literal() -> None:
    x = leaf(3)
    assert len({id(site(x * float("nan"))) for _ in range(3)}) == 1


def test_a_branch_has_places_of_its_own() -> None:
    def f(x: Any, left: bool) -> Any:
        if left:
            return np.sin(x)
        return np.sin(x)

    x = leaf(3)
    assert site(f(x, True)) is not site(f(x, False))
    assert site(f(x, True)) is site(f(x, True))


def test_literals_generalise_after_three() -> None:
    x = leaf(3)
    made = [x * rate for rate in (0.5, 0.4, 0.3, 0.2, 0.1, 0.05)]
    assert [site(t).kinds[1] for t in made] == [STATIC] * 3 + [VARYING] * 3
    assert len({id(site(t)) for t in made[3:]}) == 1
    for rate, t in zip((0.5, 0.4, 0.3, 0.2, 0.1, 0.05), made, strict=True):
        t.sum().backward(inputs=[x])
        np.testing.assert_array_equal(x.grad.numpy(), np.full(3, rate))
        x.grad = None


def test_a_literal_that_varies_elsewhere_does_not_generalise_here() -> None:
    x = leaf(3)
    for rate in (0.5, 0.4, 0.3, 0.2, 0.1):
        _ = x * rate
    assert site(x * 7.0).kinds[1] is STATIC


def test_exponents_are_never_generalised() -> None:
    x = leaf(3)
    made = [x**power for power in (1, 2, 3, 4, 5, 6)]
    assert {site(t).kinds[1] for t in made} == {STATIC}
    assert len({id(site(t)) for t in made}) == 6


def test_integer_indices_generalise() -> None:
    W = leaf(10, 2)
    made = [W[i] for i in range(10)]
    assert len({id(site(t)) for t in made}) <= 4
    for i, row in enumerate(made):
        W.grad = None
        row.sum().backward()
        np.testing.assert_array_equal(W.grad.numpy(), np.eye(10)[:, [i, i]])


def test_slices_of_equal_length_generalise() -> None:
    W = leaf(20)
    made = [W[i : i + 2] for i in range(18)]
    assert len({id(site(t)) for t in made}) <= 4
    for i, part in enumerate(made):
        W.grad = None
        part.sum().backward()
        expected = np.zeros(20)
        expected[i : i + 2] = 1.0
        np.testing.assert_array_equal(W.grad.numpy(), expected)


def compiled(text: str) -> Any:
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, "<a cell>", "exec"), namespace)
    return namespace["f"]


@pytest.mark.usefixtures("code_dies")
def test_code_that_dies_takes_its_sites_along() -> None:
    f = compiled("def f(x): return np.sin(x) * 2.0")
    y = f(leaf(3))
    key, died = id(f.__code__), ref(f.__code__)
    assert key in tables
    y.sum().backward()
    del f
    gc.collect()
    assert died() is None and key not in tables
    assert y.grad_fn.site.place() is None  # the node lives on, without a place
    with pytest.raises(RuntimeError, match="second time"):
        y.backward(sd.from_numpy(np.ones(3)))


def test_two_equal_functions_do_not_share_sites() -> None:
    text = "def f(x): return np.sin(x)"
    f, g = compiled(text), compiled(text)
    assert f.__code__ == g.__code__
    x = leaf(3)
    assert site(f(x)) is not site(g(x))


def test_the_place_is_the_users() -> None:
    x = leaf(2, 2)
    for made in (np.mean(x), x.sum(), np.linalg.norm(x), np.stack([x, x]), x.reshape(4), np.var(x, axis=0)):
        code, _ = made.grad_fn.site.place()
        assert code is test_the_place_is_the_users.__code__


def test_library_code_is_no_place() -> None:
    assert is_inside(np.lib.npyio.NpzFile.__init__.__code__)
    assert is_inside(find_place.__code__)
    assert not is_inside(leaf.__code__)


def test_what_is_saved_depends_on_what_needs_a_gradient() -> None:
    x, w = leaf(3), leaf(3)
    assert site(x * w).save_list == (0, 1)
    assert site(x * w.detach()).save_list == (1,)
    assert site(x.detach() * w).save_list == (0,)
    assert site(x + w).save_list == ()


def test_a_place_of_many_types_forgets_rather_than_grows() -> None:
    def f(x: Any) -> Any:
        return np.sin(x)

    for n in range(9_000):
        f(sd.zeros(1, n % 4_600, requires_grad=True))
    assert len(tables[id(f.__code__)]) <= 8_200
