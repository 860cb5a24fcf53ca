"""Continuous distributions. Each is stated by functions of the standardised variable and the shape parameters.

    gamma = Continuous("gamma", "a", logpdf=..., cdf=..., sf=..., ppf=..., support=(0.0, inf))

The density is all that is needed; a method whose function is not given comes from the others, or is refused by name.
Location and scale, edges, values outside of the support and parameters that a distribution does not have are treated
here, as SciPy treats them: a density is 0 outside, NaN for impossible parameters. No gradient comes from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ops import elementwise as e
from srcdiff.ops.transcendental import exp, log, sqrt
from srcdiff.scipy.stats.composing import Function, after, all_positive, before, given, log_of, minus, rest
from srcdiff.scipy.stats.distribution import Distribution, is_number, method, spread, still, wide
from srcdiff.scipy.support import any_traced, constant, every, needs_gradient

inf = np.inf


def standard(x: Any, loc: Any, scale: Any) -> Any:
    """(x - loc) / scale."""
    y = x if is_number(loc, 0.0) else x - loc
    return y if is_number(scale, 1.0) else y / scale


def inner_point(low: Any, high: Any) -> Any:
    """A point between the bounds, where every distribution is regular: the middle, or 1 from the finite one."""
    if type(low) is float and type(high) is float:
        if np.isfinite(low):
            return 0.5 * (low + high) if np.isfinite(high) else low + 1.0
        return high - 1.0 if np.isfinite(high) else 0.0
    left, right = np.isfinite(low), np.isfinite(high)
    low, high = np.where(left, low, 0.0), np.where(right, high, 0.0)
    both = left & right
    return np.where(both, 0.5 * (low + high), np.where(left, low + 1.0, np.where(right, high - 1.0, 0.0)))


# ------------------------------------------------------------------------------------ densities, distribution functions


def _pdf(self: Any, x: Any, loc: Any, scale: Any, **shapes: Any) -> Any:
    pdf = self.function("pdf")
    density = pdf if is_number(scale, 1.0) else lambda y, *s: pdf(y, *s) / scale
    return self.density("pdf", density, 0.0, x, loc, scale, tuple(shapes.values()))


def _logpdf(self: Any, x: Any, loc: Any, scale: Any, **shapes: Any) -> Any:
    logpdf = self.function("logpdf")
    density = logpdf if is_number(scale, 1.0) else lambda y, *s: logpdf(y, *s) - log(scale)
    return self.density("logpdf", density, -inf, x, loc, scale, tuple(shapes.values()))


def _cumulative(name: str, below: float, above: float) -> Any:
    def compute(self: Any, x: Any, loc: Any, scale: Any, **shapes: Any) -> Any:
        return self.cumulative(self.function(name), below, above, x, loc, scale, tuple(shapes.values()))

    return method(name, compute)


def _quantile(name: str, upper: bool) -> Any:
    def compute(self: Any, q: Any, loc: Any, scale: Any, **named: Any) -> Any:
        shapes = tuple(named.values())
        f = self.function(name)
        if isinstance(q, float) and 0.0 < q < 1.0:
            z = f(q, *shapes)
        else:
            inside = (still(q) > 0) & (still(q) < 1)
            at_0, at_1 = self.bounds(*shapes)[:: -1 if upper else 1]
            edge = e.where(still(q) == 0, at_0, e.where(still(q) == 1, at_1, np.nan))
            z = e.where(inside, f(e.where(inside, q, 0.5), *shapes), edge)
        impossible = self.impossible(shapes, scale)
        z = scaled(z, scale)
        z = z if is_number(loc, 0.0) else z + loc
        return z if impossible is False else e.where(impossible, np.nan, z)

    return method(name, compute)


def scaled(z: Any, scale: Any) -> Any:
    """z * scale."""
    return z if is_number(scale, 1.0) else z * scale


# ------------------------------------------------------------------------------------------------ moments, entropy


def _of_shapes(self: Any, name: str, shapes: tuple[Any, ...]) -> Any:
    """A number of the standardised distribution; SciPy's if there are no shape parameters."""
    return (
        self.function(name)(*shapes) if shapes or self.functions[name] else np.float64(getattr(self.original, name)())
    )


