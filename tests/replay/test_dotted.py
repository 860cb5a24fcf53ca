"""Dotted names, and what they stand for: functions of SciPy's, of srcdiff's under its names, of modules of the user's,
members of enumerations. They are replayed where they are what they were, and looked at again on every call.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.special
from scipy import special
from scipy.special import expit

import srcdiff as sd
import srcdiff.scipy.integrate
import srcdiff.scipy.linalg
import srcdiff.scipy.optimize
import srcdiff.scipy.signal
import srcdiff.scipy.special
import srcdiff.scipy.stats
from srcdiff.scipy import stats
from srcdiff.scipy.special import logsumexp

X = np.array([0.3, 1.2, -0.7, 2.1])
helpers = types.ModuleType("helpers")
exec(
    "import numpy as np\nSCALE = 2.5\nTABLE = np.array([1.0, 2.0, 3.0, 4.0])\nLOG = []\n"
    "def inner(x):\n    return x * x\n"
    "def loss(x):\n    return np.sum(inner(x) * SCALE * TABLE)\n"
    "def logged(x):\n    LOG.append(1)\n    return np.sum(x)\n",
    vars(helpers),
)


class Mode(enum.Enum):
    SUM = 2.0
    MEAN = 3.0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Clever(enum.Enum):
    A = 1

    def factor(self) -> float:
        return float(self.value)


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    with sd.config(replay="auto", exact=True):
        yield


def bits(result: Any) -> Any:
    return [(type(part), np.asarray(part).tobytes()) for part in result]


def replays(function: Callable[..., Any], *arguments: Any) -> int:
    """How many of seven calls are replayed, all of which must be what tracing gives to the bit."""
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for k in range(7):
        x = X * (1 + k / 128)
        with sd.config(replay="never"):
            expected = traced(x, *arguments)
        assert bits(fast(x, *arguments)) == bits(expected)
    return fast.cache_info().replayed


def positive(x: Any) -> Any:
    return np.outer(x, x) + 5.0 * np.eye(4)


REPLAYED: list[Callable[[Any], Any]] = [
    lambda x: np.sum(expit(x)),
    lambda x: np.sum(special.expit(x) * scipy.special.erf(x)),
    lambda x: np.sum(special.xlogy(np.abs(x), np.abs(x))),
    lambda x: logsumexp(x),
    lambda x: sd.scipy.special.logsumexp(x, axis=0) + np.sum(sd.scipy.special.expit(x)),
    lambda x: np.sum(sd.scipy.special.softmax(x) ** 2),
    lambda x: sd.scipy.special.multigammaln(x[1] + 4.0, 2),
    lambda x: np.sum(stats.norm.logpdf(x, 0.5, 2.0)),
    lambda x: np.sum(sd.scipy.stats.gamma.logpdf(np.abs(x), 2.0)),
    lambda x: np.sum(stats.beta.cdf(x / 10 + 0.5, 2.0, 3.0)),
    lambda x: np.sum(sd.scipy.linalg.solve(positive(x), x, assume_a="pos")),
    lambda x: np.sum(np.log(np.diag(sd.scipy.linalg.cholesky(positive(x), lower=True)))),
    lambda x: np.sum(sd.scipy.linalg.expm(np.outer(x, x) / 8)),
    lambda x: np.sum(sd.scipy.signal.fftconvolve(x, np.ones(3)) ** 2),
    lambda x: sd.scipy.integrate.simpson(x**2, dx=0.5),
    lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2) + np.partition(x, 2)[2],
    lambda x: helpers.loss(x),
    lambda x: np.sum(x * helpers.SCALE * helpers.TABLE),
    lambda x: np.sum(x**2) * Mode.MEAN.value * Level.HIGH,
]  # fmt: skip


@pytest.mark.parametrize("function", REPLAYED)
def test_replayed(function: Callable[[Any], Any]) -> None:
    assert replays(function) >= 4


def solves(x: Any) -> Any:
    return np.sum(sd.scipy.integrate.odeint(lambda y, t: -x[0] * y, x, np.linspace(0, 1, 3)))


def finds(x: Any) -> Any:
    return sd.scipy.optimize.fsolve(lambda y: y**3 - x[1], 1.0)[0]


def draws(x: Any) -> Any:
    return np.sum(x * stats.norm.rvs(size=4, random_state=0))


def draws_plainly(x: Any) -> Any:
    return np.sum(x * np.random.default_rng(0).standard_normal(4))


def logs(x: Any) -> Any:
    return helpers.logged(x)


def writes_a_file(x: Any) -> Any:
    np.save("/dev/null", np.zeros(1))
    return np.sum(x)


def of_a_clever_enumeration(x: Any) -> Any:
    return np.sum(x) * Clever.A.factor()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (solves, "sd.scipy.integrate.odeint is not known to be free of effects"),
        (finds, "sd.scipy.optimize.fsolve is not known to be free of effects"),
        (draws, ".rvs"),
        (draws_plainly, "np.random.default_rng is not known to be free of effects"),
        (logs, "LOG is changed, which is seen outside"),
        (writes_a_file, "np.save is not known to be free of effects"),
        (of_a_clever_enumeration, "Clever is a enum.EnumType"),
    ],
)
def test_traced_with_the_reason(function: Callable[[Any], Any], reason: str) -> None:
    fast = sd.grad(function)
    for _ in range(4):
        fast(X)
    assert fast.cache_info().replayed == 0
    assert reason in fast.explain(X)


# ------------------------------------------------------------------------------------------------ changed between calls


def _same_after(function: Callable[[Any], Any], change: Callable[[], None], changed: bool = True) -> None:
    """A function that was replayed gives what tracing gives after a change, which shows."""
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for _ in range(5):
        before = bits(fast(X))
    assert fast.cache_info().replayed
    change()
    with sd.config(replay="never"):
        expected = bits(traced(X))
    assert (expected != before) == changed
    for _ in range(4):
        assert bits(fast(X)) == expected


@pytest.mark.parametrize(
    ("function", "owner", "name", "value"),
    [
        (lambda x: helpers.loss(x), helpers, "inner", lambda x: x),
        (lambda x: helpers.loss(x), helpers, "SCALE", 3.5),
        (lambda x: helpers.loss(x), helpers, "loss", lambda x: np.sum(x)),
        (lambda x: np.sum(x) * helpers.SCALE, helpers, "SCALE", 3.5),
        (lambda x: np.sum(special.expit(x)), special, "expit", special.erf),
        (lambda x: np.sum(scipy.special.expit(x)), scipy, "special", types.SimpleNamespace(expit=special.erf)),
        (lambda x: sd.scipy.special.logsumexp(x), sd.scipy.special, "logsumexp", lambda x: np.sum(x)),
        (lambda x: np.sum(stats.norm.logpdf(x)), stats, "norm", stats.logistic),
        (lambda x: np.sum(stats.norm.logpdf(x)), stats.norm, "logpdf", lambda x: x),
        (lambda x: np.partition(x, 2)[2], np, "partition", lambda x, k: x * k),
        (lambda x: np.sum(x) * Mode.MEAN.value, Mode.MEAN, "_value_", 5.0),
    ],
)
def test_a_part_is_replaced(
    function: Callable[[Any], Any], owner: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _same_after(function, lambda: monkeypatch.setattr(owner, name, value))


def test_an_array_of_a_module_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "TABLE", helpers.TABLE.copy())

    def change() -> None:
        helpers.TABLE[0] = 7.0

    _same_after(lambda x: helpers.loss(x), change)


@pytest.mark.parametrize(
    ("function", "owner", "name"),
    [
        (lambda x: sd.scipy.special.logsumexp(x), sd.scipy.special, "logsumexp"),
        (lambda x: sd.nn.functional.relu(x).sum(), sd.nn.functional, "relu"),
        (lambda x: np.sum(np.fft.fft(x)).real, np.fft, "fft"),
        (lambda x: np.ptp(x), np, "ptp"),
    ],
)
def test_what_was_replaced_before_is_looked_at(
    function: Callable[[Any], Any], owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x * x.sum()

    monkeypatch.setattr(owner, name, counted)
    fast = sd.grad(lambda x: np.mean(function(x)))
    for _ in range(6):
        fast(X)
    assert len(calls) == 6
    assert fast.cache_info().replayed == 0


def test_a_name_that_hides_a_module() -> None:
    def either(x: Any, plain: Any = True) -> Any:
        def inner(np: Any) -> Any:
            def deep() -> Any:
                return np.sum()

            return deep()

        return inner(x) * (x if plain else np).max()

    assert replays(either) >= 4
    assert replays(lambda x: (x if x[0] > 0 else np).sum()) >= 4


def test_values_that_are_not_finite_are_found_when_they_come() -> None:
    fast = sd.grad(lambda x: np.sum(sd.scipy.linalg.solve(positive(x), x)))
    for _ in range(5):
        fast(X)
    assert fast.cache_info().replayed
    with pytest.raises(ValueError, match="infs or NaNs"):
        fast(np.array([1.0, np.inf, 1.0, 1.0]))


def test_an_argument_may_be_a_member_of_an_enumeration() -> None:
    def f(x: Any, mode: Mode = Mode.SUM) -> Any:
        return np.sum(x * x) if mode is Mode.SUM else np.mean(x * x)

    assert replays(f) >= 4
    fast = sd.grad(f)
    for k in range(12):
        mode = (Mode.SUM, Mode.MEAN)[k % 2]
        np.testing.assert_array_equal(fast(X, mode), sd.grad(f)(X, mode))
    assert fast.cache_info().replayed >= 4
