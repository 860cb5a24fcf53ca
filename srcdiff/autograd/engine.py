"""The backward pass: finds the compiled function for a graph, or walks it.

matched by one of the root's executables  -> generated code
seen before, not yet compiled             -> compile, then generated code
seen for the first time, or out of the ordinary (hooks, create_graph, anomaly mode ...)  -> walk
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.cache import STATS, Counts, remember
from srcdiff.autograd.walk import walk
from srcdiff.compiler import Executable, compile_backward
from srcdiff.config import config
from srcdiff.errors import CompileError
from srcdiff.origin import where
from srcdiff.replay.strict import silently
from srcdiff.tape import record
from srcdiff.tape.lower import collect, collect_inner, edge_node, leading_to
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, GradNode, MarkedSite
from srcdiff.tape.signature import signature
from srcdiff.tape.value import TensorBase

#: how many of a root's executables are tried before the graph's signature is computed
CANDIDATES = 4
#: how many graphs of one root may be new in a row before most of them are walked without a look at their signature
RESTLESS = 32


def gradients(
    roots: Sequence[Edge], cts: Sequence[Any], wanted: Sequence[Edge], *, retain: bool, create_graph: bool = False
) -> list[Any]:
    """Cotangents of `wanted`, None for those the roots do not depend on. Arrays, or Tensors under `create_graph`.

    Arrays given back belong to the caller: they share no memory with anything else.
    """
    nodes = None
    if not create_graph and not modes.anomaly:
        found, nodes = find(roots, wanted, not retain)
        if found is not None:
            return _spread(found, cts, len(wanted))
    captured, _ = walk(roots, cts, wanted, retain=retain, create_graph=create_graph, nodes=nodes)
    return captured if create_graph else [owned(value) for value in captured]


def trace_gradients(
    roots: Sequence[Edge],
    cts: Sequence[Any],
    wanted: Sequence[Edge],
    start: int,
    retain: bool,
    counts: Counts | None = None,
    compiling: bool = True,
) -> tuple[list[Any], bool]:
    """The same for a trace whose nodes are numbered from `start`, and whether it depends on something older that
    requires grad. If so, the cotangents are Tensors that can be differentiated with respect to that; they are Tensors,
    too, where a recorder watches.
    """
    site = edge_node(roots[0]).site
    if not modes.anomaly and modes.recorder is None:
        exact = config.options.exact
        for executable in site.executables[:CANDIDATES]:
            if not executable.closed or executable.exact is not exact:
                continue
            if (matched := executable.match(roots, wanted, not retain)) is not None:
                STATS.hit(executable)
                if counts is not None:
                    counts.hit(executable)
                return _spread((executable, *matched), cts, len(wanted)), False
    nodes, is_open = collect_inner(roots, start)
    if is_open or modes.recorder is not None:  # a recorder must see the backward pass as well
        is_open = is_open or modes.recorder.differentiates
        tensors = [ct if isinstance(ct, TensorBase) else record.plain(ct) for ct in cts]
        if modes.recorder is not None:
            for given, tensor in zip(cts, tensors, strict=True):
                if tensor is not given:
                    modes.recorder.made(tensor)
        before = modes.grad, modes.recording
        try:
            modes.update(grad=True)
            return walk(roots, tensors, wanted, retain=True, create_graph=True, nodes=nodes)[0], is_open
        finally:
            modes.grad, modes.recording = before
    values = [ct._value if isinstance(ct, TensorBase) else ct for ct in cts]
    if compiling and not modes.anomaly and site.prim is not None and compilable(nodes):
        found = _by_signature(site, nodes, roots, wanted, not retain, counts)
        if found is not None:
            return _spread(found, values, len(wanted)), False
    captured, _ = walk(roots, values, wanted, retain=retain, create_graph=False, nodes=nodes)
    return [owned(value) for value in captured], False


def _spread(found: tuple[Executable, Any, Any], cts: Sequence[Any], length: int) -> list[Any]:
    """Run an executable and put its outputs where they are wanted, copied if they share memory with something."""
    executable, _, values = found
    outputs = execute(executable, cts, values)
    out: list[Any] = [None] * length
    for target, value, shared in zip(executable.targets, outputs, executable.shared, strict=True):
        out[target] = value.copy() if shared and value is not None else value
    return out


def owned(value: Any) -> Any:
    """A copy of an array that nothing else shares."""
    return value.copy() if isinstance(value, np.ndarray) else value


def leaf_gradients(
    roots: Sequence[Edge], cts: Sequence[Any], *, retain: bool, create_graph: bool = False
) -> list[tuple[Any, Any, bool]]:
    """For every leaf: its AccumulateGrad, its cotangent, and whether the cotangent must be copied to be kept."""
    nodes = None
    if not create_graph and not modes.anomaly:
        found, nodes = find(roots, None, not retain)
        if found is not None:
            executable, leaves, values = found
            outputs = execute(executable, cts, values)
            return [
                (leaf, value, shared)
                for leaf, value, shared in zip(leaves, outputs, executable.shared, strict=True)
                if value is not None
            ]
    _, arriving = walk(roots, cts, None, retain=retain, create_graph=create_graph, nodes=nodes)
    return [(node, ct, True) for node, ct in arriving]


def execute(executable: Executable, cts: Sequence[Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run generated code; it does not warn, as the walk does not."""
    return silently(executable.run, *cts, *values)  # type: ignore[no-any-return]


