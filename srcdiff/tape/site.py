"""Sites: all that is the same each time an operation runs at one place in the user's code with operands of one type.

Guarantee: two operations share a Site only if primitive, parameters, operand types (aval, needs-grad, traced), static
literals and place in the code are equal; so a node's Site and inputs say everything about it but the saved values.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from opcode import opmap
from types import CodeType, FrameType
from typing import Any
from weakref import ref

import numpy as np

from srcdiff.aval import Aval, TensorType
from srcdiff.core.primitive import Primitive
from srcdiff.tape.modes import modes

_CACHE = opmap["CACHE"]

#: operand kinds in `Site.kinds`
TENSOR, ARRAY, STATIC, VARYING = "tensor", "array", "static", "varying"
OUT = -1


class Site:
    """What recorded nodes share. `kinds[k]` tells what operand k is, `values[k]` a static literal's value."""

    __slots__ = (
        "__weakref__", "all_need", "avals", "code", "compile_now", "counts", "executables", "keeps", "kinds", "label",
        "lasti", "needs", "node_class", "out_aval", "out_type", "params", "prim", "save_code", "save_list", "sightings",
        "skipped", "step", "steps", "tangents", "traced", "values",
    )  # fmt: skip

    def __init__(
        self,
        prim: Primitive,
        params: dict[str, Any],
        kinds: tuple[str, ...],
        avals: tuple[Aval, ...],
        needs: tuple[bool, ...],
        values: tuple[Any, ...],
        out_aval: Any,
        traced: bool,
        place: tuple[CodeType, int] | None,
    ) -> None:
        self.prim = prim
        self.params = params
        self.kinds = kinds
        self.avals = avals
        self.needs = needs
        self.values = values
        self.all_need = all(needs)
        self.out_aval = out_aval
        self.traced = traced
        #: None for several outputs, and for a result whose type carries no gradient
        self.out_type: TensorType | None = None
        if type(out_aval) is Aval and out_aval.differentiable and prim.vjps is not None:
            self.out_type = out_aval.types[3 if traced else 1]
        self.code = ref(place[0]) if place else None
        self.lasti = place[1] if place else -1
        #: `keeps`: whether a backward pass frees something here, so that a second one must fail
        self.save_list, self.keeps = _saving(prim, kinds, needs)
        # for the hot paths of one and two operands: bit 0 saves x, bit 1 saves y, bit 2 saves the result
        self.save_code = sum(4 if k == OUT else 1 << k for k in self.save_list)
        self.label = prim.label_of(params) if prim.label_of is not None else prim.label
        self.node_class: Any = None
        #: compiled backward passes, and compiled forward derivatives
        self.executables: tuple[Any, ...] = ()
        self.tangents: tuple[Any, ...] = ()
        self.sightings: dict[Any, Any] = {}
        #: compile a graph with its root here at its first backward
        self.compile_now = False
        #: of the compiled function whose result is made here
        self.counts: Any = None
        #: graphs not looked up since the last that was, where they keep being new
        self.skipped = 0
        self.step: Any = None
        self.steps = 0

    def receivers(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The edges of the operands that need a gradient, out of a node's inputs."""
        return inputs if self.all_need else tuple(e for e, needed in zip(inputs, self.needs, strict=True) if needed)

    def place(self) -> tuple[CodeType, int] | None:
        """The code object and instruction that ran the operation, if the code still exists."""
        code = self.code() if self.code is not None else None
        return None if code is None else (code, self.lasti)

    def __repr__(self) -> str:
        return f"<site {self.prim.name} {', '.join(map(str, self.avals))} -> {self.out_aval}>"


_savings: dict[Any, tuple[tuple[int, ...], bool]] = {}


def _saving(prim: Primitive, kinds: tuple[str, ...], needs: tuple[bool, ...]) -> tuple[tuple[int, ...], bool]:
    """`save_list` and `_keeps`, which depend on the operands' kinds alone."""
    key = (prim, kinds, needs)
    found = _savings.get(key)
    if found is None:
        saved = save_list(prim, kinds, needs)
        found = _savings[key] = (saved, _keeps(prim, kinds, needs, saved))
        if len(_savings) > 4_096:
            _savings.clear()
    return found


def save_list(prim: Primitive, kinds: tuple[str, ...], needs: tuple[bool, ...]) -> tuple[int, ...]:
    """Which operands (and OUT) the rules of the operands that need a gradient read; static literals are in the site."""
    names: set[str] = set()
    for k, needed in enumerate(needs):
        if needed:
            names |= prim.saved_for(k)
    if not names:
        return ()
    every = "*" in names
    chosen = [k for k in range(len(kinds)) if kinds[k] is not STATIC and (every or prim.operand_name(k) in names)]
    return (*chosen, OUT) if "out" in names else tuple(chosen)


def _keeps(prim: Primitive, kinds: tuple[str, ...], needs: tuple[bool, ...], saved: tuple[int, ...]) -> bool:
    """Whether PyTorch saves something: number factors count, integers of an index do not."""
    if any(k == OUT or kinds[k] is not VARYING for k in saved):
        return True
    names: set[str] = set().union(*(prim.saved_for(k) for k, needed in enumerate(needs) if needed))
    numbers = [k for k, kind in enumerate(kinds) if kind is STATIC or kind is VARYING]
    return "index" not in prim.params and any("*" in names or prim.operand_name(k) in names for k in numbers)


class Table(dict[Any, Site]):
    """The sites of one code object, and how many different literals each of its places has seen."""

    __slots__ = ("_starts", "calls", "code", "literals")

    def __init__(self, code: CodeType) -> None:
        super().__init__()
        self._starts: dict[int, int] = {}
        self.literals: dict[Any, set[Any]] = {}
        #: calls of NumPy functions at this code's places, and the sites they led to (see `again`)
        self.calls: dict[Any, Any] = {}
        key = id(code)

        def forget(_: Any, key: int = key, tables: dict[int, Table] = tables) -> None:
            tables.pop(key, None)

        self.code: ref[CodeType] = ref(code, forget)

    def start(self, lasti: int) -> int:
        """The offset of the instruction at `lasti`: once CPython has specialised an instruction, callees see an offset
        inside it.
        """
        found = self._starts.get(lasti)
        if found is None:
            code = self.code()
            found = lasti
            if code is not None:
                while found > 0 and code.co_code[found] == _CACHE:
                    found -= 2
            self._starts[lasti] = found
        return found

    def varies(self, place: Any, value: Any) -> bool:
        """Count a literal seen at a place; True once there were more than three different ones.

        The sites that have one of them as a constant are then forgotten: each would be compiled by itself.
        """
        seen = self.literals.setdefault(place, set())
        if len(seen) > 3:
            return True
        seen.add((type(value), repr(value)))
        if len(seen) <= 3:
            return False
        start, prim = place[:2]
        for key in list(self):
            if key[1] is prim and self.start(key[0]) == start:
                self.pop(key, None)
        return True


#: id of a code object -> its sites; entries go when the code dies
tables: dict[int, Table] = {}
MOST_TABLES = 4_096
MOST_SITES = 8_192
#: code of notebook cells and modules: nothing else keeps it once it has run, and while it lives its lines can be shown
_ran_once: deque[CodeType] = deque(maxlen=256)

_package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_numpy = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
#: where NumPy, and with it what else the user has installed, lives
_installed = os.path.dirname(os.path.dirname(_numpy)) + os.sep
_scipy = _installed + "scipy" + os.sep
_inside: dict[str, bool] = {}


def is_inside(code: CodeType) -> bool:
    """Whether code belongs to srcdiff, NumPy or SciPy: never the place of a user's operation."""
    name = code.co_filename
    inside = _inside.get(name)
    if inside is None:
        inside = name.startswith((_package, _numpy, _scipy, "<srcdiff"))
        if len(_inside) > 10_000:
            _inside.clear()
        _inside[name] = inside
    return inside


def in_library() -> bool:
    """Whether the nearest caller outside srcdiff and NumPy is code of an installed library, not of the user's."""
    here: Any = sys._getframe(2)
    while here is not None and here.f_code.co_filename.startswith((_package, _numpy)):
        here = here.f_back
    return here is not None and here.f_code.co_filename.startswith(_installed)


def find_place(frame: FrameType) -> tuple[Table, Any]:
    """The site table and frame of the nearest caller outside srcdiff, NumPy and SciPy."""
    here: Any = frame
    if modes.place is not None and is_inside(here.f_code):
        here = modes.place
    while is_inside(here.f_code) and here.f_back is not None:
        here = here.f_back
    code = here.f_code
    table = tables.get(id(code))
    if table is None:
        if len(tables) >= MOST_TABLES:
            for key in list(tables)[: MOST_TABLES // 4]:
                tables.pop(key, None)
        table = tables.setdefault(id(code), Table(code))
        if code.co_name == "<module>":
            _ran_once.append(code)
    return table, here


class Place:
    """Stands in for a frame: where operations that srcdiff runs on the user's behalf belong."""

    __slots__ = ("f_back", "f_code", "f_lasti")

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.f_code = code
        self.f_lasti = lasti
        self.f_back = None


def user_place(depth: int = 1) -> tuple[CodeType, int]:
    """Code and instruction of the nearest caller outside srcdiff, NumPy and SciPy."""
    _, frame = find_place(sys._getframe(depth))
    return frame.f_code, frame.f_lasti