def _number(name: str, adapt: Function) -> Any:
    def compute(self: Any, loc: Any, scale: Any, **named: Any) -> Any:
        shapes = tuple(named.values())
        out = spread(adapt(_of_shapes(self, name, shapes), loc, scale), loc, scale, *shapes)
        impossible = self.impossible(shapes, scale)
        return out if impossible is False else e.where(impossible, np.nan, out)

    return compute


_mean = _number("mean", lambda m, loc, scale: scaled(m, scale) + loc)
_var = _number("var", lambda v, loc, scale: scaled(v, scale * scale))
_entropy = _number("entropy", lambda h, loc, scale: h if is_number(scale, 1.0) else h + log(scale))


def _support(self: Any, loc: Any, scale: Any, **named: Any) -> Any:
    shapes = tuple(named.values())
    impossible = self.impossible(shapes, scale)
    bounds = (spread(scaled(wide(b), scale) + loc, loc, scale, *shapes) for b in self.bounds(*shapes))
    return tuple(b if impossible is False else e.where(impossible, np.nan, b) for b in bounds)


def _interval(self: Any, confidence: Any, *args: Any, **kwargs: Any) -> Any:
    """The median's neighbourhood that has the probability `confidence`."""
    if not any_traced((confidence, *args), kwargs):
        return self.original.interval(confidence, *args, **kwargs)
    tail = 0.5 * (1.0 - wide(confidence))
    return self.ppf(tail, *args, **kwargs), self.ppf(1.0 - tail, *args, **kwargs)


def _stats(self: Any, *args: Any, moments: str = "mv", **kwargs: Any) -> Any:
    """Mean and variance; the letters s and k, skew and kurtosis, are refused."""
    if not any_traced(args, kwargs):
        return self.original.stats(*args, moments=moments, **kwargs)
    if set(moments) - set("mv"):
        raise self.refused("stats", f"moments={moments!r}")
    found = tuple((self.mean if letter == "m" else self.var)(*args, **kwargs) for letter in "mv" if letter in moments)
    return found if len(found) > 1 else found[0]


