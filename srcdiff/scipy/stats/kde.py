"""`scipy.stats.gaussian_kde`, differentiable in the data, their weights, the bandwidth and the points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from srcdiff.ops import decompositions as parts
from srcdiff.ops.linalg import solve_triangular
from srcdiff.ops.reductions import logsumexp
from srcdiff.ops.special import ndtr
from srcdiff.ops.structural import reshape, transpose
from srcdiff.ops.transcendental import exp, log
from srcdiff.scipy.stats.distribution import wide
from srcdiff.scipy.support import any_traced, constant, needs_gradient, unsupported

__all__ = ["gaussian_kde"]


class gaussian_kde:  # noqa: N801  SciPy's name
    """A density estimated by a normal distribution about each of the data: `dataset` has a column for each."""

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        self.arguments = (dataset, bw_method, weights)
        self.traced = any_traced(self.arguments, {})
        data = wide(dataset)
        self.dataset = data if data.ndim > 1 else reshape(data, shape=(1, math.prod(data.shape)))
        self.d, self.n = self.dataset.shape
        if self.n < 2:
            raise ValueError("`dataset` input should have multiple elements.")
        given = np.ones(self.n) if weights is None else wide(weights)
        self.weights = given / np.sum(given)
        self.neff = 1.0 / np.sum(self.weights * self.weights)
        self.set_bandwidth(bw_method)

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """A rule ("scott", "silverman"), a factor, or a function of the estimate that gives the factor."""
        self.arguments = (self.arguments[0], bw_method, self.arguments[2])
        self.traced = any_traced(self.arguments, {})
        if bw_method is None or bw_method == "scott":
            self.factor = self.scotts_factor()
        elif bw_method == "silverman":
            self.factor = self.silverman_factor()
        elif callable(bw_method):
            self.factor = bw_method(self)
        elif isinstance(bw_method, str):
            raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar or a callable.")
        else:
            self.factor = wide(bw_method)
        centred = self.dataset - np.sum(self.weights * self.dataset, axis=1, keepdims=True)
        spread = (centred * self.weights) @ transpose(centred, axes=(1, 0))
        self.covariance = spread / (1.0 - 1.0 / self.neff) * self.factor**2
        self._lower = parts.cholesky(self.covariance)

    def scotts_factor(self) -> Any:
        """neff ** (-1 / (d + 4))."""
        return self.neff ** (-1.0 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """(neff * (d + 2) / 4) ** (-1 / (d + 4))."""
        return (self.neff * (self.d + 2.0) / 4.0) ** (-1.0 / (self.d + 4))

    covariance_factor = scotts_factor

    def evaluate(self, points: Any) -> Any:
        """The density at each of the points, a column each."""
        return self._plain().evaluate(points) if self._is_plain(points) else exp(self._log_density(points))

    __call__ = pdf = evaluate

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density."""
        return self._plain().logpdf(x) if self._is_plain(x) else self._log_density(x)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability between two numbers, in one dimension."""
        if self._is_plain(low, high):
            return self._plain().integrate_box_1d(low, high)
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        deviation, data = self._lower[0, 0], self.dataset[0]
        return np.sum(self.weights * (ndtr((high - data) / deviation) - ndtr((low - data) / deviation)))

    def _log_density(self, points: Any) -> Any:
        points = wide(points)
        if points.ndim < 2:
            points = reshape(points, shape=(1, math.prod(points.shape)))
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ValueError(f"points have dimension {points.shape[0]}, dataset has dimension {self.d}")
            points = reshape(points, shape=(self.d, 1))
        data, white = (solve_triangular(self._lower, v, lower=True, unit=False) for v in (self.dataset, points))
        apart = reshape(data, shape=(self.d, self.n, 1)) - reshape(white, shape=(self.d, 1, points.shape[1]))
        log_det = np.sum(log(self._lower[np.arange(self.d), np.arange(self.d)]))
        weights = reshape(log(self.weights), shape=(self.n, 1))
        heights = weights - 0.5 * np.sum(apart * apart, axis=0)
        return logsumexp(heights, axis=0, keepdims=False) - log_det - 0.5 * self.d * math.log(2.0 * math.pi)

    def _is_plain(self, *points: Any) -> bool:
        return not self.traced and not any_traced(points, {})

    def _plain(self) -> Any:
        """SciPy's estimate."""
        return stats.gaussian_kde(*map(constant, self.arguments))

    def __getattr__(self, name: str) -> Any:
        """SciPy's, for what has no derivative here."""
        if name.startswith("_") or name in ("arguments", "dataset"):
            raise AttributeError(name)
        if needs_gradient(self.arguments):
            raise unsupported(f"scipy.stats.gaussian_kde.{name}")
        return getattr(self._plain(), name)
