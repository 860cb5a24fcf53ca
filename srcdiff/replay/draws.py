"""NumPy's random generators, which know ndarrays only, with arrays made while tracing and with differentiated ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import NotDifferentiableError
from srcdiff.functions.assembly import differentiated
from srcdiff.origin import where
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase

#: methods that draw from their first argument, which is as if they drew positions in it
_FROM_ARRAY = frozenset({"permutation", "choice"})


def exporting(method: Any) -> Callable[..., Any]:
    """A method of a generator: arrays made while tracing are given as such, differentiated ones are shuffled and drawn
    from by positions, and differentiated parameters of distributions are refused."""
    name = method.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        first, rest = args[:1], (*args[1:], *kwargs.values())
        if differentiated(first) and not differentiated(rest) and first[0]._value.ndim:
            if name == "shuffle" and len(args) == 1 and not kwargs:
                order = np.arange(len(args[0]))
                method(order)
                args[0][...] = args[0][order]
                return None
            if name in _FROM_ARRAY and "axis" not in kwargs and len(args) < 5:
                return args[0][method(len(args[0]), *args[1:], **kwargs)]
        given = (*args, *kwargs.values())
        if differentiated(given):
            raise NotDifferentiableError(
                f"{name} of a random generator has no derivative with respect to its parameters, at "
                f"{where(*user_place(2))}; draw numbers that do not depend on them and transform those, as in "
                "loc + scale * rng.standard_normal(size), or use sd.detach(x) if no derivative is wanted"
            )
        if not any(isinstance(x, TensorBase) and x._traced for x in given):
            return method(*args, **kwargs)
        result = method(*map(_exported, args), **{key: _exported(x) for key, x in kwargs.items()})
        out = kwargs.get("out")
        return result if out is None else out

    call.__name__ = call.__qualname__ = name
    return call


def _exported(x: Any) -> Any:
    """The memory of an array made while tracing."""
    return np.asarray(x) if isinstance(x, TensorBase) and isinstance(x._value, np.ndarray) else x
