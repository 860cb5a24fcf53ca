"""Running a function for a derivative: `Run` gives its Tensor arguments a place at the start of a graph of their own.

Inside another transform, or where an argument requires grad, an argument is an identity of the caller's value, so
derivatives of derivatives find their way; seen from outside, the graph of a call starts at its arguments. Eager
rules hold inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.api.trace import name_leaf
from srcdiff.api.tree import Rebuild, flatten
from srcdiff.autograd.engine import gradients, trace_gradients
from srcdiff.autograd.modes import Mode
from srcdiff.errors import ArgumentError, AutogradError
from srcdiff.ops.structural import identity
from srcdiff.tape import record
from srcdiff.tape.lower import collect_inner
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, InputNode, next_seq
from srcdiff.tape.storage import share
from srcdiff.tensor import Tensor


class Run:
    """One call, finished. `outs` are the Tensors of its result, `rebuild` puts as many values in their structure."""

    def __init__(
        self,
        what: str,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        argnums: Sequence[int],
        has_aux: bool = False,
        forward: bool = False,
    ) -> None:
        self.what = what
        self.start = next_seq()
        #: whether the caller records: the results may then be part of the caller's graph
        self._recorded = modes.grad
        self.leaves: list[Any] = []
        self.edges: list[Edge] = []
        self._rebuilds: list[tuple[int, Rebuild]] = []
        given = list(args)
        for number in argnums:
            leaves, rebuild = flatten(args[number])
            entered = [
                self._enter(leaf, (name_leaf, _argument_name, number, args[number], j)) for j, leaf in enumerate(leaves)
            ]
            self._rebuilds.append((len(leaves), rebuild))
            given[number] = rebuild(entered)
        with _forwards() if forward else Mode(grad=True):
            result = func(*given, **kwargs)
        self.aux: Any = None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise AutogradError(
                    f"{what}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            result, self.aux = result
        self.outs, self.rebuild = flatten(result)
        self.result = result
        edges = [out._edge for out in self.outs if isinstance(out, Tensor) and out._edge is not None]
        self.is_open = self._recorded and bool(edges) and collect_inner(edges, self.start)[1]

    def _enter(self, leaf: Any, label: tuple[Any, ...]) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic, float)):
            leaf = record.plain(np.asarray(leaf) if type(leaf) is not float else np.float64(leaf))
        if not isinstance(leaf, Tensor):
            raise ArgumentError(f"{self.what}: Thing passed to transform API must be Tensor, got {type(leaf)}")
        if leaf._value.dtype.kind not in "fc":
            raise AutogradError(
                f"{self.what}: only Tensors of floating point dtype can require gradients, got {leaf._value.dtype}"
            )
        self.leaves.append(leaf)
        if leaf._edge is not None and self._recorded:
            entered = identity(leaf)
        else:
            entered = record.plain(leaf._value)
            entered._edge = InputNode(label)
        if isinstance(leaf._value, np.ndarray):
            share(entered, leaf)
        self.edges.append(entered._edge)
        return entered

    def check_tensors(self, got: str) -> None:
        """Raise unless the result consists of Tensors."""
        for out in self.outs:
            if not isinstance(out, Tensor):
                raise AutogradError(f"{self.what}(f)(*args): {got}, got {type(out)}")

    def structured(self, values: Sequence[Any]) -> list[Any]:
        """Values given per leaf, in the structure of each argument."""
        made, k = [], 0
        for count, rebuild in self._rebuilds:
            made.append(rebuild(list(values[k : k + count])))
            k += count
        return made

    def outside(self, value: Any) -> Any:
        """A value made inside, as the caller gets it: without its place in this graph, unless it depends on an outer
        one.
        """
        if not isinstance(value, Tensor) or value._edge is None:
            return value
        if self._recorded and collect_inner([value._edge], self.start)[1]:
            return value
        return value.detach()

    def value(self) -> Any:
        """The result as the caller gets it."""
        return self.rebuild([self.outside(out) for out in self.outs])

    def auxiliary(self) -> Any:
        """Aux as the caller gets it."""
        leaves, rebuild = flatten(self.aux)
        return rebuild([self.outside(leaf) for leaf in leaves])

    def pull(self, outs: Sequence[Any], cts: Sequence[Any], retain: bool) -> list[Any]:
        """The cotangents of all leaves as Tensors, zeros where nothing arrives. Cotangents are arrays or Tensors."""
        live = [(out._edge, ct) for out, ct in zip(outs, cts, strict=True) if out._edge is not None and ct is not None]
        found: list[Any] = [None] * len(self.edges)
        if live:
            edges, seeds = [edge for edge, _ in live], [ct for _, ct in live]
            if modes.grad and any(isinstance(ct, Tensor) and ct._edge is not None for ct in seeds):
                tensors = [ct if isinstance(ct, Tensor) else record.plain(ct) for ct in seeds]
                found = gradients(edges, tensors, self.edges, retain=True, create_graph=True)
            elif self._recorded:
                values = [ct._value if isinstance(ct, Tensor) else ct for ct in seeds]
                found, _ = trace_gradients(edges, values, self.edges, self.start, retain)
            else:
                values = [ct._value if isinstance(ct, Tensor) else ct for ct in seeds]
                found = gradients(edges, values, self.edges, retain=retain)
        return [_cotangent(leaf, g) for leaf, g in zip(self.leaves, found, strict=True)]


def _forwards() -> Mode:
    """As in PyTorch, forward derivatives go through what is computed in `no_grad` mode, and through values that are
    overwritten later.
    """
    return Mode(grad=True, forward=True, mutation_allowed=True)


def _argument_name(number: int) -> str:
    return f"arg{number}"


def _cotangent(leaf: Any, g: Any) -> Any:
    if g is None:
        return record.plain(np.zeros(leaf._value.shape, leaf._value.dtype))
    return g if isinstance(g, Tensor) else record.plain(g)


def chosen(argnums: Any, args: Sequence[Any]) -> list[int]:
    """The positions `argnums` asks for. Raises AutogradError for those that were not given."""
    wanted = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    positions = []
    for number in wanted:
        if not isinstance(number, int):
            raise AutogradError(f"argnum must be int or Tuple[int, ...], got: {type(number)}")
        if not -len(args) <= number < len(args):
            raise AutogradError(f"Got argnum={number}, but only {len(args)} positional inputs")
        positions.append(number % len(args))
    if len(set(positions)) != len(positions):
        raise AutogradError(f"argnums elements must be unique, got {argnums}")
    if not positions:
        raise AutogradError("argnums must be non-empty")
    return positions


def by_argument(argnums: Any, per_argument: list[Any]) -> Any:
    """Results as asked for: a tuple for a tuple of positions."""
    return tuple(per_argument) if isinstance(argnums, (tuple, list)) else per_argument[0]
