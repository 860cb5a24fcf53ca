"""`grad`, `value_and_grad`, `vjp`: gradients of the right kind and structure, of any callable, nested, no leftovers."""

from __future__ import annotations

import copy
import functools
import inspect
import math
import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcdiff as sd

X = np.array([1.0, 2.0, 3.0])


def cubes(x: Any) -> Any:
    """The sum of cubes."""
    return np.sum(x**3)


decorated = sd.grad(cubes)


@sd.grad
def slope(x: Any, scale: float = 1.0) -> Any:
    """A documented gradient."""
    return scale * np.sum(x * x)


# ----------------------------------------------------------------------------------------------------- kinds of values


def test_arrays_in_arrays_out() -> None:
    for _ in range(3):
        g = decorated(X)
        assert type(g) is np.ndarray and g.dtype == np.float64
        np.testing.assert_array_equal(g, 3 * X**2)


def test_single_precision_stays() -> None:
    for _ in range(3):
        value, g = sd.value_and_grad(cubes)(X.astype(np.float32))
        assert g.dtype == np.float32 and value.dtype == np.float32


def test_python_floats_in_and_out() -> None:
    for _ in range(3):
        value, g = sd.value_and_grad(lambda x: x**3)(2.0)
        assert type(g) is float and g == 12.0 and value == 8.0
        assert isinstance(value, float)


def test_numpy_scalars() -> None:
    for kind in (np.float32, np.float64):
        g = sd.grad(lambda x: x * x)(kind(3.0))
        assert isinstance(g, kind) and g == 6.0
    g = sd.grad(lambda x: x * x)(np.array(3.0))
    assert type(g) is np.ndarray and g.shape == () and g == 6.0


def test_tensors_in_and_out() -> None:
    for _ in range(3):
        value, g = sd.value_and_grad(cubes)(sd.from_numpy(X))
        assert isinstance(g, sd.Tensor) and isinstance(value, sd.Tensor)
        assert not g.requires_grad and g.tolist() == [3.0, 12.0, 27.0]


def test_tensors_that_require_grad_remain_differentiable() -> None:
    for _ in range(3):
        x = sd.from_numpy(X.copy()).requires_grad_()
        g = decorated(x)
        assert g.requires_grad and x.grad is None
        np.sum(g).backward()
        assert x.grad.tolist() == [6.0, 12.0, 18.0]


def test_complex_arguments() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    g = sd.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    np.testing.assert_allclose(g, 2 * z)


BAD: list[Any] = [3, True, np.arange(3), np.int64(1), "text", np.array([True]), object(), np.array(["a"])]


@pytest.mark.parametrize("bad", BAD)
def test_what_has_no_gradient_is_refused_by_name(bad: Any) -> None:
    def f(x: Any, width: Any) -> Any:
        return np.sum(width * 1.0)

    with pytest.raises(TypeError, match="cannot differentiate with respect to") as error:
        sd.grad(f, argnums=1)(X, bad)
    assert "width" in str(error.value)
    assert isinstance(error.value, sd.errors.SrcdiffError)