def _rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Draws of the standard distribution, scaled and moved: differentiable in location and scale."""
    if not any_traced(args, kwargs):
        return self.original.rvs(*args, **kwargs)
    options = {key: kwargs.pop(key) for key in ("size", "random_state") if key in kwargs}
    named = self.arguments("rvs", args, kwargs)
    loc, scale = named.pop("loc"), named.pop("scale")
    if needs_gradient(*named.values()):
        raise self.refused("rvs", "in a shape parameter")
    shapes = map(constant, named.values())
    draws = self.original.rvs(*shapes, loc=np.zeros(np.shape(loc)), scale=np.ones(np.shape(scale)), **options)
    return scaled(draws, scale) + loc


def _nnlf(self: Any, theta: Any, x: Any) -> Any:
    """The negative logarithm of the likelihood of the data x, theta being all parameters, location and scale last."""
    if not any_traced((theta, x), {}):
        return self.original.nnlf(theta, x)
    return -np.sum(self.logpdf(x, *theta))


class Continuous(Distribution):
    """A continuous distribution of SciPy's.

    `support` are the bounds of the standardised variable, or a function of the shape parameters that gives them, and
    `valid` says which shape parameters there are. `symmetric` about 0: what is right of it follows from what is left.
    """

    first = dict.fromkeys(("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"), "x") | {"ppf": "q", "isf": "q"}

    def __init__(
        self,
        name: str,
        shapes: str = "",
        *,
        logpdf: Function,
        pdf: Function | None = None,
        cdf: Function | None = None,
        sf: Function | None = None,
        logcdf: Function | None = None,
        logsf: Function | None = None,
        ppf: Function | None = None,
        isf: Function | None = None,
        mean: Function | None = None,
        var: Function | None = None,
        entropy: Function | None = None,
        support: tuple[float, float] | Function = (-inf, inf),
        valid: Function = all_positive,
        symmetric: bool = False,
    ) -> None:
        super().__init__(name, f"{shapes} loc scale")
        if symmetric:
            sf, logsf, isf = sf or before(minus, cdf), logsf or before(minus, logcdf), isf or after(minus, ppf)
        below = cdf or after(exp, logcdf) or after(rest, sf) or after(rest, after(exp, logsf))
        above = sf or after(exp, logsf) or after(rest, below)
        self.functions: dict[str, Function | None] = {
            "logpdf": logpdf, "pdf": pdf or after(exp, logpdf), "cdf": below, "sf": above,
            "logcdf": logcdf or log_of(below, above if given(sf, logsf) else None, given(cdf)),
            "logsf": logsf or log_of(above, below if given(cdf, logcdf) else None, given(sf)),
            "ppf": ppf or before(rest, isf), "isf": isf or before(rest, ppf),
            "mean": mean, "var": var, "entropy": entropy,
        }  # fmt: skip
        self.bounds: Function = support if callable(support) else lambda *shapes: support
        self.everywhere = support == (-inf, inf)
        self.valid = valid

    def function(self, name: str) -> Function:
        """The function of the standardised variable and the shapes; refused by name if there is none."""
        found = self.functions[name]
        if found is None:
            raise self.refused(name)
        return found

    def impossible(self, shapes: tuple[Any, ...], scale: Any) -> Any:
        """Where there is no such distribution: a mask, or False."""
        valid = self.valid(*map(still, shapes)) if shapes else True
        valid = valid & (still(scale) > 0)
        return False if valid is True else e.logical_not(valid)

    def density(self, name: str, f: Function, nothing: float, x: Any, loc: Any, scale: Any, shapes: Any) -> Any:
        """f(y, *shapes) of the standardised x, and `nothing` outside of the support.

        So at a bound where the density is 0, infinite or unknown: there SciPy's value is a constant.
        """
        if self.everywhere:
            impossible = self.impossible(shapes, scale)
            out = f(standard(x, loc, scale), *shapes)
            return out if impossible is False else e.where(impossible, np.nan, out)
        low, high = self.bounds(*map(still, shapes))
        y = standard(still(x), still(loc), still(scale))
        outside: Any = (y < low) | (y > high) | e.isinf(y)
        fill: Any = nothing
        if not every(lambda y: ((y != low) & (y != high)) | e.isinf(y), y):
            edge = constant((y == low) | (y == high)) & np.isfinite(constant(y))
            known = [constant(y), *map(constant, shapes)]
            with np.errstate(all="ignore"):
                edge = edge & ~np.isfinite(self.original.logpdf(*known))
                outside, fill = outside | edge, np.where(edge, getattr(self.original, name)(*known), nothing)
        return self._inside(f, outside, fill, inner_point(low, high), x, loc, scale, shapes)

    def cumulative(self, f: Function, below: float, above: float, x: Any, loc: Any, scale: Any, shapes: Any) -> Any:
        """f(y, *shapes) of the standardised x, and these numbers below and above the support."""
        low, high = self.bounds(*map(still, shapes))
        y = standard(still(x), still(loc), still(scale))
        left = y <= low
        fill = e.where(left, below, above)
        return self._inside(f, left | (y >= high), fill, inner_point(low, high), x, loc, scale, shapes)

    def _inside(
        self, f: Function, outside: Any, fill: Any, inner: Any, x: Any, loc: Any, scale: Any, shapes: Any
    ) -> Any:  # fmt: skip
        """f(y, *shapes); `fill` where y is outside. These are moved inside first, so that f is regular there."""
        impossible = self.impossible(shapes, scale)
        x = e.where(outside, still(loc) + still(scale) * inner, x)
        out = f(standard(x, loc, scale), *shapes)
        if impossible is not False:
            outside, fill = outside | impossible, e.where(impossible, np.nan, fill)
        return e.where(outside, fill, out)

    pdf = method("pdf", _pdf)
    logpdf = method("logpdf", _logpdf)
    cdf = _cumulative("cdf", 0.0, 1.0)
    logcdf = _cumulative("logcdf", -inf, 0.0)
    sf = _cumulative("sf", 1.0, 0.0)
    logsf = _cumulative("logsf", 0.0, -inf)
    ppf = _quantile("ppf", upper=False)
    isf = _quantile("isf", upper=True)
    mean = method("mean", _mean)
    var = method("var", _var)
    std = method("std", lambda self, **named: sqrt(_var(self, **named)))
    entropy = method("entropy", _entropy)
    support = method("support", _support)
    median = method("median", lambda self, **named: self.ppf(0.5, **named))
    interval = _interval
    stats = _stats
    rvs = _rvs
    nnlf = _nnlf
