"""Structural zeros: what was not chosen has no slope, however infinite the slopes below it are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.aval import aval_of
from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import where
from srcdiff.ops.masks import Mask
from srcdiff.ops.pull import pull
from srcdiff.ops.zeros import Partial, landed
from tests.ops.calculus import cotangent, differentiated
from tests.ops.sample import Sample
from tests.ops.test_laws import cases, evaluate, is_regular

X = np.array([0.0, 4.0, 9.0, 16.0])
DATA = np.array([[1.0, 2.0], [np.nan, 2.0], [3.0, 1.0]])
KEEP = X > 0


def safe(x: Any) -> Any:
    """x with its first element, at which slopes are infinite, replaced."""
    return np.where(KEEP, x, 2.0)


def after(y: Any, function: Callable[[Any], Any]) -> Any:
    """The function of a value that is used more than once."""
    return function(y)


#: a function that takes an infinite slope at 0 and does not choose it; the same with the argument chosen instead
PAIRS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "where": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0) ** 2),
        lambda x: np.sum(np.sqrt(safe(x))[1:] ** 2),
    ),
    "where, second choice": (
        lambda x: np.sum(np.where(x <= 0, 7.0, np.log(x))),
        lambda x: np.sum(np.log(safe(x))[1:]),
    ),
    "a chain": (
        lambda x: np.sum(np.where(x > 0, np.exp(-np.log(x)) * 3 + 1, 0)),
        lambda x: np.sum(np.exp(-np.log(safe(x)))[1:] * 3),
    ),
    "nested": (
        lambda x: np.sum(np.where(x > 0, np.where(x > 5, np.log(x), 1 / x), 0)),
        lambda x: np.sum(np.where(x > 5, np.log(safe(x)), 1 / safe(x))[1:]),
    ),
    "two choices": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)) + np.sum(np.where(x > 5, np.sqrt(x) ** 3, 0)),
        lambda x: np.sum(np.sqrt(safe(x))[1:]) + np.sum(np.sqrt(safe(x))[2:] ** 3),
    ),
    "two choices of one value": (
        lambda x: after(np.sqrt(x), lambda y: np.sum(np.where(x > 0, y, 0)) + np.sum(np.where(x > 5, y**2, 0))),
        lambda x: after(np.sqrt(safe(x)), lambda y: np.sum(y[1:]) + np.sum(y[2:] ** 2)),
    ),
    "broadcast down": (
        lambda x: np.sum(np.where((x > 0)[:, None], np.sqrt(x)[:, None] * np.array([1.0, 2.0]), 0)),
        lambda x: 3 * np.sum(np.sqrt(safe(x))[1:]),
    ),
    "broadcast up": (
        lambda x: np.sum(np.where(x > 0, np.sum(np.sqrt(np.stack([x, 4 * x], 1)), axis=1), 0)),
        lambda x: 3 * np.sum(np.sqrt(safe(x))[1:]),
    ),
    "rearranged": (
        lambda x: np.sum(np.where(x.reshape(2, 2).T > 0, np.log(x).reshape(2, 2).T, 0)),
        lambda x: np.sum(np.log(safe(x))[1:]),
    ),
    "running sum": (
        lambda x: np.cumsum(np.sqrt(x[::-1]))[2],
        lambda x: np.sum(np.sqrt(safe(x))[1:]),
    ),
    "an element": (lambda x: np.sqrt(x)[2], lambda x: np.sqrt(safe(x))[2]),
    "elements": (
        lambda x: after(np.sqrt(x), lambda y: y[1] * y[2] + y[3]),
        lambda x: after(np.sqrt(safe(x)), lambda y: y[1] * y[2] + y[3]),
    ),
    "a slice": (lambda x: np.sum(np.log(x)[1:] ** 2), lambda x: np.sum(np.log(safe(x))[1:] ** 2)),
    "overlapping slices": (
        lambda x: after(np.sqrt(x), lambda y: np.sum(y[2:] * y[1:-1])),
        lambda x: after(np.sqrt(safe(x)), lambda y: np.sum(y[2:] * y[1:-1])),
    ),
    "a boolean index": (lambda x: np.sum(np.log(x)[x > 0] ** 2), lambda x: np.sum(np.log(safe(x))[1:] ** 2)),
    "repeated places": (
        lambda x: np.sum(np.sqrt(x)[np.array([1, 1, 3])] * np.array([1.0, 2.0, 3.0])),
        lambda x: np.sum(np.sqrt(safe(x))[np.array([1, 1, 3])] * np.array([1.0, 2.0, 3.0])),
    ),
    "many repeated places": (
        lambda x: np.sum(np.sqrt(x)[np.array([1, 2, 3] * 4)] ** 2),
        lambda x: np.sum(np.sqrt(safe(x))[np.array([1, 2, 3] * 4)] ** 2),
    ),
    "an index of an index": (
        lambda x: np.sum(np.sqrt(x)[np.array([0, 3, 2])][1:]),
        lambda x: np.sum(np.sqrt(safe(x))[np.array([0, 3, 2])][1:]),
    ),
    "take": (lambda x: np.sum(np.take(np.sqrt(x), [1, 3])), lambda x: np.sum(np.take(np.sqrt(safe(x)), [1, 3]))),
    "take_along_axis": (
        lambda x: np.sum(np.take_along_axis(np.sqrt(x), np.array([3, 1]), 0)),
        lambda x: np.sum(np.sqrt(safe(x))[np.array([3, 1])]),
    ),
    "compress": (lambda x: np.sum(np.compress(x > 0, np.sqrt(x))), lambda x: np.sum(np.sqrt(safe(x))[1:])),
    "split": (lambda x: np.sum(np.split(np.sqrt(x), 2)[1]), lambda x: np.sum(np.sqrt(safe(x))[2:])),
    "unpacking": (lambda x: [*np.sqrt(x)][2], lambda x: np.sqrt(safe(x))[2]),
    "max": (lambda x: np.max(np.sqrt(x)), lambda x: np.max(np.sqrt(safe(x)))),
    "min of an axis": (
        lambda x: np.sum(np.min(-np.sqrt(x.reshape(2, 2)), axis=1)),
        lambda x: np.sum(np.min(-np.sqrt(safe(x).reshape(2, 2)), axis=1)),
    ),
    "maximum": (lambda x: np.sum(np.maximum(np.sqrt(x), 1.0)), lambda x: np.sum(np.sqrt(safe(x))[1:])),
    "fmin": (lambda x: np.sum(np.fmin(np.log(x), 1e3)[1:]), lambda x: np.sum(np.log(safe(x))[1:])),
    "clip": (lambda x: np.sum(np.clip(np.sqrt(x), 0.5, 3.5)), lambda x: np.sum(np.sqrt(safe(x))[1:3])),
    "relu": (lambda x: np.sum(sd.relu(np.log(x))), lambda x: np.sum(np.log(safe(x))[1:])),
    "sort": (
        lambda x: np.sum(np.sort(np.sqrt(x))[1:] ** 3),
        lambda x: np.sum(np.sort(np.sqrt(safe(x))[1:]) ** 3),
    ),
    "median": (
        lambda x: np.median(np.sqrt(x)),
        lambda x: np.median(np.where(KEEP, np.sqrt(safe(x)), 0.0)),
    ),
    "sum where": (lambda x: np.sum(np.sqrt(x), where=KEEP), lambda x: np.sum(np.sqrt(safe(x))[1:])),
    "mean where": (lambda x: np.mean(np.log(x) ** 2, where=KEEP), lambda x: np.mean(np.log(safe(x))[1:] ** 2)),
    "prod where": (lambda x: np.prod(np.sqrt(x), where=KEEP), lambda x: np.prod(np.sqrt(safe(x))[1:])),
    "sqrt where out": (
        lambda x: np.sum(np.sqrt(x, out=np.zeros_like(x), where=KEEP)),
        lambda x: np.sum(np.sqrt(safe(x))[1:]),
    ),
    "divide where out": (
        lambda x: np.sum(np.divide(2.0, x, out=np.zeros_like(x), where=KEEP)),
        lambda x: np.sum((2.0 / safe(x))[1:]),
    ),
    "select": (
        lambda x: np.sum(np.select([x > 5, x > 0], [np.log(x), np.sqrt(x)], 0.0)),
        lambda x: np.sum(np.where(x > 5, np.log(safe(x)), np.sqrt(safe(x)))[1:]),
    ),
    "choose": (
        lambda x: np.sum(np.choose(KEEP.astype(int), [x, np.log(x)])),
        lambda x: np.sum(np.log(safe(x))[1:]) + x[0],
    ),
    "piecewise": (
        lambda x: np.sum(np.piecewise(x, [x > 0], [np.sqrt, lambda x: 3 * x])),
        lambda x: np.sum(np.sqrt(safe(x))[1:]) + 3 * x[0],
    ),
    "nan_to_num": (
        lambda x: np.sum(np.nan_to_num(np.log(x), neginf=0.0)),
        lambda x: np.sum(np.log(safe(x))[1:]),
    ),
    "nansum": (lambda x: np.nansum(np.log(x - 1)), lambda x: np.sum(np.log(safe(x) - 1)[1:])),
    "nanmean": (lambda x: np.nanmean(np.log(x - 1)), lambda x: np.mean(np.log(safe(x) - 1)[1:])),
    "nanvar": (lambda x: np.nanvar(np.log(x - 1)), lambda x: np.var(np.log(safe(x) - 1)[1:])),
    "nanstd": (lambda x: np.nanstd(np.sqrt(x - 1)), lambda x: np.std(np.sqrt(safe(x) - 1)[1:])),
    "nanprod": (lambda x: np.nanprod(np.log(x - 1)), lambda x: np.prod(np.log(safe(x) - 1)[1:])),
    "nanmax": (lambda x: np.nanmax(np.log(x - 1)), lambda x: np.max(np.log(safe(x) - 1)[1:])),
    "nanmedian": (lambda x: np.nanmedian(np.log(x - 1)), lambda x: np.median(np.log(safe(x) - 1)[1:])),
    "diagonal": (
        lambda x: np.trace(np.sqrt(np.diag(x[1:]))),
        lambda x: np.sum(np.sqrt(safe(x))[1:]),
    ),
    "triangle": (
        lambda x: np.sum(np.tril(np.sqrt(x[np.array([[1, 0], [2, 3]])]))),
        lambda x: np.sum(np.sqrt(safe(x))[1:]),
    ),
    "entries of no number": (
        lambda x: np.sum(np.where(np.isnan(DATA), 0, (DATA - x[1:3]) ** 2)),
        lambda x: np.sum((np.where(np.isnan(DATA), 0, DATA - x[1:3])) ** 2),
    ),
    "rows of no number": (
        lambda x: after(np.sum((DATA - x[1:3]) ** 2, axis=1), lambda r: np.sum(r[~np.isnan(r)])),
        lambda x: np.sum((DATA[[0, 2]] - x[1:3]) ** 2),
    ),
    "a negative log-likelihood": (
        lambda x: sd.nn.functional.nll_loss(sd.log(x.reshape(1, 4)), np.array([2])),
        lambda x: -np.log(safe(x))[2],
    ),
    # values that are not chosen from, but put in among others
    "in a buffer": (
        lambda x: np.sum(np.sqrt(np.pad(x[1:], 1))[1:-1]),
        lambda x: np.sum(np.sqrt(safe(x))[1:]),
    ),
}  # fmt: skip

pairs = pytest.mark.parametrize(("risky", "same"), PAIRS.values(), ids=PAIRS)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@pairs
@pytest.mark.parametrize("replay", ["never", "auto"])
def test_what_is_not_chosen_has_no_slope(risky: Any, same: Any, replay: str) -> None:
    """Walked, compiled, and replayed; the function with its argument chosen is the reference."""
    with sd.config(replay=replay):
        gradient, want = sd.grad(risky), sd.grad(same)(X)
        assert np.all(np.isfinite(want))
        for _ in range(4):
            np.testing.assert_allclose(gradient(X), want, rtol=1e-12, atol=1e-14)


@pairs
def test_nor_a_second_one(risky: Any, same: Any) -> None:
    weights = np.array([1.0, -2.0, 0.5, 3.0])

    def twice(f: Any) -> Any:
        return sd.grad(lambda x: np.sum(weights * sd.grad(f)(x)))

    want = twice(same)(X)
    assert np.all(np.isfinite(want))
    gradient = twice(risky)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X), want, rtol=1e-11, atol=1e-13)


@pairs
def test_nor_a_tangent(risky: Any, same: Any) -> None:
    direction = np.array([0.0, 1.0, -2.0, 0.5])
    for along in (direction, direction + 1):
        np.testing.assert_allclose(
            sd.jvp(risky, (X,), (along,))[1], sd.jvp(same, (X,), (along,))[1], rtol=1e-12, atol=1e-14
        )


@pairs
def test_nor_one_on_eager_tensors(risky: Any, same: Any) -> None:
    """backward, backward with create_graph, and with a hook that leaves values as they are."""
    want = sd.grad(same)(X)
    for options in ({}, {"create_graph": True}):
        x = sd.tensor(X, requires_grad=True)
        risky(x).backward(**options)
        np.testing.assert_allclose(x.grad.detach(), want, rtol=1e-12, atol=1e-14)
    x = sd.tensor(X, requires_grad=True)
    y = x * 1.0
    y.retain_grad()
    risky(y).backward()
    np.testing.assert_allclose(y.grad, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x: np.sum(np.where(x >= 0, np.sqrt(x), 0)), np.inf),
        (lambda x: np.sqrt(x)[0], np.inf),
        (lambda x: np.min(np.sqrt(x)), np.inf),
        (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 2 * np.sqrt(x))), np.inf),
        (lambda x: np.sum(np.where(x >= 0, 1 / x, 0)), -np.inf),
        (lambda x: np.sum(np.where(x >= 0, 0 * np.sqrt(x), 0)), np.nan),
        (lambda x: np.sum(np.where(x >= 0, np.sqrt(x) * np.sqrt(x), 0)), np.nan),
        (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0) + np.sqrt(x)), np.inf),
    ],
)
def test_what_is_chosen_keeps_its_infinite_slope(function: Any, slope: float) -> None:
    """A zero that is a number times an infinite slope stays NaN: it could be anything."""
    for replay in ("never", "auto"):
        with sd.config(replay=replay):
            gradient = sd.grad(function)
            for _ in range(4):
                np.testing.assert_equal(gradient(X)[0], slope)


def test_tangents_of_what_was_put_in_among_constants() -> None:
    """The square root of a constant 0 has no tangent, though its slope is infinite."""
    for function in (
        lambda x: np.sqrt(np.where(KEEP, x, 0.0)),
        lambda x: np.sqrt(np.pad(x[1:], (1, 0))),
        lambda x: np.sqrt(np.concatenate([np.zeros(1), x[1:]])),
        lambda x: np.sqrt(np.stack([np.zeros(3), x[1:]])[1]),
        lambda x: np.sqrt(np.stack([np.zeros(3), x[1:]])),
        lambda x: np.sqrt(np.diag(x[1:])),
        lambda x: np.sqrt(_filled(x)),
        lambda x: np.sqrt(np.where(KEEP, x, 0.0) * np.ones((1, 1)))[0],
    ):
        tangent = sd.jvp(function, (X,), (np.ones(4),))[1]
        assert np.all(np.isfinite(tangent)) and np.isclose(np.sum(tangent), np.sum(0.5 / np.sqrt(X[1:])))


def _filled(x: Any) -> Any:
    buffer = np.zeros(5)
    buffer[2:] = x[1:]
    return buffer


def test_the_mask_is_only_in_code_that_needs_it() -> None:
    with sd.config(replay="never"):
        plain = sd.grad(lambda x, w: np.sum(sd.relu(x @ w)))
        text = plain.source(np.ones((3, 2)), np.ones((2, 2)))
        assert text.count("np.where") == 1
        one = sd.grad(lambda x: np.sum(np.where(x > 0, 3 * np.sqrt(x), 0)))
        assert one.source(X).count("= np.where") == 1
        covered = sd.grad(lambda x: after(np.sqrt(x), lambda y: np.sum(y[1:] * y[:-1])))
        assert "where" not in str(covered.program(X))


@cases(is_regular)
def test_rules_take_structural_zeros(prim: Primitive, sample: Sample) -> None:
    """A rule on a cotangent with zeros in it gives what it gives on the cotangent as an array."""
    values, rng = sample.values(), np.random.default_rng(3)
    out = evaluate(prim, values, sample.params)
    if prim.multi:
        pytest.skip("operations with several outputs take a tuple")
    ct = np.asarray(cotangent(out, rng))
    keep = np.asarray(rng.random(ct.shape) < 0.5)
    for k in differentiated(prim, values):
        to = aval_of(values[k])
        want = pull(prim, k, where(keep, ct, 0.0), out, values, sample.params, to)
        got = pull(prim, k, Partial(ct, Mask(lambda: keep, True), False), out, values, sample.params, to)
        assert (want is None) == (got is None)
        if got is not None:
            np.testing.assert_allclose(landed(got), landed(want), rtol=1e-12, atol=1e-12)
            if type(got) is Partial and got.outline() is not None:
                hidden = ~np.asarray(got.outline().full(got.shape))  # type: ignore[union-attr]
                assert not np.any(np.asarray(got.land())[hidden])
