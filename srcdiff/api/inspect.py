"""Looking at what was generated: the code of a backward pass, the program it came from, the counts of the caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.api.player import Player, forget_entries, style_of, unreplayable
from srcdiff.api.proof import prove
from srcdiff.autograd.cache import STATS, Counts, forget_all
from srcdiff.codegen.emit import emit
from srcdiff.codegen.header import Header
from srcdiff.compiler import Executable, compile_backward, operand_names, origin_of
from srcdiff.config import config
from srcdiff.core.program import NOWHERE, Program, Source
from srcdiff.errors import AutogradError
from srcdiff.onestep import step_program
from srcdiff.origin import where
from srcdiff.random import kept
from srcdiff.replay.findings import RefusedError
from srcdiff.tape.lower import collect, edge_node
from srcdiff.tape.node import Edge, GradNode, set_source_of
from srcdiff.tape.signature import signature
from srcdiff.tape.value import TensorBase


def source(loss: Any, *, forward: bool = False) -> str:
    """The generated backward function of a Tensor's graph, as text; with `forward` the forward program above it."""
    return text_of(executable_of(loss), forward)


def program(loss: Any) -> Program:
    """The backward program of a Tensor's graph; it prints."""
    return executable_of(loss).program


def executable_of(loss: Any, wanted: list[Edge] | None = None) -> Executable:
    """The compiled backward pass of a Tensor's graph, compiled now if it has to be. Raises AutogradError outside a
    graph.
    """
    if not isinstance(loss, TensorBase):
        raise TypeError(f"expected a Tensor, got {type(loss).__name__}")
    edge = loss._edge
    if edge is None:
        raise AutogradError(
            "this tensor does not require grad and does not have a grad_fn: there is no backward to show"
        )
    site, nodes = edge_node(edge).site, collect([edge])
    exact = config.exact
    for known in site.executables:
        if known.exact is exact and known.match([edge], wanted, False) is not None:
            return known  # type: ignore[no-any-return]
    if site.prim is not None:  # a graph that was freed does not match, but is still the one that ran
        seen = site.sightings.get((exact, signature(nodes, [edge], wanted)))
        if isinstance(seen, Executable):
            return seen
    return compile_backward([edge], wanted, config.options, nodes)


def text_of(executable: Executable, forward: bool = False) -> str:
    """The source of an executable, the forward program before it if asked for."""
    if not forward:
        return executable.source
    return f"{emit(executable.forward, None, plain=True)}\n\n{executable.source}"


# -------------------------------------------------------------------------------------------------------- one operation


def step_source(node: GradNode) -> str:
    """The generated code of one node's backward: `grad_fn.source`."""
    if node.site.prim is None:
        raise AutogradError(
            f"{node.name()} has no generated code: it is the end of the graph, or a function of the user's"
        )
    origin = origin_of(node)
    source = Source(origin.target, origin.file, origin.line, origin.text) if origin else NOWHERE
    names = operand_names(node, origin) if origin else ()
    backward, _ = step_program(node.site, names, source)
    return emit(backward, Header(node.site.prim.name, str(source)))


set_source_of(step_source)


# --------------------------------------------------------------------------------------------------------------- caches


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Counts. `entries` compiled graphs and recorded calls, `hits` backward passes and calls that found one, `misses`
    those that made one, `traced` calls whose forward ran as written, `replayed` calls that ran generated code."""

    entries: int
    hits: int
    misses: int
    traced: int
    replayed: int
    bound: int
    reasons: tuple[str, ...] = ()


def info_of(counts: Counts) -> CacheInfo:
    """Counts as users see them."""
    return CacheInfo(
        len(counts.executables),
        counts.hits + counts.replayed,
        counts.misses,
        counts.traced,
        counts.replayed,
        config.cache_size,
        tuple(counts.reasons),
    )


def cache_info() -> CacheInfo:
    """The counts of the whole process."""
    return info_of(STATS)


def cache_clear() -> None:
    """Forget everything compiled in the process, and the counts."""
    forget_all()
    forget_entries()
    STATS.clear()


ALWAYS_TRACED = "traced: your function runs on every call, as written"


def forward_of(
    player: Player, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any]
) -> str:
    """How the forward of such a call runs: replayed, or traced and why."""
    style = style_of(config.options)
    why = unreplayable() or player.refused
    try:
        signature = player.signature(args, kwargs, chosen, style)
        if why is None and config.replay != "always":
            prove(function, args, kwargs, chosen)
    except RefusedError as reason:
        why = why or str(reason)
    if why is None:
        with kept():
            entry, barred = player.play(args, kwargs, style)
        if entry is not None:
            count = sum(node.prim is not None for node in entry.program.nodes())
            return f"replayed: forward and backward run as one generated function of {count} operations"
        why = player.traced_only.get(signature)
        if barred and why is None:
            why = "an operation divides by zero, overflows or has no value, which the user should hear of"
    if why is not None:
        return f"{ALWAYS_TRACED}, because {why}"
    kind = player.kinds.get(signature)
    seen = 0 if kind is None else kind.seen
    return (
        f"traced: {seen} calls like this one were seen; the second is recorded, the fourth is the first to be replayed"
    )


def explanation(function: Any, root: Any, wanted: list[Edge] | None, counts: Counts, forward_runs: str) -> str:
    """What `explain` says about a call whose traced result is `root`, and whose forward runs as `forward_runs` says."""
    site = edge_node(root._edge).site
    cached = any(
        known.exact is config.exact and known.match([root._edge], wanted, False) is not None
        for known in site.executables
    )
    executable = executable_of(root, wanted)
    forward = [node for node in executable.forward.nodes() if node.prim is not None]
    backward = [node for node in executable.program.nodes() if node.prim is not None]
    place = site.place()
    here = where(*place) if place is not None else "unknown place"
    status = (
        "a compiled backward was found"
        if cached
        else "no compiled backward yet: "
        + (
            "a call that is replayed needs none"
            if forward_runs.startswith("replayed")
            else "a graph is walked node by node the first time, and compiled the second"
        )
    )
    lines = [
        f"{getattr(function, '__name__', function)}, result computed at {here}",
        f"  forward   {forward_runs}",
        f"  backward  {len(forward)} operations forward, {len(backward)} backward after simplification",
        f"  cache     {status}",
        f"  saved     {executable.saved_bytes} bytes for backward",
    ]
    lines += [f"  miss      {reason}" for reason in counts.reasons]
    return "\n".join(lines)
