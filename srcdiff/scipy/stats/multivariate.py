"""Distributions of vectors, with SciPy's conventions for their parameters and for the shapes of results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from srcdiff.functions.dispatch import like
from srcdiff.ops import decompositions as parts
from srcdiff.ops import elementwise as e
from srcdiff.ops.linalg import solve_triangular
from srcdiff.ops.special import digamma, lgamma, xlogy
from srcdiff.ops.structural import reshape, transpose
from srcdiff.ops.transcendental import exp, log, log1p
from srcdiff.scipy.stats.distribution import Distribution, wide
from srcdiff.scipy.support import any_traced, constant, needs_gradient, number

__all__ = ["dirichlet", "dirichlet_multinomial", "multinomial", "multivariate_normal", "multivariate_t"]

LOG_TAU = math.log(2.0 * math.pi)


def _method(compute: Callable[..., Any]) -> Any:
    """A method with SciPy's signature that SciPy answers for plain arguments."""
    name = compute.__name__

    def call(self: Distribution, *args: Any, **kwargs: Any) -> Any:
        if not any_traced(args, kwargs):
            return getattr(self.original, name)(*args, **kwargs)
        out = compute(self, *args, **kwargs)
        return out if any_traced((out,), {}) else like(out, *args, *kwargs.values())

    call.__name__ = call.__qualname__ = name
    call.__doc__ = compute.__doc__ or f"SciPy's `{name}`."
    return call


def _squeezed(x: Any) -> Any:
    """Without axes of length 1, as SciPy gives its results."""
    return reshape(x, shape=tuple(n for n in x.shape if n != 1))


def _total(x: Any, axis: int = -1) -> Any:
    return np.sum(x, axis=axis)


# ---------------------------------------------------------------------------------------------- location and shape


class _Scatter:
    """A positive definite matrix: what deviations are divided by, and the logarithm of its determinant.

    Under differentiation it must be regular, and is factored by Cholesky. A constant one is SciPy's business, singular
    ones with it.
    """

    factor: Any = None
    known: Any = None

    def __init__(self, matrix: Any, allow_singular: Any) -> None:
        if needs_gradient(matrix):
            self.factor = parts.cholesky(matrix)
            self.rank = matrix.shape[-1]
            self.log_det = 2.0 * np.sum(log(self.factor[np.arange(self.rank), np.arange(self.rank)]))
        else:
            dim = matrix.shape[-1]
            given = matrix if isinstance(matrix, stats.Covariance) else constant(matrix)
            self.known = stats.multivariate_normal(np.zeros(dim), given, allow_singular=bool(allow_singular))
            self.rank, self.log_det = self.known.cov_object.rank, self.known.cov_object.log_pdet

    def square(self, deviation: Any) -> Any:
        """deviation @ inverse(matrix) @ deviation, over the last axis."""
        if self.factor is None:
            whitening = self.known.cov_object.whiten(np.eye(deviation.shape[-1]))
            white = deviation @ whitening
            return _total(white * white)
        rows = reshape(deviation, shape=(math.prod(deviation.shape[:-1]), deviation.shape[-1]))
        white = solve_triangular(self.factor, transpose(rows, axes=(1, 0)), lower=True, unit=False)
        return reshape(_total(white * white, axis=0), shape=tuple(deviation.shape[:-1]))

    def outside(self, deviation: Any) -> Any:
        """Where a singular distribution has no density, or False."""
        if self.known is None or self.rank == deviation.shape[-1]:
            return False
        return np.isneginf(self.known.logpdf(constant(deviation)))


def _location_and_scatter(location: Any, scatter: Any) -> tuple[Any, Any]:
    """As SciPy reads them: a vector, and a matrix that may be given by its diagonal or one number."""
    if isinstance(scatter, stats.Covariance):
        return np.zeros(scatter.shape[-1]) if location is None else wide(location), scatter
    scatter = wide(1.0 if scatter is None else scatter)
    if location is None:
        location = np.zeros(scatter.shape[0] if scatter.ndim > 1 else 1)
    location = wide(location)
    dim = math.prod(location.shape)
    if not location.ndim:
        location = reshape(location, shape=(1,))
    if dim == 1:
        scatter = reshape(scatter, shape=(1, 1))
    elif scatter.ndim < 2:
        scatter = np.eye(dim) * scatter
    if location.ndim != 1 or tuple(scatter.shape) != (dim, dim):
        raise ValueError(f"mean of shape {tuple(location.shape)} and matrix of shape {tuple(scatter.shape)} do not fit")
    return location, scatter