def test_the_name_of_a_leaf_inside_a_container() -> None:
    with pytest.raises(TypeError, match="params_layers_1"):
        sd.grad(lambda params: 0.0)({"layers": [X, np.arange(3)]})


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: x * 2.0, r"returns a scalar, got shape \(3,\)"),
        (lambda x: None, "got None"),
        (lambda x: [x], "got a list"),
        (lambda x: np.zeros(2), r"shape \(2,\)"),
        (lambda x: np.sum(x) * 1j, "real scalar"),
        (lambda x: "text", "got a str"),
    ],
)
def test_results_that_are_no_scalars(result: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        sd.grad(result)(X)


def test_results_that_do_not_depend_on_the_argument() -> None:
    assert sd.grad(lambda x: 3.0)(X).tolist() == [0.0, 0.0, 0.0]
    assert sd.grad(lambda x: 3)(2.0) == 0.0
    assert sd.grad(lambda x, y: np.sum(y))(X, X).tolist() == [0.0, 0.0, 0.0]
    g = sd.grad(lambda x, y: np.sum(x), argnums=(0, 1))(X, X)
    assert g[0].tolist() == [1.0, 1.0, 1.0] and g[1].tolist() == [0.0, 0.0, 0.0]


def test_a_scalar_may_have_axes() -> None:
    assert sd.grad(lambda x: np.sum(x * x, keepdims=True))(X).tolist() == [2.0, 4.0, 6.0]


# ----------------------------------------------------------------------------------------------------- which arguments


def three(a: Any, b: Any, *, c: Any = 1.0) -> Any:
    return np.sum(a * b * c)


def test_argnums() -> None:
    assert sd.grad(three, argnums=1)(X, 2 * X).tolist() == X.tolist()
    ga, gb = sd.grad(three, argnums=(0, 1))(X, 2 * X)
    assert ga.tolist() == (2 * X).tolist() and gb.tolist() == X.tolist()
    gb, ga = sd.grad(three, argnums=(1, 0))(X, 2 * X)
    assert gb.tolist() == X.tolist()
    assert sd.grad(three, argnums=-1)(X, 2 * X).tolist() == X.tolist()
    (only,) = sd.grad(three, argnums=(0,))(X, 2 * X)
    assert only.tolist() == (2 * X).tolist()
    assert sd.grad(three, argnums=1)(X, b=2 * X).tolist() == X.tolist()


def test_argnames() -> None:
    assert sd.grad(three, argnames="c")(X, X, c=2.0) == 14.0
    assert sd.grad(three, argnames="b")(X, 2 * X).tolist() == X.tolist()
    both = sd.grad(three, argnames=("c", "a"))(X, X, c=2.0)
    assert list(both) == ["c", "a"] and both["c"] == 14.0 and both["a"].tolist() == (2 * X).tolist()


def test_arguments_that_are_not_there() -> None:
    with pytest.raises(TypeError, match="argnums=2 asks for an argument that was not given"):
        sd.grad(three, argnums=2)(X, X)
    with pytest.raises(TypeError, match="argnames='c' asks for an argument that was not given"):
        sd.grad(three, argnames="c")(X, X)


def test_the_rest_is_passed_as_it_is() -> None:
    seen: list[Any] = []

    def f(x: Any, data: Any, *more: Any, mode: str, **kwargs: Any) -> Any:
        seen.extend([data, more, mode, kwargs])
        return np.sum(x) * len(more)

    data = np.arange(3)
    assert sd.grad(f)(X, data, 1, "two", mode="fast", other=None).tolist() == [2.0, 2.0, 2.0]
    assert seen[0] is data and seen[1:] == [(1, "two"), "fast", {"other": None}]


def test_aux() -> None:
    def f(x: Any) -> Any:
        h = x * x
        return np.sum(h), {"h": h, "n": 3, "none": None}

    for _ in range(3):
        g, aux = sd.grad(f, has_aux=True)(X)
        (value, again), same = sd.value_and_grad(f, has_aux=True)(X)
        assert g.tolist() == same.tolist() == [2.0, 4.0, 6.0] and value == 14.0
        for found in (aux, again):
            assert type(found["h"]) is np.ndarray and found["h"].tolist() == [1.0, 4.0, 9.0]
            assert found["n"] == 3 and found["none"] is None
    with pytest.raises(TypeError, match="must return"):
        sd.grad(cubes, has_aux=True)(X)


# ---------------------------------------------------------------------------------------------------------- containers

Point = namedtuple("Point", "x y")


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Params:
    W: Any
    b: Any
    more: Any = None


@dataclass(frozen=True)
class Frozen:
    w: Any


@pytest.mark.parametrize(
    "container",
    [
        [X, X + 1],
        (X, X + 1),
        {"a": X, "b": X + 1},
        OrderedDict(a=X, b=X + 1),
        Point(X, X + 1),
        Pair(X, X + 1),
        Params(X, X + 1),
        Params(X, [X, {"deep": (X, None)}]),
        Frozen([X]),
        [],
        {},
        None,
        [None, X, ()],
    ],
)
def test_containers_come_back_in_the_same_structure(container: Any) -> None:
    def leaves(c: Any) -> list[Any]:
        if c is None:
            return []
        if isinstance(c, dict):
            return [leaf for v in c.values() for leaf in leaves(v)]
        if isinstance(c, (list, tuple)):
            return [leaf for v in c for leaf in leaves(v)]
        if isinstance(c, (Params, Frozen)):
            return [leaf for v in vars(c).values() for leaf in leaves(v)]
        return [c]

    def f(c: Any) -> Any:
        return sum((np.sum(leaf**2) for leaf in leaves(c)), start=0.0)

    for _ in range(3):
        g = sd.grad(f)(container)
        assert type(g) is type(container)
        for a, b in zip(leaves(container), leaves(g), strict=True):
            np.testing.assert_array_equal(b, 2 * a)


def test_the_same_array_in_two_places_gets_two_gradients() -> None:
    ga, gb = sd.grad(lambda a, b: np.sum(a * a * b), argnums=(0, 1))(X, X)
    assert ga.tolist() == (2 * X * X).tolist() and gb.tolist() == (X * X).tolist()


# ----------------------------------------------------------------------------------------------------------- callables


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def loss(self, x: Any) -> Any:
        return self.scale * np.sum(x * x)

    def __call__(self, x: Any) -> Any:
        return self.loss(x)


class Methods:
    scale = 2.0

    @sd.grad(argnames="x")
    def by_name(self, x: Any) -> Any:
        return self.scale * np.sum(x * x)


def test_bound_methods_lambdas_partials_and_callables() -> None:
    model = Model(2.0)
    expected = (4 * X).tolist()
    for f in (model.loss, lambda x: model.loss(x), functools.partial(Model.loss, model), model):
        assert sd.grad(f)(X).tolist() == expected
    assert sd.grad(functools.partial(three, c=2.0))(X, X).tolist() == (2 * X).tolist()


def test_decorated_methods() -> None:
    for _ in range(3):
        assert Methods().by_name(X).tolist() == (4 * X).tolist()
    assert Methods.by_name(Methods(), X).tolist() == (4 * X).tolist()


def test_recursive_and_nested_functions() -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    assert sd.grad(power)(2.0, 5) == 80.0

    @sd.grad
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * x

        return inner(x) + inner(3.0)

    assert outer(2.0) == 7.0


def test_functions_made_by_exec() -> None:
    namespace: dict[str, Any] = {"np": np, "sd": sd}
    exec("@sd.grad\ndef f(x):\n    return np.sum(x * x)", namespace)
    for _ in range(3):
        assert namespace["f"](X).tolist() == [2.0, 4.0, 6.0]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a function, got int"):
        sd.grad(3)


def test_name_docstring_and_signature_are_kept() -> None:
    assert slope.__name__ == "slope" and slope.__doc__ == "A documented gradient." and slope.__module__ == __name__
    assert list(inspect.signature(slope).parameters) == ["x", "scale"]
    assert "cubes" in repr(decorated)


def test_decorators_with_options() -> None:
    @sd.value_and_grad(argnums=1)
    def f(a: Any, b: Any) -> Any:
        return a * b

    assert f(3.0, 4.0) == (12.0, 3.0)


def test_pickling_and_copying() -> None:
    for f in (slope, decorated, sd.grad(three, argnums=(0, 1)), sd.value_and_grad(cubes)):
        args = (X, X) if f.__name__ == "three" else (X,)
        expected = f(*args)
        for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), copy.copy(f)):
            found = again(*args)
            for a, b in zip(np.atleast_1d(*expected), np.atleast_1d(*found), strict=True):
                np.testing.assert_array_equal(a, b)
    assert pickle.loads(pickle.dumps(slope)) is slope
    model = copy.deepcopy({"loss": sd.grad(Model(2.0).loss)})
    assert model["loss"](X).tolist() == (4 * X).tolist()


