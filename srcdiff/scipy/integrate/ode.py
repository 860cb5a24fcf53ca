"""Solutions of ordinary differential equations. The values are SciPy's; their derivatives those of explicit steps of
order 8 (Dormand and Prince) through the same times, of lengths chosen for a relative error of 1e-8 and recorded like
any other code: in the initial values, in `args`, in the times, and in what the right-hand side takes from outside.
Where the equation is stiff, the steps are those of `stiff`.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count, pairwise
from typing import Any

import numpy as np
from scipy import integrate

from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.scipy.callbacks import Watched, as_tuple, with_derivative
from srcdiff.scipy.integrate.stiff import implicit_step
from srcdiff.scipy.support import constant, needs_gradient, unsupported

__all__ = ["odeint", "solve_ivp"]

#: more evaluations than some 2,000 steps need mean that the equation is stiff: implicit methods then take large steps
#: where this one cannot. Who asks for an implicit method expects that
_MOST_CALLS = 30_000
_MOST_CALLS_OF = {"Radau": 3_000, "BDF": 3_000}
_TABLEAU = integrate.DOP853


class _StiffError(Exception):
    """Too many evaluations for an explicit method."""


def _solution(right: Watched, y0: Any, times: list[Any], rtol: Any, atol: Any, most: int = _MOST_CALLS) -> list[Any]:
    """The solution of y' = right(t, y) at the times, the first of which is where it is y0; by implicit steps if
    explicit ones need more than so many evaluations.
    """
    at = np.array([float(plain(t)) for t in times])
    rtol, atol = min(float(np.min(rtol)), 1e-8), np.minimum(atol, 1e-10)
    calls = count()

    def counted(t: Any, y: Any) -> Any:
        if next(calls) > most:
            raise _StiffError
        return right(t, y)

    span, first = (at[0], at[-1]), plain(y0)
    step: Any = _step
    rough = None
    with np.errstate(over="ignore", invalid="ignore"), suppress(_StiffError):
        rough = integrate.solve_ivp(counted, span, first, "DOP853", rtol=rtol, atol=atol)
    if rough is None or not rough.success:
        if np.iscomplexobj(first):
            raise unsupported("a stiff differential equation of complex numbers")
        rough = integrate.solve_ivp(right, span, first, "Radau", rtol=rtol, atol=atol, dense_output=True)
        step = implicit_step(rough.sol)
    if not rough.success:
        raise unsupported(f"a differential equation on which steps fail ({rough.message})")
    made, y = [y0], y0
    for k in range(len(times) - 1):
        start, stop = at[k], at[k + 1]
        inside = rough.t[(rough.t - start) * (rough.t - stop) < 0]
        shares = [0.0, *((inside - start) / (stop - start) if stop != start else ()), 1.0]
        whole = times[k + 1] - times[k]
        for here, there in pairwise(shares):
            y = step(right, times[k] + whole * float(here), y, whole * float(there - here))
        made.append(y)
    return made


def _step(right: Watched, t: Any, y: Any, h: Any) -> Any:
    """One step of Dormand and Prince's method of order 8."""
    slopes: list[Any] = []
    for row, c in zip(_TABLEAU.A[: _TABLEAU.n_stages], _TABLEAU.C[: _TABLEAU.n_stages], strict=True):
        at = y if not slopes else y + h * _combined(row[: len(slopes)], slopes)
        slopes.append(right.value(t + h * float(c), at))
    return y + h * _combined(_TABLEAU.B, slopes)


def _combined(weights: Any, slopes: list[Any]) -> Any:
    terms = [slope * float(w) for w, slope in zip(weights, slopes, strict=True) if w]
    return sum(terms[1:], terms[0])


