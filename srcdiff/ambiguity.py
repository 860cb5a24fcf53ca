"""The warning for method calls that mean one thing in NumPy, another in PyTorch, and would go unnoticed in either.

Methods have NumPy's meaning where ndarray has the name. The warning names both spellings; Python shows it once per
line.
"""

from __future__ import annotations

import dis
import sys
from typing import Any

from srcdiff.tape.heard import warn
from srcdiff.tape.value import TensorBase


class AmbiguousName(UserWarning):
    """A method call that NumPy and PyTorch understand differently."""


def ambiguous(x: TensorBase, call: str, done: str, numpy_spelling: str, torch_spelling: str) -> None:
    """Warn the caller of the method that calls this, if x is an eager tensor."""
    if x._traced:
        return
    warn(
        f"{call} {done}, as NumPy has it; PyTorch means something else. Write {numpy_spelling} to say that it "
        f"is meant, or {torch_spelling} for PyTorch's meaning.",
        AmbiguousName, stacklevel=3,
    )  # fmt: skip


def is_unpacked(frame: Any) -> bool:
    """Whether the result of the call that a frame is making is taken apart at once: `a, b = f()`, `f()[0]`."""
    following = _after(frame.f_code.co_code, frame.f_lasti)
    if not following:
        return False
    (first, argument), *rest = following
    if first == "UNPACK_SEQUENCE":
        return argument == 2
    if first != "LOAD_CONST" or not rest or rest[0][0] != "BINARY_SUBSCR":
        return False
    constant = frame.f_code.co_consts[argument]
    return type(constant) is int and constant in (0, 1)


def _after(code: bytes, place: int) -> list[tuple[str, int]]:
    """The two instructions after the one at `place`, caches left out."""
    found = []
    for k in range(place + 2, min(place + 40, len(code)), 2):
        name = dis.opname[code[k]]
        if name == "CACHE":
            continue
        found.append((name, code[k + 1]))
        if len(found) == 2:
            break
    return found


def caller() -> Any:
    """The frame that called the function that calls this."""
    return sys._getframe(2)
