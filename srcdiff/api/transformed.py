"""A function made of another: what `grad`, `jvp`, `jacobian` and `compile` have in common."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from srcdiff.api.inspect import ALWAYS_TRACED, CacheInfo, executable_of, explanation, info_of, text_of
from srcdiff.api.player import Player, Players
from srcdiff.api.trace import Trace, trace
from srcdiff.api.tree import flatten
from srcdiff.autograd.cache import Counts, count_traced, forget
from srcdiff.core.program import Program
from srcdiff.tape.node import Edge
from srcdiff.tape.value import TensorBase


class Transformed:
    """A function made of another: keeps its name, docstring and signature, binds as a method, pickles and copies like
    it.
    """

    #: a step that calls it can be watched: what it gives of arrays are arrays then, too
    replayed_in_steps = False

    def __init__(
        self, function: Callable[..., Any], argnums: Any = 0, argnames: Any = None, has_aux: bool = False
    ) -> None:
        if not callable(function):
            raise TypeError(f"expected a function, got {type(function).__name__}")
        self._function = function
        self._argnums = argnums
        self._argnames = argnames
        self._has_aux = has_aux
        self._counts = Counts()
        self._player = Player(self._counts)
        self._players = Players()
        wrapper: Any = self
        functools.update_wrapper(wrapper, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = type(self)(self._function.__get__(instance, owner), self._argnums, self._argnames, self._has_aux)
        bound._player = self._players.of(instance, bound._player)
        bound._counts = bound._player.counts = self._counts
        return bound

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self, "__qualname__", None)
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for part in (name or "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return (type(self), (self._function, self._argnums, self._argnames, self._has_aux))

    def __deepcopy__(self, memo: Any) -> Any:
        # a function is its own copy, a method belongs to the copy of what it is bound to
        return type(self)(copy.deepcopy(self._function, memo), self._argnums, self._argnames, self._has_aux)

    @property
    def replayed_function(self) -> Any:
        """The function, to be examined where a replayable function calls this."""
        return self._function

    def __repr__(self) -> str:
        return f"<srcdiff.{type(self).__name__} of {self._function!r}>"

    # --------------------------------------------------------------------------------------------------- looking inside

    def _root(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Edge] | None, Any]:
        """Where gradients are wanted (None: at all leaves), and the Tensor whose backward is asked about, of a traced
        run.
        """
        run = self._trace(args, kwargs)
        return run.edges, self._depending(run.result[0] if self._has_aux else run.result)

    def _depending(self, result: Any) -> Any:
        """The first Tensor of the result that has a backward."""
        for leaf in flatten(result)[0]:
            if isinstance(leaf, TensorBase) and leaf._edge is not None:
                return leaf
        raise TypeError(
            "the result of the function does not depend on the differentiated arguments: there is no backward"
        )

    def source(self, *args: Any, forward: bool = False, **kwargs: Any) -> str:
        """The generated backward for arguments of these shapes and dtypes, as text; `forward` adds the forward
        program.
        """
        wanted, root = self._root(args, kwargs)
        return text_of(executable_of(root, wanted), forward)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The backward program (the IR) for these arguments; it prints."""
        wanted, root = self._root(args, kwargs)
        return executable_of(root, wanted).program

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """How a call with these arguments runs: traced or replayed and why, what was found in the cache, what is
        saved.
        """
        wanted, root = self._root(args, kwargs)
        return explanation(self._function, root, wanted, self._counts, self._forward(args, kwargs))

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """How the forward of a call runs."""
        return ALWAYS_TRACED

    def cache_info(self) -> CacheInfo:
        """Counts of this function: entries, hits, misses with reasons, calls traced and replayed, the bound."""
        return info_of(self._counts)

    def cache_clear(self) -> None:
        """Forget the compiled passes this function has used, and the counts."""
        for executable in list(self._counts.executables):
            forget(executable)
        self._counts.clear()
        self._player.clear()

    # ------------------------------------------------------------------------------------------------------- running

    def _chosen(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[int | str]:
        """Positions (or keywords) of the differentiated arguments of this call."""
        argnums = self._argnums
        if self._argnames is None and type(argnums) is int and 0 <= argnums < len(args):
            return [argnums]
        wanted: list[int | str] = []
        if argnums is not None and not (self._argnames is not None and argnums == 0):
            wanted += list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
        if self._argnames is not None:
            wanted += [self._argnames] if isinstance(self._argnames, str) else list(self._argnames)
        return [self._locate(key, args, kwargs) for key in wanted]

    def _locate(self, key: int | str, args: Sequence[Any], kwargs: dict[str, Any]) -> int | str:
        if isinstance(key, int):
            if -len(args) <= key < len(args):
                return key % len(args)
            names = self._parameters()
            if 0 <= key < len(names) and names[key] in kwargs:
                return names[key]
            raise TypeError(
                f"argnums={key} asks for an argument that was not given: got {len(args)} positional arguments"
            )
        if key in kwargs:
            return key
        names = self._parameters()
        if key in names and names.index(key) < len(args):
            return names.index(key)
        raise TypeError(f"argnames={key!r} asks for an argument that was not given")

    def _parameters(self) -> list[str]:
        try:
            return list(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):
            return []

    def _name(self, key: int | str) -> str:
        if isinstance(key, str):
            return key
        names = self._parameters()
        return names[key] if key < len(names) else f"arg{key}"

    def _trace(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Trace:
        count_traced(self._counts)
        return trace(self._function, list(args), dict(kwargs), self._chosen(args, kwargs), self._name)

    def _structured(self, per_argument: list[Any]) -> Any:
        """Gradients as the user asked for them: one, a tuple by position, a dict by name."""
        by_name = self._argnames is not None
        by_position = self._argnums is not None and not (by_name and self._argnums == 0)
        positions = per_argument
        named: Any = None
        if by_name:
            single = isinstance(self._argnames, str)
            count = 1 if single else len(self._argnames)
            cut = len(per_argument) - count
            positions, names = per_argument[:cut], per_argument[cut:]
            named = names[0] if single else dict(zip(self._argnames, names, strict=True))
        if not by_position:
            return named
        placed = tuple(positions) if isinstance(self._argnums, (tuple, list)) else positions[0]
        return (placed, named) if by_name else placed
