"""The backward pass: finds the compiled function for a graph, or walks it.

    matched by one of the root's executables  -> generated code
    seen before, not yet compiled             -> compile, then generated code
    seen for the first time, or out of the ordinary (hooks, create_graph, anomaly mode ...)  -> walk
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.cache import STATS, remember
from srcdiff.autograd.walk import walk
from srcdiff.compiler import Executable, compile_backward
from srcdiff.config import config
from srcdiff.errors import CompileError
from srcdiff.tape.lower import collect, edge_node
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, GradNode, MarkedSite
from srcdiff.tape.signature import signature

#: how many of a root's executables are tried before the graph's signature is computed
CANDIDATES = 4


def gradients(
    roots: Sequence[Edge], cts: Sequence[Any], wanted: Sequence[Edge], *, retain: bool, create_graph: bool = False
) -> list[Any]:
    """Cotangents of `wanted`, None for those the roots do not depend on. Arrays, or Tensors under `create_graph`.

    Arrays given back belong to the caller: they share no memory with anything else.
    """
    if not create_graph and not modes.anomaly:
        found = find(roots, wanted, not retain)
        if found is not None:
            executable, _, values = found
            outputs = execute(executable, cts, values)
            out: list[Any] = [None] * len(wanted)
            for k, target in enumerate(executable.targets):
                value = outputs[k]
                out[target] = value.copy() if executable.shared[k] and value is not None else value
            return out
    captured, _ = walk(roots, cts, wanted, retain=retain, create_graph=create_graph)
    if create_graph:
        return captured
    return [None if value is None else np.array(value)[()] if value.ndim == 0 else np.array(value) for value in captured]


def leaf_gradients(
    roots: Sequence[Edge], cts: Sequence[Any], *, retain: bool, create_graph: bool = False
) -> list[tuple[Any, Any, bool]]:
    """For every leaf: its AccumulateGrad, its cotangent, and whether the cotangent must be copied to be kept."""
    if not create_graph and not modes.anomaly:
        found = find(roots, None, not retain)
        if found is not None:
            executable, leaves, values = found
            outputs = execute(executable, cts, values)
            return [
                (leaf, value, shared)
                for leaf, value, shared in zip(leaves, outputs, executable.shared, strict=True)
                if value is not None
            ]
    _, arriving = walk(roots, cts, None, retain=retain, create_graph=create_graph)
    return [(node, ct, True) for node, ct in arriving]


def execute(executable: Executable, cts: Sequence[Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run generated code; it does not warn where the user's forward did not."""
    if executable.quiet:
        with np.errstate(all="ignore"):
            return executable.run(*cts, *values)
    return executable.run(*cts, *values)


def find(roots: Sequence[Edge], wanted: Sequence[Edge] | None, free: bool) -> tuple[Executable, Any, Any] | None:
    """An executable for this graph with the leaves and saved values it matched, or None if the graph must be walked."""
    root = edge_node(roots[0])
    site = root.site
    for executable in site.executables[:CANDIDATES]:
        matched = executable.match(roots, wanted, free)
        if matched is not None:
            STATS.hits += 1
            return executable, *matched
    if site.prim is None or type(site) is MarkedSite:
        return None
    nodes = collect(roots)
    if len(nodes) > config.largest_graph or any(type(node.site) is MarkedSite or node.site.prim is None and hasattr(node, "apply") for node in nodes):
        return None
    return _by_signature(site, nodes, roots, wanted, free)


def _by_signature(
    site: Any, nodes: list[GradNode], roots: Sequence[Edge], wanted: Sequence[Edge] | None, free: bool
) -> tuple[Executable, Any, Any] | None:
    key = signature(nodes, roots, wanted)
    known = site.sightings.get(key, 0)
    if isinstance(known, Executable):
        matched = known.match(roots, wanted, free)
        if matched is not None:
            remember(site, key, known)
            STATS.hits += 1
            return known, *matched
        return None
    options = config.options
    if known + 1 < options.compile_after:
        site.sightings[key] = known + 1
        if len(site.sightings) > 4 * options.cache_size:
            site.sightings.clear()
        STATS.walked += 1
        return None
    try:
        executable = compile_backward(roots, wanted, options, nodes)
    except CompileError:
        if options.verify:
            raise
        STATS.failed += 1
        return None
    STATS.misses += 1
    remember(site, key, executable)
    matched = executable.match(roots, wanted, free)
    return None if matched is None else (executable, *matched)
