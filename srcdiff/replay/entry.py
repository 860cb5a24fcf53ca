"""The entry of a compiled step: one generated function from the arguments of a call to its value and gradients.

It looks at the modes, guards, runs the step, and puts the gradients into the caller's structure, all written out for
this kind of call, since every Python call saved on the way is a twentieth of a microsecond for the user.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.codegen.loader import load
from srcdiff.config import config
from srcdiff.random import default_generator
from srcdiff.replay.containers import DICTS
from srcdiff.replay.records import fields_of, maker
from srcdiff.replay.strict import loud, raising, state, strict, tighten
from srcdiff.replay.writer import Writer, targets

#: (args, kwargs, anyhow=False) -> (value, gradients); False if the call is another one than the recorded, `()` if it
#: took another path; None if that was not looked at, since modes, options or a debugger forbid replays, which `anyhow`
#: leaves out
Enter = Callable[..., Any]


class Text(str):
    """An expression, where a structure has the value of one."""

    __slots__ = ()


def written(structure: Any, w: Writer) -> Text:
    """The expression that makes such a structure of containers and None around expressions."""
    if isinstance(structure, Text):
        return structure
    kind = type(structure)
    if structure is None:
        return Text("None")
    if kind in DICTS:
        text = "{" + ", ".join(f"{key!r}: {written(part, w)}" for key, part in structure.items()) + "}"
        return Text(text if kind is dict else f"{w.bind(kind, kind.__name__)}({text})")
    fields = fields_of(structure)
    if fields is not None:
        inner = ", ".join(written(getattr(structure, field), w) for field in fields)
        return Text(f"{w.bind(maker(kind), kind.__name__)}({inner})")
    parts = ", ".join(written(part, w) for part in structure)
    if kind is tuple:
        return Text(f"({parts}{',' * (len(structure) == 1)})")
    assert kind is list
    return Text(f"[{parts}]")


def begin(name: str, probe: bool = False) -> Writer:
    """The first lines of an entry; of one that can also be asked for the values alone, if `probe`."""
    w = Writer()
    w.fresh("anyhow")
    # calls that are to be compared now and then are not entered without being counted, and those of threads in which
    # denormal numbers are 0 not by others
    style = object() if config.options.check_replay or config.current.flushes else config.options.style
    free = [
        f"{w.bind(config.current, 'current')}.style is {w.bind(style, 'style')}",
        f"{w.bind(sys, 'sys')}.gettrace() is None",
    ]
    if hasattr(sys, "monitoring"):
        free += [f"{w.bind(sys.monitoring, 'monitoring')}.get_tool({k}) is None" for k in (0, 1)]
    what = f"The result of {name}" if probe else f"The value of {name} and its gradients"
    if probe:
        w.fresh("probe")
    w.lines += [
        f"def enter(args, kwargs, anyhow=False{', probe=False' * probe}):",
        f'    """{what}; False if the call is not like the recorded one,',
        "    None if it is not looked at.",
        '    """',
        f"    if not (anyhow or {' and '.join(free)}):",
        "        return None",
    ]
    return w


@dataclass(frozen=True, slots=True)
class Result:
    """A gradient, or the function's value, as the step gives it and as the caller gets it."""

    name: str
    #: an argument or result of a traced call, whose kind this is to have
    like: Any
    #: there is no such gradient
    absent: bool = False
    #: it may share memory with what the caller has
    copy: bool = False


def finish(
    w: Writer,
    step: Callable[..., Any],
    given: Sequence[str],
    results: Sequence[Result],
    outcomes: Sequence[bool],
    count: int,
    structured: Callable[[list[Text]], Any],
    raises: bool,
    draws: bool = False,
) -> tuple[Enter, str]:
    """The entry that has been begun and has its guard, and its text. `step` takes the values `given` and gives the
    function's value and gradients, `results`, then what its branches depend on, which went as in `outcomes`, `count`
    values in all. `structured` makes of gradients what the caller gets. `raises`: errors raise even where NumPy is
    silent. `draws`: random numbers are among what is given, and are given back by a call that takes another path.
    """
    outs = [w.fresh(result.name) for result in results]
    branches = [w.fresh("branch") for _ in outcomes]
    unused = ["_"] * (count - len(outs) - len(branches))
    back = keep_stream(w) if draws else []
    raised = [*back, "        raise"] if draws else []
    call = f"{targets(outs + branches + unused)} = {w.bind(step, 'step')}({', '.join(given)})"
    w.lines += run_lines(w, call, raises, raised)
    if branches:
        went = (name if went else f"not {name}" for name, went in zip(branches, outcomes, strict=True))
        w.require(*went, instead="()", before=back)
    value, *gradients = (_finished(w, *pair) for pair in zip(outs, results, strict=True))
    w.lines.append(f"    return {value}, {written(structured(gradients), w)}")
    text = "\n".join(w.lines) + "\n"
    return load(text, "enter", "entry", dict(w.names)), text


def keep_stream(w: Writer) -> list[str]:
    """Remember where the stream of random numbers is; the lines of a failing condition that go back there."""
    generator = w.bind(default_generator, "generator")
    drawn = w.fresh("drawn")
    w.lines.append(f"    {drawn} = {generator}.mark()")
    return [f"        {generator}.rewind({drawn})"]


def run_lines(w: Writer, call: str, raises: bool, failed: Sequence[str] = ()) -> list[str]:
    """Lines that make the call where what NumPy would warn of raises; then `failed` is run, if there is something.
    `raises`: errors raise even where NumPy is silent.
    """
    errors, before = w.bind(state, "errors"), w.fresh("before")
    known, made = (w.bind(loud, "loud"), raising) if raises else (w.bind(strict, "strict"), tighten)
    return [
        f"    {before} = {errors}.get()",
        "    try:",
        f"        {errors}.set({known}.get({before}) or {w.bind(made, made.__name__)}())",
        f"        {call}",
        *(["    except Exception:", *failed] if failed else []),
        "    finally:",
        f"        {errors}.set({before})",
    ]


def _finished(w: Writer, out: str, result: Result) -> Text:
    """The expression for what the caller gets."""
    like, kind = result.like, type(result.like)
    if result.absent and kind is np.ndarray:
        return Text(f"{w.bind(np.zeros, 'zeros')}({like.shape}, {w.bind(like.dtype, str(like.dtype))})")
    if result.absent:
        return Text(repr(kind(0)) if kind in (float, complex) else f"{w.bind(kind, f'{kind.__name__}_type')}(0)")
    if kind in (float, complex):
        return Text(f"{kind.__name__}({out})")
    if isinstance(like, np.generic):
        return Text(f"{out}[()] if type({out}) is {w.bind(np.ndarray, 'ndarray')} else {out}")
    text = f"{out}.copy()" if result.copy else out
    if not like.shape:
        return Text(f"{w.bind(np.asarray, 'asarray')}({text})")
    return Text(text)