def test_a_copy_of_what_holds_a_compiled_method_runs_its_own() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.weight = sd.tensor([1.0, 2.0], requires_grad=True)
            self.step = sd.compile(self.run)
            self.slope = sd.grad(self.value)

        def run(self, x: Any) -> Any:
            loss = (self.weight * x).sum()
            loss.backward()
            return loss.item()

        def value(self, x: Any) -> Any:
            return np.sum(x * self.weight.detach().numpy())

    trainer = Trainer()
    for _ in range(4):
        trainer.step(X[:2])
    again = copy.deepcopy(trainer)
    before = trainer.weight.grad.numpy().copy()
    with sd.no_grad():
        again.weight.fill_(3.0)
    for _ in range(4):
        assert again.step(X[:2]) == pytest.approx(3.0 * X[:2].sum())
    np.testing.assert_array_equal(again.slope(X[:2]), [3.0, 3.0])
    np.testing.assert_array_equal(trainer.weight.grad.numpy(), before)


# --------------------------------------------------------------------------------------------------- closures, nesting


def test_closures_over_arrays_follow_the_arrays() -> None:
    c = np.array([1.0, 1.0, 1.0])
    f = sd.grad(lambda x: np.sum(x * c))
    for k in range(4):
        c[...] = k
        assert f(X).tolist() == [k] * 3