def _deviation(x: Any, location: Any) -> Any:
    x = wide(x)
    if not x.ndim:
        x = reshape(x, shape=(1, 1))
    elif x.ndim == 1:
        x = reshape(x, shape=(x.shape[0], 1) if location.shape[0] == 1 else (1, x.shape[0]))
    return x - location


class _Normal(Distribution):
    def __init__(self) -> None:
        super().__init__("multivariate_normal", "")

    @_method
    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: Any = False) -> Any:
        mean, cov = _location_and_scatter(mean, cov)
        scatter, deviation = _Scatter(cov, allow_singular), _deviation(x, mean)
        out = -0.5 * (scatter.rank * LOG_TAU + scatter.log_det + scatter.square(deviation))
        outside = scatter.outside(deviation)
        return _squeezed(out if outside is False else e.where(outside, -np.inf, out))

    @_method
    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: Any = False) -> Any:
        return exp(self.logpdf(x, mean, cov, allow_singular))

    @_method
    def entropy(self, mean: Any = None, cov: Any = 1, allow_singular: Any = True) -> Any:
        scatter = _Scatter(_location_and_scatter(mean, cov)[1], allow_singular)
        return 0.5 * (scatter.rank * (LOG_TAU + 1.0) + scatter.log_det)


class _Student(Distribution):
    def __init__(self) -> None:
        super().__init__("multivariate_t", "")

    @_method
    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: Any = False) -> Any:
        loc, shape = _location_and_scatter(loc, shape)
        scatter, deviation, df = _Scatter(shape, allow_singular), _deviation(x, loc), wide(df)
        if np.any(np.asarray(constant(df)) <= 0):
            raise ValueError("'df' must be greater than zero.")
        square = scatter.square(deviation)
        if np.isinf(constant(df)):
            return -0.5 * (scatter.rank * LOG_TAU + scatter.log_det + square)  # which SciPy doesn't squeeze
        half = 0.5 * (df + deviation.shape[-1])
        scale = lgamma(half) - lgamma(0.5 * df) - 0.5 * (scatter.rank * log(math.pi * df) + scatter.log_det)
        return _squeezed(scale - half * log1p(square / df))

    @_method
    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: Any = False) -> Any:
        return exp(self.logpdf(x, loc, shape, df, allow_singular))


# ---------------------------------------------------------------------------------------------------- shares of 1


def _log_beta(alpha: Any) -> Any:
    """The logarithm of the beta function of several variables, over the last axis."""
    return _total(lgamma(alpha)) - lgamma(_total(alpha))


class _Dirichlet(Distribution):
    def __init__(self) -> None:
        super().__init__("dirichlet", "")

    @_method
    def logpdf(self, x: Any, alpha: Any) -> Any:
        x, alpha = wide(x), wide(alpha)
        self.original.logpdf(constant(x), constant(alpha))  # raises what SciPy raises
        if x.shape[0] != alpha.shape[0]:
            x = np.concatenate((x, 1.0 - np.sum(x, axis=0, keepdims=True)), axis=0)
        terms = xlogy(alpha - 1.0, transpose(x, axes=tuple(range(x.ndim))[::-1]))
        return _squeezed(_total(terms) - _log_beta(alpha))

    @_method
    def pdf(self, x: Any, alpha: Any) -> Any:
        return exp(self.logpdf(x, alpha))

    @_method
    def mean(self, alpha: Any) -> Any:
        alpha = self._checked(alpha)
        return alpha / np.sum(alpha)

    @_method
    def var(self, alpha: Any) -> Any:
        alpha = self._checked(alpha)
        whole = np.sum(alpha)
        return alpha * (whole - alpha) / (whole * whole * (whole + 1.0))

    @_method
    def cov(self, alpha: Any) -> Any:
        alpha = self._checked(alpha)
        whole = np.sum(alpha)
        share = alpha / whole
        return (np.diag(share) - np.outer(share, share)) / (whole + 1.0)

    @_method
    def entropy(self, alpha: Any) -> Any:
        alpha = self._checked(alpha)
        whole = np.sum(alpha)
        return _log_beta(alpha) + (whole - alpha.shape[0]) * digamma(whole) - np.sum((alpha - 1.0) * digamma(alpha))

    def _checked(self, alpha: Any) -> Any:
        self.original.mean(constant(alpha))
        return wide(alpha)


