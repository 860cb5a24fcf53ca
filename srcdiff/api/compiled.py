"""`compile`: the function as it is, with its backward generated at once rather than when it repeats."""

from __future__ import annotations

from typing import Any

from srcdiff.api.gradient import Transformed
from srcdiff.api.tree import flatten
from srcdiff.autograd.cache import STATS
from srcdiff.tape.lower import edge_node
from srcdiff.tape.node import Edge
from srcdiff.tape.site import Site
from srcdiff.tape.value import TensorBase


class Compiled(Transformed):
    """What `sd.compile` returns. The forward runs on every call, so whatever the function does, it does."""

    def __init__(self, function: Any, argnums: Any = None, argnames: Any = None, has_aux: bool = False) -> None:
        super().__init__(function, argnums, argnames, has_aux)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        STATS.traced += 1
        self._counts.traced += 1
        result = self._function(*args, **kwargs)
        for leaf in flatten(result)[0]:
            if isinstance(leaf, TensorBase) and leaf._edge is not None:
                site = edge_node(leaf._edge).site
                if type(site) is Site:
                    site.compile_now = True
                    site.counts = self._counts
        return result

    def _root(self, args: Any, kwargs: dict[str, Any]) -> tuple[list[Edge] | None, Any]:
        return None, self._depending(self(*args, **kwargs))
