"""What to call instead where a function of SciPy's asks for a plain array: its counterpart in `srcdiff.scipy`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from inspect import unwrap
from types import FrameType, FunctionType, ModuleType
from typing import Any

from srcdiff.tape.site import is_inside


def counterpart() -> str:
    """For example "call srcdiff.scipy.stats.norm.logpdf", when the user has called that function of SciPy's.

    Empty if SciPy was not called. If the function cannot be told, it is about the module.
    """
    frames = _frames()
    package, name = next(filter(None, map(_public, frames)), ("", ""))
    if not package:
        packages = (".".join(frame.f_globals["__name__"].split(".")[:2]) for frame in frames)
        package = next((found for found in packages if "._" not in found), "")
    if not package:
        return ""
    known = find_spec(f"srcdiff.{package}") is not None
    if known and not name:
        return f"look for the function in srcdiff.{package}"
    # imported here, where nothing else is left to do, to see what it has
    there = vars(import_module(f"srcdiff.{package}")) if known else {}
    if name.partition(".")[0] in there:
        return f"call srcdiff.{package}.{name}"
    function = f"{package}.{name}" if name else f"the function of {package}"
    return (
        f"srcdiff.scipy has no counterpart of {function}; sd.primitive and sd.defvjp give a function of your own a "
        "derivative, and sd.detach(x) says that none is wanted"
    )


def _frames() -> list[FrameType]:
    """The frames of SciPy's between the user's code and here, the one that was called first."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and is_inside(frame.f_code):
        if str(frame.f_globals.get("__name__")).startswith("scipy."):
            found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _public(frame: FrameType) -> tuple[str, str] | None:
    """The module and the name of the public function that runs in a frame, or that is called by the decorator there."""
    package = ".".join(frame.f_globals["__name__"].split(".")[:2])
    name = "" if "._" in package else _name_in(sys.modules[package], frame)
    if name:
        return package, name
    for value in frame.f_locals.values():
        if isinstance(value, FunctionType) and value.__module__.startswith("scipy."):
            package = ".".join(value.__module__.split(".")[:2])
            public = getattr(sys.modules.get(package), value.__name__, None)
            if isinstance(public, FunctionType) and unwrap(public) is unwrap(value):
                return package, value.__name__
    return None


def _name_in(module: ModuleType, called: FrameType) -> str:
    """What the module's users call the function: `norm.logpdf` for a method of something that is in the module."""
    function: str = called.f_code.co_name
    owner: Any = called.f_locals.get("self")
    if owner is None:
        return function if hasattr(module, function) else ""
    if isinstance(getattr(module, type(owner).__name__, None), type):
        return type(owner).__name__ + ("" if function.startswith("_") else f".{function}")
    if not hasattr(owner, function):  # a decorator of a method
        inside = (v.__name__ for v in called.f_locals.values() if isinstance(v, FunctionType))
        function = next((name for name in inside if hasattr(owner, name)), "_")
    owner = next((v for key in ("dist", "_dist") if (v := getattr(owner, key, None)) is not None), owner)
    alike = [(value is not owner, key) for key, value in vars(module).items() if type(value) is type(owner)]
    name = min(alike, key=lambda found: found[0], default=(True, ""))[1]
    return f"{name}.{function}" if name and not function.startswith("_") else name
