"""Operations of programs whose loops have been found: the loop, and lists of values for it to go through."""

from __future__ import annotations

from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.errors import ShapeError
from srcdiff.ops.families import nondiff

_REASON = "loops are found after differentiation"


def _listed(*xs: Aval) -> Aval:
    if any(x is not xs[0] for x in xs):
        raise ShapeError(f"pack: {', '.join(map(str, xs))} are not of one type")
    return aval((len(xs), *xs[0].shape), xs[0].dtype)


def _picked(x: Aval, *, k: int) -> Aval:
    return aval(x.shape[1:], x.dtype)


def _results(*xs: Aval, spec: Any) -> Any:
    return spec.avals


blocks = nondiff("blocks", "*xs", "spec(xs)", _results, "spec", _REASON, multi=True)
loop = nondiff("loop", "*xs", "spec(xs)", _results, "spec", _REASON, multi=True)
pack = nondiff("pack", "*xs", "(*xs,)", _listed, "", _REASON)
pick = nondiff("pick", "x", "x[k]", _picked, "k", _REASON, view=True)
stacked = nondiff("stacked", "x", "np.stack(x)", lambda x: x, "", _REASON)
