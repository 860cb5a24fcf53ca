"""Roots and fixed points, differentiated in `args` and in what the function takes from outside.

A root does not depend on where the search for it began: the derivative in `x0` or a bracket is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from srcdiff.functions.dispatch import plain
from srcdiff.scipy.callbacks import Watched, as_tuple
from srcdiff.scipy.implicit import flat, implicit
from srcdiff.scipy.support import constant

__all__ = [
    "bisect", "brenth", "brentq", "fixed_point", "fsolve", "newton", "ridder", "root", "root_scalar", "toms748",
]  # fmt: skip


def given(function: Any, args: tuple[Any, ...]) -> Any:
    """A further function as SciPy may call it; what is no function as it is."""
    return Watched(function, args) if callable(function) else function


def first_of(flag: Any) -> Any:
    """Takes the value out of what a function returns that also returns its derivative."""
    return (lambda made: made[0]) if flag is True else None


def both(watched: Watched, flag: Any) -> Any:
    """What SciPy calls, if the function also returns its derivative."""
    if flag is not True:
        return watched

    def call(x: Any) -> Any:
        watched(x)
        return constant(tuple(watched.function(x, *watched.args)))

    return call


def moved(watched: Watched, found: Any) -> Any:
    """The root in the shape in which SciPy found it."""
    shape = np.shape(found)
    made = implicit(lambda v: flat(watched.value(np.reshape(v, shape))), np.reshape(found, (-1,)))
    return np.reshape(made, shape)


def fsolve(func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = 0, **options: Any) -> Any:
    """As `scipy.optimize.fsolve`, differentiated in `args` and in what `func` takes from outside."""
    args = as_tuple(args)
    watched = Watched(func, args)
    result = optimize.fsolve(watched, plain(x0), (), given(fprime, args), full_output, **options)
    if not watched.found:
        return result
    if full_output:
        return (moved(watched, result[0]), *result[1:])
    return moved(watched, result)


def root(fun: Any, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, **options: Any) -> Any:
    """As `scipy.optimize.root`, the fields `x` and `fun` differentiated in `args` and in what `fun` takes from
    outside.
    """
    args = as_tuple(args)
    watched = Watched(fun, args, first_of(jac))
    result = optimize.root(both(watched, jac), plain(x0), (), method, given(jac, args), **options)
    if watched.found:
        result.x = moved(watched, result.x)
        result.fun = watched.value(result.x)
    return result


def root_scalar(
    f: Any, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None, fprime2: Any = None,
    x0: Any = None, x1: Any = None, **options: Any,
) -> Any:  # fmt: skip
    """As `scipy.optimize.root_scalar`, the field `root` differentiated in `args` and in what `f` takes from outside."""
    args = as_tuple(args)
    watched = Watched(f, args, first_of(fprime))
    result = optimize.root_scalar(
        both(watched, fprime), (), method, constant(bracket), given(fprime, args), given(fprime2, args), plain(x0),
        plain(x1), **options,
    )  # fmt: skip
    if watched.found:
        result.root = moved(watched, result.root)
    return result


def _bracketing(name: str) -> Any:
    original = getattr(optimize, name)

    def find(f: Any, a: Any, b: Any, args: Any = (), *rest: Any, full_output: bool = False, **options: Any) -> Any:
        watched = Watched(f, as_tuple(args))
        result = original(watched, plain(a), plain(b), (), *rest, full_output=full_output, **options)
        if not watched.found:
            return result
        if not full_output:
            return moved(watched, result)
        result[1].root = moved(watched, result[0])
        return result[1].root, result[1]

    find.__name__ = find.__qualname__ = name
    find.__doc__ = f"As `scipy.optimize.{name}`, differentiated in `args` and in what `f` takes from outside."
    return find


bisect, brenth, brentq, ridder, toms748 = map(_bracketing, "bisect brenth brentq ridder toms748".split())


def newton(
    func: Any, x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-8, maxiter: int = 50,
    fprime2: Any = None, x1: Any = None, rtol: float = 0.0, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    """As `scipy.optimize.newton`, differentiated in `args` and in what `func` takes from outside."""
    args = as_tuple(args)
    watched = Watched(func, args)
    result = optimize.newton(
        watched, plain(x0), given(fprime, args), (), tol, maxiter, given(fprime2, args), plain(x1), rtol, full_output,
        disp,
    )  # fmt: skip
    if not watched.found:
        return result
    if not full_output:
        return moved(watched, result)
    return (moved(watched, result[0]), *result[1:])


def fixed_point(func: Any, x0: Any, args: Any = (), **options: Any) -> Any:
    """As `scipy.optimize.fixed_point`, differentiated in `args` and in what `func` takes from outside."""
    watched = Watched(func, as_tuple(args))
    result = optimize.fixed_point(watched, plain(x0), (), **options)
    if not watched.found:
        return result
    away = Watched(lambda x: watched.value(x) - x)
    return moved(away, result)
