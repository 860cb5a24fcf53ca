"""What all distributions share: how arguments are read, when SciPy answers, and how a distribution is frozen.

With plain arguments SciPy answers; a method or a parameter that has no derivative here is refused by name where a value
under differentiation comes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import stats

from srcdiff.core.primitive import Operand
from srcdiff.errors import UnsupportedError
from srcdiff.functions.dispatch import like
from srcdiff.functions.reductions import as_array
from srcdiff.ops.structural import broadcast_to, cast, stop_gradient
from srcdiff.scipy.support import any_traced, constant, needs_gradient, unsupported


def wide(x: Any) -> Any:
    """`x` as SciPy computes with it: a float64 (or wider), an array or a Tensor of that."""
    if type(x) in (int, float):
        return np.float64(x)
    x = as_array(x)
    return x if x.dtype.kind == "f" and x.dtype.itemsize >= 8 else cast(x, dtype=np.dtype(float))


def still(x: Any) -> Any:
    """`x` as a constant."""
    return stop_gradient(x) if hasattr(x, "dtype") else x


def is_number(x: Any, value: float) -> bool:
    """Whether x is that number and no array, so that arithmetic with it can be left out."""
    return isinstance(x, float) and x == value


def either(*conditions: Any) -> Any:
    """The conditions joined by `or`; False if all are."""
    joined: Any = False
    for condition in conditions:
        if condition is True:
            return True
        if condition is not False:
            joined = condition if joined is False else joined | condition
    return joined


def spread(x: Any, *others: Any) -> Any:
    """`x`, broadcast to the shape that it and the others have together."""
    shape = np.broadcast_shapes(*(tuple(v.shape) for v in (x, *others)))
    return x if tuple(x.shape) == shape else broadcast_to(x, shape=shape)


class Distribution:
    """A distribution of SciPy's, by name, with methods that take values under differentiation.

    `parameters` are the names of the shape parameters and what follows them.
    """

    #: what each method takes before the parameters
    first: ClassVar[dict[str, str]] = {}
    #: methods that do nothing but compute: they draw no random numbers
    replayed_methods = frozenset(
        "pdf logpdf pmf logpmf cdf logcdf sf logsf ppf isf mean var std entropy median support interval stats nnlf "
        "freeze __call__".split()
    )

    def __init__(self, name: str, parameters: str) -> None:
        self.name = name
        self.parameters = tuple(parameters.split())
        self.original = getattr(stats, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """The distribution with these parameters."""
        if kwargs.keys() & {"seed"}:
            raise unsupported(f"scipy.stats.{self.name}: the keyword seed")
        return Frozen(self, args, kwargs)

    freeze = __call__

    def __repr__(self) -> str:
        return f"<srcdiff.scipy.stats.{self.name}>"

    def __getattr__(self, attribute: str) -> Any:
        """SciPy's, for what has no derivative here."""
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        found = getattr(self.original, attribute)
        if not callable(found):
            return found

        def method(*args: Any, **kwargs: Any) -> Any:
            if needs_gradient(args, kwargs):
                raise self.refused(attribute)
            return found(*map(constant, args), **{key: constant(value) for key, value in kwargs.items()})

        return method

    def refused(self, method: str, why: str = "") -> UnsupportedError:
        """The error that names the method."""
        return unsupported(f"scipy.stats.{self.name}.{method}{why and f' ({why})'}")

    def arguments(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, as float64; location and scale where they are not given are 0.0 and 1.0."""
        first = self.first.get(method)
        names = (*((first,) if first else ()), *self.parameters)
        if len(args) > len(names):
            raise TypeError(f"{self.name}.{method}() takes at most {len(names)} arguments ({len(args)} given)")
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key in given or key not in names:
                problem = "multiple values for" if key in given else "an unexpected keyword"
                raise TypeError(f"{self.name}.{method}() got {problem} argument {key!r}")
            given[key] = value
        defaults = {"loc": 0.0, "scale": 1.0}
        missing = [name for name in names if name not in given and name not in defaults]
        if missing:
            raise TypeError(f"{self.name}.{method}() missing arguments: {', '.join(missing)}")
        return {name: wide(given.get(name, defaults.get(name))) for name in names}


class Frozen:
    """A distribution with its parameters; its methods take the rest of the arguments."""

    def __init__(self, dist: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.dist, self.args, self.kwds = dist, args, kwargs

    def __repr__(self) -> str:
        return f"<frozen {self.dist!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not hasattr(type(self.dist), name):
            if needs_gradient(self.args, self.kwds):
                raise self.dist.refused(name)
            return getattr(self._plain(), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if not any_traced((*self.args, *args), {**self.kwds, **kwargs}):
                return getattr(self._plain(), name)(*args, **kwargs)
            if name in _OPTIONS:
                kwargs.update(zip(_OPTIONS[name], args, strict=False))
                args = ()
            return getattr(self.dist, name)(*args, *self.args, **self.kwds, **kwargs)

        return call

    def _plain(self) -> Any:
        """SciPy's frozen distribution."""
        return self.dist.original(*map(constant, self.args), **{k: constant(v) for k, v in self.kwds.items()})


#: what methods of a frozen distribution take as well, by position
_OPTIONS = {"rvs": ("size", "random_state"), "stats": ("moments",)}


def method(name: str, compute: Callable[..., Any]) -> Any:
    """A method that SciPy answers for plain arguments, and `compute(self, **arguments by name)` for others."""

    def call(self: Distribution, *args: Any, **kwargs: Any) -> Any:
        if not any_traced(args, kwargs):
            return getattr(self.original, name)(*args, **kwargs)
        out = compute(self, **self.arguments(name, args, kwargs))
        return out if isinstance(out, (Operand, tuple)) else like(out, *args, *kwargs.values())

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"SciPy's `{name}`."
    return call