def find(
    roots: Sequence[Edge], wanted: Sequence[Edge] | None, free: bool
) -> tuple[tuple[Executable, Any, Any] | None, list[GradNode] | None]:
    """An executable for this graph with the leaves and saved values it matched; or None and, if they had to be
    collected, the nodes of the graph, which must then be walked.
    """
    site = edge_node(roots[0]).site
    exact = config.options.exact
    for executable in site.executables[:CANDIDATES]:
        if executable.exact is exact and (matched := executable.match(roots, wanted, free)) is not None:
            STATS.hit(executable)
            if site.counts is not None:
                site.counts.hit(executable)
            return (executable, *matched), None
    if site.prim is None or type(site) is MarkedSite:
        return None, None
    nodes = collect(roots)
    if not compilable(nodes):
        return None, nodes
    return _by_signature(site, nodes, roots, wanted, free, site.counts), nodes


def compilable(nodes: Sequence[GradNode]) -> bool:
    """Whether generated code may stand in for walking these nodes: no hooks, no custom functions, not too many."""
    if len(nodes) > config.largest_graph:
        return False
    return not any(type(node.site) is MarkedSite or node.apply is not None for node in nodes)


def _by_signature(
    site: Any,
    nodes: list[GradNode],
    roots: Sequence[Edge],
    wanted: Sequence[Edge] | None,
    free: bool,
    counts: Counts | None = None,
) -> tuple[Executable, Any, Any] | None:
    """The executable of a graph that no candidate matched: known by its signature, or compiled now if it repeats."""
    if restless(site):
        STATS.walked += 1
        return None
    options = config.options
    key = (options.exact, signature(nodes, roots, wanted))
    known = site.sightings.get(key, 0)
    counted = (STATS,) if counts is None else (STATS, counts)
    if isinstance(known, Executable):
        executable = known
    elif known + 1 < options.compile_after and not site.compile_now:
        if len(site.sightings) > 4 * options.cache_size:
            site.sightings = {}
        site.sightings[key] = known + 1
        for each in counted:
            each.walked += 1
        return None
    else:
        if wanted is not None and not _leads_to(nodes, roots, wanted):
            return None
        reason = why_compiled(site, nodes, site.executables)
        try:
            executable = compile_backward(roots, wanted, options, nodes)
        except CompileError:
            if options.verify:
                raise
            return None
        for each in counted:
            each.miss(executable, reason)
    remember(site, key, executable)
    matched = executable.match(roots, wanted, free)
    if matched is None:
        return None
    if isinstance(known, Executable):
        for each in counted:
            each.hit(executable)
    return executable, *matched


def restless(site: Any) -> bool:
    """Whether graphs with their root here keep being new: then only every eighth is looked up and remembered."""
    if site.executables or len(site.sightings) < RESTLESS or site.compile_now:
        return False
    site.skipped = (site.skipped + 1) % 8
    return bool(site.skipped)


def _leads_to(nodes: Sequence[GradNode], roots: Sequence[Edge], wanted: Sequence[Edge]) -> bool:
    """Whether any root depends on anything wanted."""
    needed = leading_to(nodes, wanted)
    return any(id(edge_node(edge)) in needed for edge in roots)


def why_compiled(site: Any, nodes: Sequence[GradNode], known: Sequence[Any]) -> str:
    """Why none of the compiled passes known served this graph."""
    place = site.place()
    here = where(*place) if place is not None else "unknown place"
    if not known:
        return (
            f"{here}: this graph of {len(nodes)} nodes was seen for the second time"
            if not site.compile_now
            else (f"{here}: first call")
        )
    return f"{here}: a different path of operations, or other shapes or dtypes ({len(known)} compiled before)"
