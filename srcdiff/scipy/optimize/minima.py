"""Minima, differentiated in `args` and in what the function takes from outside.

A minimum does not depend on where the search for it began. Elements at a bound stay there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from srcdiff.api.transforms import jacobian
from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.scipy.callbacks import Watched, as_tuple
from srcdiff.scipy.implicit import flat, stationary
from srcdiff.scipy.optimize.roots import both, first_of, given
from srcdiff.scipy.support import constant, mirrors, needs_gradient, number, unsupported

__all__ = ["curve_fit", "least_squares", "minimize", "minimize_scalar", "nnls"]


def _free(x: Any, low: Any, high: Any) -> Any:
    """Which elements are not at a bound."""
    at_bound = np.zeros(np.shape(x), bool)
    for bound in (low, high):
        finite = np.where(np.isfinite(bound), bound, 0.0)
        at_bound |= np.isfinite(bound) & (np.abs(x - finite) <= 1e-8 * (1.0 + np.abs(finite)))
    return ~at_bound


def _limits(bounds: Any, n: int) -> tuple[Any, Any]:
    if bounds is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    if isinstance(bounds, optimize.Bounds):
        return np.broadcast_to(bounds.lb, (n,)), np.broadcast_to(bounds.ub, (n,))
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    return np.array([a for a, _ in pairs], float), np.array([b for _, b in pairs], float)


def minimize(
    fun: Any, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), **options: Any,
) -> Any:  # fmt: skip
    """As `scipy.optimize.minimize`, the fields `x` and `fun` differentiated in `args` and in what `fun` takes from
    outside. An approximate inverse of the Hessian is left out then.

    Raises UnsupportedError with constraints.
    """
    args, bounds = as_tuple(args), number(bounds, "bounds")
    watched = Watched(fun, args, first_of(jac))
    result = optimize.minimize(
        both(watched, jac), plain(x0), (), method, given(jac, args), given(hess, args), given(hessp, args), bounds,
        constraints, **options,
    )  # fmt: skip
    if not watched.found:
        return result
    if constraints:
        raise unsupported("scipy.optimize.minimize: constraints=")
    if bounds is not None and str(method).lower() in ("trust-constr", "cobyqa", "cobyla"):
        raise unsupported(f"scipy.optimize.minimize: bounds= with method={method!r}, which stops short of them,")
    result.x = stationary(watched.value, result.x, _free(result.x, *_limits(bounds, result.x.size)))
    return _completed(result, watched)


def _completed(result: Any, watched: Watched) -> Any:
    result.fun = np.reshape(watched.value(result.x), ())
    for field in ("hess_inv", "jac", "hess", "grad"):
        result.pop(field, None)
    return result


def minimize_scalar(
    fun: Any, bracket: Any = None, bounds: Any = None, args: Any = (), method: Any = None, **options: Any
) -> Any:
    """As `scipy.optimize.minimize_scalar`, the fields `x` and `fun` differentiated like those of `minimize`."""
    watched = Watched(fun, as_tuple(args))
    bounds = number(bounds, "bounds")
    result = optimize.minimize_scalar(watched, constant(bracket), bounds, (), method, **options)
    if not watched.found:
        return result
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    # a bounded search stops a little before the bound
    at_end = bounds is not None and min(abs(result.x - low), abs(result.x - high)) < 1e-5 * (high - low)
    found = np.reshape(result.x, (1,))
    result.x = stationary(lambda v: watched.value(v[0]), found, np.array([not at_end]))[0]
    return _completed(result, watched)


def least_squares(
    fun: Any, x0: Any, jac: Any = "2-point", bounds: Any = (-np.inf, np.inf), method: str = "trf", *,
    loss: Any = "linear", args: Any = (), kwargs: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """As `scipy.optimize.least_squares`, the fields `x`, `fun` and `cost` differentiated in `args`, `kwargs` and in
    what `fun` takes from outside.

    Raises UnsupportedError with another loss than "linear".
    """
    args, more, bounds = as_tuple(args), {} if kwargs is None else kwargs, number(bounds, "bounds")
    watched = Watched(lambda x: np.atleast_1d(arrayed(fun(x, *args, **more))))
    rest = Watched(lambda x: jac(x, *args, **more)) if callable(jac) else jac
    result = optimize.least_squares(watched, plain(x0), rest, bounds, method, loss=loss, **options)
    if not watched.found:
        return result
    if loss != "linear":
        raise unsupported(f"scipy.optimize.least_squares: loss={loss!r}")
    if isinstance(bounds, optimize.Bounds):
        low, high = bounds.lb, bounds.ub
    else:
        low, high = (np.broadcast_to(np.asarray(b, float), result.x.shape) for b in bounds)
    half = lambda x: 0.5 * np.sum(watched.value(x) ** 2)
    result.x = stationary(half, result.x, _free(result.x, low, high))
    result.fun = watched.value(result.x)
    result.cost = 0.5 * np.sum(result.fun**2)
    for field in ("jac", "grad"):
        result.pop(field, None)
    return result


def curve_fit(
    f: Any, xdata: Any, ydata: Any, p0: Any = None, sigma: Any = None, absolute_sigma: bool = False,
    check_finite: Any = None, bounds: Any = (-np.inf, np.inf), method: Any = None, jac: Any = None, *,
    full_output: bool = False, nan_policy: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """As `scipy.optimize.curve_fit`, parameters and covariance differentiated in the data, in `sigma` and in what `f`
    takes from outside.

    Raises UnsupportedError with bounds, and with a matrix as `sigma`.
    """
    bounds = number(bounds, "bounds")
    watched = Watched(f)
    result = optimize.curve_fit(
        watched, constant(xdata), constant(ydata), constant(p0), constant(sigma), absolute_sigma, check_finite, bounds,
        method, jac, full_output=full_output, nan_policy=nan_policy, **options,
    )  # fmt: skip
    if not watched.found and not needs_gradient(xdata, ydata, sigma):
        return result
    if np.any(np.isfinite(np.concatenate([np.ravel(b) for b in bounds]))) or np.ndim(constant(sigma)) > 1:
        raise unsupported("scipy.optimize.curve_fit: bounds=, or a matrix as sigma")
    errors: Any = lambda p: flat(_residual(f, xdata, ydata, sigma, p, result[0].size))
    popt = stationary(lambda p: 0.5 * np.sum(errors(p) ** 2), result[0])
    slope = jacobian(errors)(popt)
    pcov = np.linalg.inv(np.matmul(slope.T, slope))
    count = np.size(constant(ydata))
    if not absolute_sigma and count > result[0].size:
        pcov = pcov * (np.sum(errors(popt) ** 2) / (count - result[0].size))
    return (popt, pcov, *result[2:])


def _residual(f: Any, xdata: Any, ydata: Any, sigma: Any, p: Any, n: int) -> Any:
    made = f(arrayed(xdata), *(p[k] for k in range(n))) - arrayed(ydata)
    return made if sigma is None else made / arrayed(sigma)


@mirrors(optimize.nnls)
def nnls(A: Any, b: Any) -> Any:
    a, b = arrayed(A), arrayed(b)
    value, _ = optimize.nnls(plain(a), plain(b))
    active = value > 0
    chosen = np.eye(value.size)[:, active]
    x = np.matmul(chosen, np.matmul(np.linalg.pinv(a[:, active]), b)) if np.any(active) else np.matmul(a.T, b) * 0.0
    return x, np.linalg.norm(np.matmul(a, x) - b)
