"""What to call instead where a function of SciPy's asks for a plain array: its counterpart in `srcdiff.scipy`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Any

from srcdiff.tape.site import is_inside


def counterpart() -> str:
    """For example "call srcdiff.scipy.stats.norm.logpdf", when the user has called that function of SciPy's.

    Empty if SciPy was not called, or there is no counterpart. If the function cannot be told, it is about the module.
    """
    called = _called()
    if called is None:
        return ""
    package = ".".join(called.f_globals["__name__"].split(".")[:2])
    if find_spec(f"srcdiff.{package}") is None:
        return ""
    name = _name_in(sys.modules[package], called)
    if not name:
        return f"look for the function in srcdiff.{package}"
    # imported here, where nothing else is left to do, to see what it has
    there = vars(import_module(f"srcdiff.{package}"))
    return f"call srcdiff.{package}.{name}" if name.partition(".")[0] in there else ""


def _called() -> FrameType | None:
    """The frame of SciPy's that the user's code has called."""
    found: FrameType | None = None
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_inside(frame.f_code):
        if str(frame.f_globals.get("__name__")).startswith("scipy."):
            found = frame
        frame = frame.f_back
    return found


def _name_in(module: ModuleType, called: FrameType) -> str:
    """What the module's users call the function: `norm.logpdf` for a method of something that is in the module."""
    function = called.f_code.co_name
    owner: Any = called.f_locals.get("self")
    if owner is None:
        return function if hasattr(module, function) else ""
    if isinstance(getattr(module, type(owner).__name__, None), type):
        return type(owner).__name__
    owner = next((v for key in ("dist", "_dist") if (v := getattr(owner, key, None)) is not None), owner)
    name = next((key for key, value in vars(module).items() if type(value) is type(owner)), "")
    return f"{name}.{function}" if name and not function.startswith("_") else name
