"""The decorators: `grad`, `value_and_grad`, `jacobian`, `jacrev`, `jacfwd`, `hessian`, `compile`, and `detach`.

Each works on functions, methods, lambdas, partials, and on the results of the others, with and without options:
`@sd.grad` and `@sd.grad(argnums=(0, 1))`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcdiff.api.compiled import Compiled
from srcdiff.api.gradient import Grad, ValueAndGrad
from srcdiff.api.holomorphic import HolomorphicGrad, HolomorphicValueAndGrad
from srcdiff.api.jacobian import Jacobian, JacobianByColumns, JacobianByRows, hessian_of
from srcdiff.api.tree import map_leaves
from srcdiff.tape.value import TensorBase


def _decorator(make: Callable[..., Any], function: Any, argnums: Any, argnames: Any, has_aux: bool) -> Any:
    if function is None:
        return lambda later: make(later, argnums, argnames, has_aux)
    return make(function, argnums, argnames, has_aux)


def grad(
    function: Any = None, *, argnums: Any = 0, argnames: Any = None, has_aux: bool = False, holomorphic: bool = False
) -> Any:
    """The gradient of a function that returns a real scalar.

    `argnums` (an int or a tuple) says which positional arguments to differentiate, `argnames` (a name or several) which
    by name: one gets one gradient, a tuple of positions a tuple, several names a dict. Each gradient has the structure,
    shapes and dtypes of its argument. With `has_aux` the function returns `(value, aux)` and the gradient comes with
    aux. Raises TypeError for integer arguments and for results that are not real scalars.

    With `holomorphic` the function takes complex arguments, returns a complex scalar and must have a complex derivative
    df/dz, which is the result; TypeError if it has none.

    >>> import numpy as np, srcdiff as sd
    >>> sd.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    return _decorator(HolomorphicGrad if holomorphic else Grad, function, argnums, argnames, has_aux)


grad.replayable_inside = True  # type: ignore[attr-defined]


def value_and_grad(
    function: Any = None, *, argnums: Any = 0, argnames: Any = None, has_aux: bool = False, holomorphic: bool = False
) -> Any:
    """Like `grad`, returning `(value, gradient)`; with `has_aux`, `((value, aux), gradient)`."""
    make = HolomorphicValueAndGrad if holomorphic else ValueAndGrad
    return _decorator(make, function, argnums, argnames, has_aux)


value_and_grad.replayable_inside = True  # type: ignore[attr-defined]


def jacobian(function: Any = None, *, argnums: Any = 0, argnames: Any = None, has_aux: bool = False) -> Any:
    """The Jacobian of a function: for each array of its result and each differentiated array an array of shape
    `result.shape + argument.shape`.

    By columns in forward mode where the arguments have fewer elements than the result, else by rows in reverse mode.
    """
    return _decorator(Jacobian, function, argnums, argnames, has_aux)


def jacrev(function: Any = None, *, argnums: Any = 0, argnames: Any = None, has_aux: bool = False) -> Any:
    """`jacobian` by rows: one backward pass for each element of the result."""
    return _decorator(JacobianByRows, function, argnums, argnames, has_aux)


def jacfwd(function: Any = None, *, argnums: Any = 0, argnames: Any = None, has_aux: bool = False) -> Any:
    """`jacobian` by columns: one derivative along a tangent for each element of the arguments."""
    return _decorator(JacobianByColumns, function, argnums, argnames, has_aux)


def hessian(function: Any = None, *, argnums: Any = 0, argnames: Any = None, has_aux: bool = False) -> Any:
    """The Hessian of a function that returns a scalar: the Jacobian of its gradient."""
    return _decorator(hessian_of, function, argnums, argnames, has_aux)


def compile(function: Any = None, **options: Any) -> Any:
    """The same function, its backward pass compiled at the first call instead of the second."""
    if function is None:
        return lambda later: Compiled(later, **options)
    return Compiled(function, **options)


def detach(x: Any) -> Any:
    """The value cut off from the graph: no gradient flows through it. Takes arrays, numbers, Tensors and containers."""
    return map_leaves(_detach, x)


def _detach(x: Any) -> Any:
    if isinstance(x, TensorBase):
        return x.detach()
    return x
