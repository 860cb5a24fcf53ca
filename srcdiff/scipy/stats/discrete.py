"""Discrete distributions: differentiable in their parameters, but not in k, nor in parameters that are whole numbers.

Each is stated as in `continuous`, with a probability mass for a density. Quantiles are whole numbers, constant between
the jumps: they have no gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.functions.dispatch import like
from srcdiff.ops import elementwise as e
from srcdiff.ops.transcendental import exp, log, sqrt
from srcdiff.scipy.stats.composing import Function, after, all_positive, rest
from srcdiff.scipy.stats.distribution import Distribution, either, method, spread, still, wide
from srcdiff.scipy.support import any_traced, constant, number

inf = np.inf


def _mass(name: str, outside: float) -> Any:
    """The mass at k, and `outside` where k is no value of the distribution."""

    def compute(self: Any, k: Any, loc: Any, **shapes: Any) -> Any:
        k, low, high = self.place(name, k, loc, shapes)
        return self.at(name, k, shapes, (k >= low) & (k <= high) & (k == np.floor(k)), outside)

    return method(name, compute)


def _cumulative(name: str, below: float, above: float) -> Any:
    """The function of all values up to k."""

    def compute(self: Any, k: Any, loc: Any, **shapes: Any) -> Any:
        k, low, high = self.place(name, k, loc, shapes)
        k = np.floor(k)
        return self.at(name, k, shapes, (k >= low) & (k < high), np.where(k < low, below, above))

    return method(name, compute)


def _quantile(name: str) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not any_traced(args, kwargs):
            return getattr(self.original, name)(*args, **kwargs)
        given = self.arguments(name, args, kwargs)
        plain = {key: np.asarray(constant(value)) for key, value in given.items()}
        return like(getattr(self.original, name)(plain.pop("q"), **plain), *given.values())

    call.__name__ = call.__qualname__ = name
    return call


def _number(name: str) -> Any:
    def compute(self: Any, loc: Any, **shapes: Any) -> Any:
        parameters = tuple(shapes.values())
        out = self.function(name)(*parameters)
        out = spread(wide(out + loc if name == "mean" else out), loc, *parameters)
        possible = self.valid(*map(still, parameters))
        return out if possible is True else e.where(possible, out, np.nan)

    return compute


_mean, _var, _entropy = _number("mean"), _number("var"), _number("entropy")


def _support(self: Any, *args: Any, **kwargs: Any) -> Any:
    if not any_traced(args, kwargs):
        return self.original.support(*args, **kwargs)
    given = self.arguments("support", args, kwargs)
    bounds = self.original.support(**{key: np.asarray(constant(value)) for key, value in given.items()})
    return tuple(like(bound, *given.values()) for bound in bounds)


def _stats(self: Any, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
    """Mean and variance; the letters s and k, skew and kurtosis, are refused."""
    if not any_traced(args, kwargs):
        return self.original.stats(*args, moments=moments, **kwargs)
    if set(moments) - set("mv"):
        raise self.refused("stats", f"moments={moments!r}")
    found = tuple((self.mean if letter == "m" else self.var)(*args, **kwargs) for letter in "mv" if letter in moments)
    return found if len(found) > 1 else found[0]


class Discrete(Distribution):
    """A discrete distribution of SciPy's. `whole` are the parameters that are whole numbers, hence constants."""

    first = dict.fromkeys(("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"), "k") | {"ppf": "q", "isf": "q"}

    def __init__(
        self,
        name: str,
        shapes: str,
        *,
        logpmf: Function,
        cdf: Function | None = None,
        sf: Function | None = None,
        logsf: Function | None = None,
        mean: Function | None = None,
        var: Function | None = None,
        entropy: Function | None = None,
        support: tuple[float, float] | Function = (0.0, inf),
        valid: Function = all_positive,
        whole: str = "",
    ) -> None:
        super().__init__(name, f"{shapes} loc")
        above = sf or after(exp, logsf) or after(rest, cdf)
        below = cdf or after(rest, above)
        self.functions: dict[str, Function | None] = {
            "logpmf": logpmf, "pmf": after(exp, logpmf), "cdf": below, "sf": above, "logcdf": after(log, below),
            "logsf": logsf or after(log, above), "mean": mean, "var": var, "entropy": entropy,
        }  # fmt: skip
        self.bounds: Function = support if callable(support) else lambda *shapes: support
        self.valid = valid
        self.whole = (*whole.split(), "loc")

    def function(self, name: str) -> Function:
        """The function of k (if any) and the shapes; refused by name if there is none."""
        found = self.functions[name]
        if found is None:
            raise self.refused(name)
        return found

    def arguments(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """By name; what is a whole number as a constant, refused if it should have a gradient."""
        given = super().arguments(method, args, kwargs)
        for key in ("k", *self.whole):
            if key in given:
                given[key] = np.asarray(number(given[key], f"{key} of scipy.stats.{self.name}.{method}"))
        return given

    def place(self, name: str, k: Any, loc: Any, shapes: dict[str, Any]) -> tuple[Any, Any, Any]:
        """k without the location, and the bounds."""
        low, high = self.bounds(*shapes.values())
        return k - loc, low, high

    def at(self, name: str, k: Any, shapes: dict[str, Any], inside: Any, outside: Any) -> Any:
        """The function at k where it is `inside`, else a number; NaN where k is or where there is no distribution."""
        parameters = tuple(shapes.values())
        low, _ = self.bounds(*parameters)
        out = self.function(name)(np.where(inside, k, 0.0 if np.ndim(low) == 0 and low == -inf else low), *parameters)
        unknown = either(np.isnan(k), e.logical_not(self.valid(*map(still, parameters))))
        return e.where(unknown, np.nan, e.where(inside, out, outside))

    pmf = _mass("pmf", 0.0)
    logpmf = _mass("logpmf", -inf)
    cdf = _cumulative("cdf", 0.0, 1.0)
    logcdf = _cumulative("logcdf", -inf, 0.0)
    sf = _cumulative("sf", 1.0, 0.0)
    logsf = _cumulative("logsf", 0.0, -inf)
    ppf = _quantile("ppf")
    isf = _quantile("isf")
    mean = method("mean", _mean)
    var = method("var", _var)
    std = method("std", lambda self, **named: sqrt(_var(self, **named)))
    entropy = method("entropy", _entropy)
    support = _support
    stats = _stats