def test_closures_over_eager_tensors_give_tensors_with_a_graph() -> None:
    for _ in range(3):
        w = sd.from_numpy(np.array([1.0, 2.0, 3.0])).requires_grad_()
        value, g = sd.value_and_grad(lambda x: np.sum(x * x * w))(X)  # noqa: B023
        assert isinstance(value, sd.Tensor) and value.grad_fn is not None
        assert isinstance(g, sd.Tensor) and g.grad_fn is not None
        np.testing.assert_allclose(g.detach().numpy(), 2 * X * w.numpy(force=True))
        np.sum(g).backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * X)
        w.grad = None
        value.backward()
        np.testing.assert_allclose(w.grad.numpy(), X**2)


def test_closures_over_detached_tensors_are_constants() -> None:
    w = sd.from_numpy(np.ones(3)).requires_grad_()
    g = sd.grad(lambda x: np.sum(x * w.detach()))(X)
    assert type(g) is np.ndarray


@pytest.mark.parametrize("order", range(1, 6))
def test_nested_to_any_order(order: int) -> None:
    f: Any = lambda x: np.sin(2.0 * x) * np.exp(x)
    for _ in range(order):
        f = sd.grad(f)
    z = (1 + 2j) ** order * np.exp((1 + 2j) * 0.3)
    for _ in range(3):
        g = f(0.3)
        assert type(g) is float and g == pytest.approx(z.imag, rel=1e-12)


def test_a_derivative_inside_a_function() -> None:
    def f(x: Any) -> Any:
        inner = sd.grad(lambda y: np.sum(y**3 * x))(x)
        return np.sum(inner)  # sum 3 x^3

    for _ in range(3):
        np.testing.assert_allclose(sd.grad(f)(X), 9 * X**2)


def test_the_inner_variable_is_not_the_outer_one() -> None:
    """d/dx [x * d/dy (x + y)] is 1, not 2: perturbations are not confused."""
    f = sd.grad(lambda x: x * sd.grad(lambda y: x + y)(1.0))
    assert [f(3.0) for _ in range(3)] == [1.0] * 3
    g = sd.grad(lambda x: x * sd.grad(lambda y: x * y)(2.0))
    assert [g(3.0) for _ in range(3)] == [6.0] * 3


def test_an_inner_derivative_that_is_constant() -> None:
    f = sd.grad(lambda x: x * sd.grad(lambda y: y * y)(2.0))
    assert [f(3.0) for _ in range(3)] == [4.0] * 3


# ------------------------------------------------------------------------------------------------------------- writing


def test_arguments_may_be_written_as_calling_the_function_would() -> None:
    def f(x: Any) -> Any:
        x *= 2.0
        x[0] = x[1] * x[2]
        return np.sum(x * x)

    for _ in range(3):
        a = X.copy()
        g = sd.grad(f)(a)
        # x = (4 b c, 2 b, 2 c): 16 b^2 c^2 + 4 b^2 + 4 c^2
        b, c = 2.0, 3.0
        np.testing.assert_allclose(g, [0.0, 32 * b * c * c + 8 * b, 32 * b * b * c + 8 * c])
        assert a.tolist() == [24.0, 4.0, 6.0]


def test_one_array_as_two_arguments_may_not_be_written() -> None:
    """Each argument has its own gradient, but the write changes both."""

    def f(a: Any, b: Any) -> Any:
        a[0] = 5.0
        return np.sum(b * b)

    x = X.copy()
    with pytest.raises(RuntimeError, match="passed as two differentiated arguments is written"):
        sd.grad(f, argnums=(0, 1))(x, x)
    ga, gb = sd.grad(f, argnums=(0, 1))(x, x.copy())
    assert ga.tolist() == [0.0, 0.0, 0.0] and gb.tolist() == [2.0, 4.0, 6.0]


