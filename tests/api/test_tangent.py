"""`jvp`, `linearize`, `hvp`: derivatives along tangents, on the first call and when generated code runs."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X, T = np.array([0.3, -1.2, 0.7]), np.array([1.0, 2.0, -0.5])
Pair = namedtuple("Pair", "a b")
#: walked, compiled, matched, matched
CALLS = range(4)


def in_place(x: Any) -> Any:
    y = x * 2.0
    y[1] = y[0] * x[2]
    view = y[1:]
    view *= x[:2]
    return np.sum(y**2) + y[2]


def looped(x: Any) -> Any:
    h = np.zeros(2)
    for k in range(12):
        h = np.tanh(h * x[0] + x[k % 3] * np.array([1.0, 0.5]))
    return h


def branching(x: Any) -> Any:
    return np.sin(x) if x[0] > 0 else np.cos(x)


def filled(x: Any) -> Any:
    out = np.zeros((2, 3))
    out[0] = x
    out[1, ::-1] = x**2
    return np.stack([out[0], np.where(x > 0, out[1], -x)])


FUNCTIONS: list[Callable[[Any], Any]] = [
    np.sin, in_place, looped, branching, filled,
    lambda x: np.linalg.norm(x), lambda x: np.cumprod(x), lambda x: np.sort(x)[::-1] * x, lambda x: np.outer(x, x) @ x,
    lambda x: np.linalg.solve(np.outer(x, x) + np.eye(3), x), lambda x: np.linalg.eigh(np.outer(x, x) + np.diag(x))[0],
    lambda x: np.max(x) * np.prod(x), lambda x: np.fft.rfft(x).real, lambda x: 1 / (1 + np.exp(-x)), lambda x: x,
    lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))), lambda x: x[[0, 0, 2]] ** 3, lambda x: np.var(x),
    lambda x: np.einsum("i,j,i->j", x, x, x), lambda x: np.concatenate([x, [1.0], x * x]), lambda x: x[:0],
]  # fmt: skip


def differences(f: Callable[[Any], Any], x: Any, t: Any, h: float = 1e-5) -> Any:
    return (8 * (f(x + h * t) - f(x - h * t)) - (f(x + 2 * h * t) - f(x - 2 * h * t))) / (12 * h)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_it_is_the_directional_derivative_on_every_call(f: Any) -> None:
    want = differences(f, X, T)
    first = None
    for _ in CALLS:
        value, tangent = sd.jvp(f, (X,), (T,))
        np.testing.assert_array_equal(value, f(X))
        np.testing.assert_allclose(tangent, want, rtol=1e-8, atol=1e-8)
        assert type(tangent) is type(value)
        first = tangent if first is None else first
        np.testing.assert_allclose(tangent, first, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_forward_and_reverse_are_adjoint(f: Any) -> None:
    value, tangent = sd.jvp(f, (X,), (T,))
    u = np.cos(np.arange(1.0, 1.0 + np.size(value))).reshape(np.shape(value))
    _, pull = sd.vjp(f, X)
    np.testing.assert_allclose(np.sum(tangent * u), np.sum(pull(u)[0] * T), rtol=1e-12, atol=1e-12)


def test_exact_gives_the_same_bits_on_every_call() -> None:
    with sd.config(exact=True):
        for f in FUNCTIONS:
            made = [np.asarray(sd.jvp(f, (X,), (T,))[1]).tobytes() for _ in CALLS]
            assert len(set(made)) == 1


def test_repeated_calls_run_generated_code(golden: Any) -> None:
    def loss(w: Any, x: Any, b: Any) -> Any:
        h = np.tanh(x @ w + b)
        return np.mean(h**2)

    w, x, b = np.ones((3, 2)), np.ones((5, 3)), np.ones(2)
    pushed = sd.jvp(loss)
    with sd.config(replay="never"):
        for _ in CALLS:
            pushed((w, x, b), (w, None, b))
    info = pushed.cache_info()
    assert (info.entries, info.hits, info.misses, info.traced) == (1, 2, 1, 4)
    golden("tangent_of_a_loss", pushed.source((w, x, b), (w, None, b)))
    assert "np.tanh" in pushed.source((w, x, b), (w, None, b), forward=True)
    assert "tanh" not in str(pushed.program((w, x, b), (w, None, b)))
    assert "5 operations" in pushed.explain((w, x, b), (w, None, b))


def test_loops_come_back_as_loops() -> None:
    def rnn(w: Any, xs: Any) -> Any:
        h = np.zeros(4)
        for t in range(len(xs)):
            h = np.tanh(xs[t] + h @ w)
        return h

    w, xs = np.eye(4) * 0.3, np.linspace(-1.0, 1.0, 80).reshape(20, 4)
    pushed = sd.jvp(rnn)
    made = [pushed((w, xs), (w, xs))[1] for _ in CALLS]
    code = pushed.source((w, xs), (w, xs))
    assert "in range(" in code
    assert code.count("@ t_w") < 6
    for each in made:
        np.testing.assert_allclose(each, differences(lambda s: rnn(w * s, xs * s), 1.0, 1.0), rtol=1e-8)


def test_calls_that_are_proved_to_be_repeatable_are_replayed() -> None:
    for f, entries in ((np.tanh, 1), (looped, 1), (lambda x: np.sort(x) * x, 1), (lambda x: (x * 2, x), 0)):
        pushed = sd.jvp(f)
        plain = sd.jvp(f, (X,), (T,))
        for _ in range(6):
            value, tangent = pushed((X,), (T,))
            np.testing.assert_array_equal(value, plain[0])
            np.testing.assert_allclose(tangent, plain[1], rtol=1e-13)
        assert len(pushed._player.entries) == entries
        assert (pushed.cache_info().replayed > 2) == bool(entries)
        assert ("replayed: value and tangent" in pushed.explain((X,), (T,))) == bool(entries)
    with sd.config(exact=True):
        pushed = sd.jvp(looped)
        assert len({pushed((X,), (T,))[1].tobytes() for _ in range(6)}) == 1
        assert pushed.cache_info().replayed


def test_replayed_calls_take_their_branches_and_see_what_changes_outside() -> None:
    scale = [2.0]

    def f(x: Any) -> Any:
        y = np.where(x > 0, x, 0.5 * x)
        return np.sum(y * y) if x[0] > 0 else np.sum(np.sin(x)) * scale[0]

    pushed = sd.jvp(f)
    for k in range(12):
        scale[0] = float(k // 6)
        x = X if k % 2 else -X
        value, tangent = pushed((x,), (T,))
        np.testing.assert_allclose(value, f(x))
        np.testing.assert_allclose(tangent, np.sum(sd.grad(f)(x) * T))
    numbers = sd.jvp(lambda x: x * x)
    assert [numbers((float(k),), (1.0,))[1] for k in range(6)] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert "a number among the arguments" in numbers.explain((1.0,), (1.0,))


def test_structures() -> None:
    def f(p: Any, q: Any) -> Any:
        return {"s": p["w"] * q.a, "n": None, "k": [q.b * 2.0, 3]}

    p, q = {"w": X, "unused": X}, Pair(T, np.float64(2.0))
    for _ in CALLS:
        value, tangent = sd.jvp(f, (p, q), ({"unused": None, "w": T}, Pair(None, 1.0)))
        np.testing.assert_array_equal(value["s"], X * T)
        np.testing.assert_allclose(tangent["s"], T * T)
        assert tangent["n"] is None
        assert tangent["k"] == [2.0, 0.0]


def test_none_is_zero_and_its_argument_a_constant() -> None:
    def power(x: Any, n: int, mask: Any) -> Any:
        assert type(n) is int
        return np.where(mask, x**n, 0.0)

    for _ in CALLS:
        _, tangent = sd.jvp(power, (X, 3, X > 0), (T, None, None))
        np.testing.assert_allclose(tangent, np.where(X > 0, 3 * X**2 * T, 0.0))
    assert sd.jvp(power, (X, 2, X > 0), (None, None, None))[1].tolist() == [0.0, 0.0, 0.0]


def test_results_that_do_not_move() -> None:
    _, tangents = sd.jvp(lambda x: (np.argmax(x), 2.0, np.ones(2, np.float32), x.shape, "name"), (X,), (T,))
    assert tangents[:2] == (0.0, 0.0)
    assert tangents[2].dtype == np.float32
    assert tangents[3:] == ((0.0,), None)


def test_argnums_argnames_and_keywords() -> None:
    def f(x: Any, y: Any, scale: Any = 1.0) -> Any:
        return scale * x * y

    np.testing.assert_allclose(sd.jvp(f, (X, T), (T,), argnums=1)[1], X * T)
    np.testing.assert_allclose(sd.jvp(f, (X, T), (T, X), argnums=(1, 0))[1], X * T + X * T)
    np.testing.assert_allclose(sd.jvp(f, argnums=0)((X, T), (T,), scale=3.0)[1], 3 * T * T)
    np.testing.assert_allclose(sd.jvp(f, argnames="scale", argnums=None)((X, T), (1.0,), scale=3.0)[1], X * T)


def test_as_a_decorator_of_functions_and_methods() -> None:
    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w

        @sd.jvp(has_aux=True)
        def f(self, x: Any) -> Any:
            """Doc."""
            return self.w * x, "aux"

    value, tangent, aux = Model(2.0).f((X,), (T,))
    assert (value.tolist(), tangent.tolist(), aux) == ((2 * X).tolist(), (2 * T).tolist(), "aux")
    assert Model.f.__doc__ == "Doc."


@pytest.mark.parametrize(
    ("primals", "tangents", "error", "message"),
    [
        ((X,), (T, T), ValueError, "jvp: 1 primals, but 2 tangents"),
        (X, (T,), ValueError, "primals must be a tuple or list"),
        ((X,), T, ValueError, "tangents must be a tuple or list"),
        ((X,), (T[:2],), ValueError, r"the tangent of 'x' has shape \(2,\), but its value \(3,\)"),
        ((X,), (1.0,), ValueError, r"the tangent of 'x' has shape \(\), but its value \(3,\)"),
        ((X,), (T * 1j,), TypeError, "the tangent of 'x' has dtype complex128, but its value float64"),
        ((X,), (np.array(["a"] * 3),), TypeError, "the tangent of 'x' has dtype"),
        ((3,), (1.0,), TypeError, "the tangent of 'x' must be None, which stands for zero.*type int"),
        ((np.arange(3),), (T,), TypeError, "the tangent of 'x' must be None.*int64 array"),
        (({"a": X},), ({"b": X},), ValueError, "the tangent of 'x' is a dict of b where its value is a dict of a"),
        (([X, X],), ([X],), ValueError, "the tangent of 'x' is a list of 1 where its value is a list of 2"),
        (({"a": X},), ({"a": X[:1]},), ValueError, "the tangent of 'x_a' has shape"),
        ((X,), None, ValueError, "both are given, or neither"),
    ],
)
def test_tangents_that_do_not_fit(primals: Any, tangents: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        sd.jvp(lambda x: x, primals, tangents)


def test_dtypes_stay() -> None:
    x = X.astype(np.float32)
    for _ in CALLS:
        value, tangent = sd.jvp(lambda x: np.sum(np.sin(x) * 2) / 3, (x,), (np.array([1, 0, 2]),))
        assert value.dtype == tangent.dtype == np.float32
        assert sd.jvp(lambda a, b: a * b, (x, X), (x, X))[1].dtype == np.float64
        assert type(sd.jvp(lambda a: a * a, (2.0,), (3.0,))[1]) is np.float64
    np.testing.assert_allclose(tangent, np.sum(np.cos(X) * [1, 0, 2]) * 2 / 3, rtol=1e-6)


def test_complex_values_follow_the_limit_of_differences() -> None:
    z, t = np.array([1 + 2j, 0.5j]), np.array([1j, 2.0 + 0j])
    for f in (lambda z: z * np.conj(z) * z, lambda z: np.abs(z), lambda z: np.exp(z).imag, lambda z: z @ z, np.fft.fft):
        for _ in CALLS:
            np.testing.assert_allclose(sd.jvp(f, (z,), (t,))[1], differences(f, z, t), rtol=1e-8, atol=1e-9)
    made = sd.jvp(lambda x: np.sum(np.exp(1j * x)), (X,), (T,))[1]
    np.testing.assert_allclose(made, np.sum(1j * np.exp(1j * X) * T))


def test_detached_values_and_values_made_without_recording_are_constants() -> None:
    def f(x: Any) -> Any:
        with sd.no_grad():
            y = x * 2
        return x * sd.detach(x) + y

    for _ in CALLS:
        np.testing.assert_allclose(sd.jvp(f, (X,), (T,))[1], X * T)
    with sd.no_grad():
        np.testing.assert_allclose(sd.jvp(np.sin, (X,), (T,))[1], np.cos(X) * T)


def test_random_numbers_are_drawn_anew_and_constant() -> None:
    rng = np.random.default_rng(0)
    for _ in CALLS:
        value, tangent = sd.jvp(lambda x: x * rng.standard_normal(3), (X,), (T,))
        np.testing.assert_allclose(tangent, value / X * T)


# ------------------------------------------------------------------------------------------------- derivatives of these


def test_nested_tangents_are_told_apart() -> None:
    """The classic confusion: d/dx (x * d/dy (x + y)) is 1, not 2."""
    for _ in CALLS:
        inner = lambda x: x * sd.jvp(lambda y: x + y, (1.0,), (1.0,))[1]
        assert sd.jvp(inner, (2.0,), (1.0,))[1] == 1.0
        assert sd.grad(inner)(2.0) == 1.0
        mixed = lambda x: x * sd.grad(lambda y: x * y**2)(3.0)
        assert sd.jvp(mixed, (2.0,), (1.0,))[1] == 2 * 2.0 * 2 * 3.0
        outer = lambda x: sd.jvp(lambda y: np.sin(x * y) * y, (x,), (x,))[1]
        np.testing.assert_allclose(sd.jvp(outer, (0.7,), (1.0,))[1], differences(outer, 0.7, 1.0))
        np.testing.assert_allclose(sd.grad(outer)(0.7), differences(outer, 0.7, 1.0))


def test_a_tangent_may_be_what_is_differentiated() -> None:
    for _ in CALLS:
        g = sd.grad(lambda t: np.sum(sd.jvp(np.sin, (X,), (t,))[1] ** 2))(T)
        np.testing.assert_allclose(g, 2 * np.cos(X) ** 2 * T)
        np.testing.assert_allclose(sd.jvp(lambda t: sd.jvp(np.sin, (X,), (t,))[1], (T,), (X,))[1], np.cos(X) * X)
    t = sd.tensor(T, requires_grad=True)
    _, tangent = sd.jvp(np.sin, (X,), (t,))
    tangent.sum().backward()
    np.testing.assert_allclose(t.grad.numpy(), np.cos(X))


def test_the_value_of_an_inner_call_is_differentiated_where_it_depends_on_outer_values() -> None:
    for _ in CALLS:
        both = lambda x: np.sum(np.stack(sd.jvp(lambda y: y * x, (T,), (X,))))
        np.testing.assert_allclose(sd.grad(both)(X), T + X)
        unused = lambda x: np.sum(sd.jvp(lambda y: x**2, (T,), (X,))[0])
        np.testing.assert_allclose(sd.grad(unused)(X), 2 * X)
        itself = lambda x: np.sum(sd.jvp(lambda y: y, (x,), (X,))[0] ** 2)
        np.testing.assert_allclose(sd.grad(itself)(X), 2 * X)


SMOOTH: list[Callable[[Any], Any]] = [
    in_place, lambda x: np.sum(looped(x) ** 2), lambda x: np.sum(filled(x) ** 2),
    lambda x: np.log(np.sum(np.exp(x))), lambda x: np.prod(x) * np.linalg.norm(x),
    lambda x: np.linalg.det(np.outer(x, x) + np.diag(x)), lambda x: np.sum(1 / (1 + np.exp(-3 * x))),
]  # fmt: skip


@pytest.mark.parametrize("f", SMOOTH)
def test_all_orders_of_modes_give_one_second_derivative(f: Any) -> None:
    want = differences(sd.grad(f), X, T)
    ways = [
        lambda: sd.hvp(f, (X,), (T,)),
        lambda: sd.grad(lambda x: sd.jvp(f, (x,), (T,))[1])(X),
        lambda: sd.grad(lambda x: np.sum(sd.grad(f)(x) * T))(X),
        lambda: sd.linearize(sd.grad(f), X)[1](T),
        lambda: np.array([sd.jvp(lambda x: sd.jvp(f, (x,), (T,))[1], (X,), (e,))[1] for e in np.eye(3)]),
    ]
    for way in ways:
        for _ in CALLS:
            np.testing.assert_allclose(way(), want, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("f", SMOOTH)
def test_third_order(f: Any) -> None:
    second = lambda x: sd.hvp(f, (x,), (T,))
    want = differences(second, X, T)
    for _ in CALLS:
        np.testing.assert_allclose(sd.jvp(second, (X,), (T,))[1], want, rtol=1e-6, atol=1e-6)
        along = lambda x: sd.jvp(lambda y: sd.jvp(f, (y,), (T,))[1], (x,), (T,))[1]
        np.testing.assert_allclose(sd.jvp(along, (X,), (T,))[1], np.sum(want * T), rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(sd.grad(along)(X), want, rtol=1e-6, atol=1e-6)


def test_products_with_hessians() -> None:
    f = lambda x, y: np.sum(x**3 * y)
    np.testing.assert_allclose(sd.hvp(f, (X, T), (T, None)), 6 * X * T * T)
    np.testing.assert_allclose(sd.hvp(f, (X, T), (None, X)), 3 * X**2 * X)
    by_x, by_y = sd.hvp(f, (X, T), (T, X), argnums=(0, 1))
    np.testing.assert_allclose(by_x, 6 * X * T * T + 3 * X**3)
    np.testing.assert_allclose(by_y, 3 * X**2 * T)
    with pytest.raises(TypeError, match="scalar"):
        sd.hvp(np.sin, (X,), (T,))


def test_a_linear_map_is_applied_any_number_of_times() -> None:
    calls = []

    def f(x: Any, n: int) -> Any:
        calls.append(n)
        return np.sin(x) ** n

    value, push = sd.linearize(f, X, 2)
    np.testing.assert_allclose(value, np.sin(X) ** 2)
    for t in (T, X, T, T):
        np.testing.assert_allclose(push(t, None), 2 * np.sin(X) * np.cos(X) * t)
    assert push(None, None).tolist() == [0.0, 0.0, 0.0]
    assert calls == [2]
    assert "t_x" in push.source()
    assert "cos" in str(push.program())
    with pytest.raises(TypeError, match="'n' must be None"):
        push(T, 1.0)
    with pytest.raises(ValueError, match="shape"):
        push(T[:1], None)
    with pytest.raises(TypeError, match="there is no derivative"):
        sd.linearize(lambda x: 1.0, X)[1].source()
    assert sd.linearize(lambda x: (x, "aux"), X, has_aux=True)[2] == "aux"


def test_what_has_no_derivative_says_so() -> None:
    for _ in CALLS:
        with pytest.raises(TypeError, match="qr_complete: the derivative"):
            sd.jvp(lambda x: np.linalg.qr(np.outer(x, [1.0, 2.0]), "complete")[0], (X,), (T,))


def test_tensors_in_tensors_out() -> None:
    value, tangent = sd.jvp(lambda x: x * 2, (sd.tensor(X),), (sd.tensor(T),))
    assert isinstance(value, sd.Tensor)
    assert isinstance(tangent, sd.Tensor)
    assert not tangent.requires_grad
    w = sd.tensor(X, requires_grad=True)
    _, tangent = sd.jvp(lambda x: x * w, (X,), (T,))
    tangent.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), T)


def test_results_share_no_memory() -> None:
    for f in (lambda x: x, lambda x: x.reshape(3, 1), lambda x: (x, x), lambda x: (x * 2)[1:]):
        for _ in CALLS:
            _, tangent = sd.jvp(f, (X,), (T,))
            for part in tangent if type(tangent) is tuple else (tangent,):
                assert not np.may_share_memory(part, T)


def test_integers_joined_with_a_moving_value_have_no_tangent() -> None:
    x = np.array([0.3, 0.7])
    for f in (lambda x: np.concatenate([x, np.array([5])]), lambda x: np.stack([x, np.array([2, 3])]).ravel()):
        for _ in range(3):
            _, tangent = sd.jvp(f, (x,), (np.array([2.0, 4.0]),))
            assert tangent.tolist() == [2.0, 4.0, *[0.0] * (tangent.size - 2)]