def odeint(
    func: Any, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: Any = 0, full_output: Any = 0,
    ml: Any = None, mu: Any = None, rtol: Any = None, atol: Any = None, tcrit: Any = None, h0: Any = 0.0,
    hmax: Any = 0.0, hmin: Any = 0.0, ixpr: Any = 0, mxstep: Any = 0, mxhnil: Any = 0, mxordn: Any = 12,
    mxords: Any = 5, printmessg: Any = 0, tfirst: bool = False,
) -> Any:  # fmt: skip
    """As `scipy.integrate.odeint`, differentiated in `y0`, `t`, `args` and what `func` takes from outside."""
    ordered: Any = lambda f: f if tfirst else lambda t, y, *rest: f(y, t, *rest)
    right = ordered(func)
    watched = Watched(lambda t, y, *rest: _vector(right(t, y, *rest)), as_tuple(args))
    made = integrate.odeint(
        watched, plain(_vector(y0)), constant(t), (), None if Dfun is None else Watched(ordered(Dfun), as_tuple(args)),
        col_deriv, full_output, ml, mu, rtol, atol, tcrit, h0, hmax, hmin, ixpr, mxstep, mxhnil, mxordn, mxords,
        printmessg, True,
    )  # fmt: skip
    if not watched.found and not needs_gradient(y0, t):
        return made
    start, times = _vector(y0), arrayed(t)
    start = start if start.dtype.kind == "f" else start * 1.0
    default = 1.49012e-8
    each = [times[k] for k in range(times.shape[0])] if needs_gradient(times) else list(map(float, plain(times)))
    rows = _solution(watched, start, each, default if rtol is None else rtol, default if atol is None else atol)
    values = made[0] if full_output else made
    replayed = with_derivative(values, np.stack(rows))
    return (replayed, made[1]) if full_output else replayed


def _vector(y: Any) -> Any:
    y = arrayed(y)
    return np.reshape(y, (1,)) if not y.ndim else y


def solve_ivp(
    fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None, dense_output: bool = False,
    events: Any = None, vectorized: bool = False, args: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """As `scipy.integrate.solve_ivp`, differentiated in `y0`, `t_span`, `t_eval`, `args` and what `fun` takes from
    outside. Times that SciPy chooses keep their share of the interval.

    Raises UnsupportedError for events and continuous output of what is differentiated, and for stiff equations of
    complex numbers.
    """
    watched = Watched(lambda t, y, *rest: _vector(fun(t, y, *rest)), () if args is None else as_tuple(args))
    if callable(options.get("jac")):
        jac = Watched(options["jac"], () if args is None else as_tuple(args))
        options = {**options, "jac": lambda t, y: jac(t, y)}
    seen = {} if events is None else {"events": events, "args": None if args is None else constant(as_tuple(args))}
    right = watched if not seen else (lambda t, y, *rest: watched(t, y))
    made = integrate.solve_ivp(
        right, constant(tuple(t_span)), plain(_vector(y0)), method, None if t_eval is None else constant(t_eval),
        dense_output, vectorized=vectorized, **seen, **options,
    )  # fmt: skip
    if not watched.found and not needs_gradient(y0, t_span, t_eval):
        return made
    if events is not None or dense_output or vectorized:
        raise unsupported("scipy.integrate.solve_ivp: events=, dense_output= or vectorized=")
    if not made.t.size:
        return made
    first, last = t_span
    start = _vector(y0)
    start = start if start.dtype.kind in "fc" else start * 1.0
    if t_eval is None:
        whole, low = last - first, float(plain(first))
        width = float(plain(last)) - low
        times = [first + whole * ((float(t) - low) / width) for t in made.t] if needs_gradient(t_span) else made.t
    else:
        times = arrayed(t_eval)
        times = [times[k] for k in range(made.t.size)] if needs_gradient(t_eval) else made.t
    lead = [first] if needs_gradient(first) or float(made.t[0]) != float(plain(first)) else []
    most = _MOST_CALLS_OF.get(method, _MOST_CALLS) if isinstance(method, str) else _MOST_CALLS
    rows = _solution(
        watched, start, [*lead, *times], options.get("rtol", 1e-3), options.get("atol", 1e-6), most
    )[len(lead) :]  # fmt: skip
    made.y = with_derivative(made.y, np.stack(rows, axis=1))
    if needs_gradient(times):
        made.t = np.stack([arrayed(t) for t in times])
    return made