# --------------------------------------------------------------------------------------------------- counts of classes


def _counts(x: Any, n: Any, name: str) -> tuple[Any, Any]:
    """Both as constants of float64."""
    x, n = number(x, f"x of scipy.stats.{name}"), number(n, f"n of scipy.stats.{name}")
    return np.asarray(x, float), np.asarray(n, float)


class _Multinomial(Distribution):
    def __init__(self) -> None:
        super().__init__("multinomial", "")

    @_method
    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """Every share is a variable of its own; together they must be 1."""
        (x, n), p = _counts(x, n, "multinomial.logpmf"), self._shares(p, "logpmf")
        inside = np.all((x >= 0) & (x == np.floor(x)), axis=-1) & (np.sum(x, axis=-1) == n)
        good = e.where(inside[..., None], x, 0.0)
        out = lgamma(n + 1.0) + _total(xlogy(good, p) - lgamma(good + 1.0))
        return e.where(self._possible(n, p), e.where(inside, out, -np.inf), np.nan)

    @_method
    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        return exp(self.logpmf(x, n, p))

    @_method
    def mean(self, n: Any, p: Any) -> Any:
        n, p = _counts(0, n, "multinomial.mean")[1], self._shares(p, "mean")
        return e.where(self._possible(n, p)[..., None], n[..., None] * p, np.nan)

    @_method
    def cov(self, n: Any, p: Any) -> Any:
        n, p = _counts(0, n, "multinomial.cov")[1], self._shares(p, "cov")
        size = p.shape[-1]
        outer = reshape(p, shape=(*p.shape, 1)) * reshape(p, shape=(*p.shape[:-1], 1, size))
        diagonal = np.eye(size) * reshape(p, shape=(*p.shape, 1))
        return e.where(self._possible(n, p)[..., None, None], n[..., None, None] * (diagonal - outer), np.nan)

    def _shares(self, p: Any, method: str) -> Any:
        p = wide(p)
        if np.any(np.abs(1.0 - np.sum(constant(p), axis=-1)) > 1e-6):
            raise ValueError(
                f"scipy.stats.multinomial.{method}: the probabilities p under differentiation must sum to 1"
            )
        return p

    def _possible(self, n: Any, p: Any) -> Any:
        p = constant(p)
        return (n >= 0) & np.all((p >= 0) & (p <= 1), axis=-1)


class _DirichletMultinomial(Distribution):
    def __init__(self) -> None:
        super().__init__("dirichlet_multinomial", "")

    @_method
    def logpmf(self, x: Any, alpha: Any, n: Any) -> Any:
        self.original.logpmf(constant(x), constant(alpha), constant(n))  # raises what SciPy raises
        (x, n), alpha = _counts(x, n, "dirichlet_multinomial.logpmf"), wide(alpha)
        whole = _total(alpha)
        classes = _total(lgamma(x + alpha) - lgamma(alpha) - lgamma(x + 1.0))
        return e.where(n == np.sum(x, axis=-1), lgamma(whole) + lgamma(n + 1.0) - lgamma(n + whole) + classes, -np.inf)

    @_method
    def pmf(self, x: Any, alpha: Any, n: Any) -> Any:
        return exp(self.logpmf(x, alpha, n))

    @_method
    def mean(self, alpha: Any, n: Any) -> Any:
        n, alpha = _counts(0, n, "dirichlet_multinomial.mean")[1], wide(alpha)
        return n[..., None] * alpha / np.sum(alpha, axis=-1, keepdims=True)


multivariate_normal = _Normal()
multivariate_t = _Student()
dirichlet = _Dirichlet()
multinomial = _Multinomial()
dirichlet_multinomial = _DirichletMultinomial()