# -------------------------------------------------------------------------------------------------------- no leftovers


def test_nothing_is_left_after_an_exception() -> None:
    def fail(x: Any) -> Any:
        raise ZeroDivisionError

    for outer in (sd.grad(fail), sd.grad(sd.grad(fail)), sd.jacobian(fail), sd.hessian(fail)):
        for mode in (sd.enable_grad, sd.no_grad):
            with mode(), pytest.raises(ZeroDivisionError):
                outer(2.0)
        assert sd.is_grad_enabled()
    assert sd.grad(sd.grad(lambda x: x**3))(2.0) == 12.0


def test_leaving_the_graph_is_refused() -> None:
    lossy: list[Any] = [
        lambda x: x.item(),
        lambda x: int(x) * x,
        lambda x: x.tolist(),
        lambda x: x * np.arange(9)[int(x)],
    ]
    for f in lossy:
        with pytest.raises((TypeError, RuntimeError)) as error:
            sd.grad(f)(2.0)
        assert isinstance(error.value, sd.errors.SrcdiffError) and "detach" in str(error.value)
    with sd.config(clone=False):
        for f in (float, math.sin):
            with pytest.raises(sd.errors.GradientLostError, match="detach"):
                sd.grad(f)(2.0)
    assert sd.grad(float)(2.0) == 1.0 and sd.grad(math.sin)(2.0) == np.cos(2.0)
    assert sd.grad(lambda x: x * float(sd.detach(x)))(3.0) == 3.0
    assert sd.grad(lambda x: x * x if x > 0 else -x)(3.0) == 6.0
    assert sd.grad(lambda x: x * len(f"{x} {x!r}"))(3.0) > 0


# ----------------------------------------------------------------------------------------------------------------- vjp


def test_vjp() -> None:
    value, pullback = sd.vjp(lambda x, y: (x * y, np.sum(x)), X, 2.0)
    assert value[0].tolist() == (2 * X).tolist() and value[1] == 6.0
    for _ in range(3):
        gx, gy = pullback((X, 1.0))
        assert gx.tolist() == (2 * X + 1).tolist() and gy == 14.0
    value, pullback, aux = sd.vjp(lambda x: (x * x, "aux"), X, has_aux=True)
    assert aux == "aux" and pullback(np.ones(3))[0].tolist() == [2.0, 4.0, 6.0]


def test_vjp_checks_cotangents() -> None:
    _, pullback = sd.vjp(lambda x: x * x, X)
    with pytest.raises(sd.errors.ShapeError, match=r"cotangent has shape \(2,\), the output \(3,\)"):
        pullback(np.ones(2))
    with pytest.raises(sd.errors.ShapeError, match="1 arrays, but 2 cotangents"):
        pullback((X, X))


def test_vjp_takes_tensors_as_cotangents() -> None:
    _, pullback = sd.vjp(lambda x: x * x, X)
    for _ in range(4):
        (g,) = pullback(sd.from_numpy(np.ones(3)))
        np.testing.assert_array_equal(np.asarray(g), 2 * X)
    u = sd.from_numpy(np.ones(3)).requires_grad_()
    (g,) = pullback(u)
    np.sum(g).backward()
    assert u.grad.tolist() == (2 * X).tolist()


def test_vjp_inside_grad() -> None:
    def f(x: Any) -> Any:
        _, pullback = sd.vjp(lambda y: y**3, x)
        (g,) = pullback(x)  # 3 x^3
        return np.sum(g)

    for _ in range(3):
        np.testing.assert_allclose(sd.grad(f)(X), 9 * X**2)


def test_writes_after_an_inner_gradient_do_not_reach_it() -> None:
    def outer(x):
        inner = sd.grad(lambda a: np.sum(np.sin(a) * a * x))(x)
        x[1] = 2.0
        return np.sum(inner)

    def plain(x):
        return np.sum(np.cos(x) * x * x + np.sin(x) * x)

    x = np.array([0.3, 0.7, 1.1])
    expected = sd.grad(plain)(x.copy())
    for _ in range(3):
        np.testing.assert_allclose(sd.grad(outer)(x.copy()), expected, rtol=1e-12)
