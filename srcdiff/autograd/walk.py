"""The backward pass, node by node: for graphs seen for the first time, for hooks and the like, and for create_graph.

Guarantees: nodes run in the reverse of their order of creation, each once, after all its cotangents have been added up;
gradients reach leaves only after the whole pass has succeeded; there is no recursion.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.formula import at_place, formula_step
from srcdiff.autograd.hooks import after_node, before_node
from srcdiff.autograd.step import record_step, run_step
from srcdiff.config import config
from srcdiff.errors import AutogradError
from srcdiff.onestep import COMPILE_AFTER, step_of
from srcdiff.ops.pull import keeps_zeros
from srcdiff.ops.zeros import Partial, landed
from srcdiff.replay.strict import silently
from srcdiff.tape.lower import collect, edge_node, leading_to
from srcdiff.tape.modes import Run, modes
from srcdiff.tape.node import FREED_MESSAGE, AccumulateGrad, Edge, GradNode, MarkedSite
from srcdiff.tape.site import Site


def walk(
    roots: Sequence[Edge],
    cts: Sequence[Any],
    wanted: Sequence[Edge] | None,
    *,
    retain: bool,
    create_graph: bool,
    nodes: Sequence[GradNode] | None = None,
    partial: bool = False,
) -> tuple[list[Any], list[tuple[GradNode, Any]]]:
    """Run backward. Gives the cotangents of `wanted` (None where there is none), and for `wanted=None` the pairs of
    leaf node and cotangent to accumulate. Cotangents are arrays, or Tensors under `create_graph`. `partial`: what
    arrives at one that is wanted goes no further, nor to its hooks, so that the others do not get it too.
    """
    run = Run()
    outer, before = modes.backward_run, (modes.grad, modes.recording)
    try:
        modes.backward_run = run
        if modes.grad is not create_graph:
            modes.update(grad=create_graph)
        found = collect(roots) if nodes is None else nodes
        result: tuple[list[Any], list[tuple[GradNode, Any]]] = silently(
            _walk, roots, cts, wanted, retain, create_graph, found, partial
        )
    finally:
        modes.backward_run = outer
        modes.grad, modes.recording = before  # no call: Ctrl-C may come at any
    for finish in run.at_end:
        finish()
    return result


def _walk(
    roots: Sequence[Edge],
    cts: Sequence[Any],
    wanted: Sequence[Edge] | None,
    retain: bool,
    create_graph: bool,
    nodes: Sequence[GradNode],
    partial: bool,
) -> tuple[list[Any], list[tuple[GradNode, Any]]]:
    needed = None if wanted is None else leading_to(nodes, wanted)
    captured: dict[tuple[int, int], Any] = {}
    targets = {} if wanted is None else {_key(edge): edge for edge in wanted if edge is not None}
    capturing = {key[0] for key in targets}
    pending: dict[int, Any] = {}
    for edge, ct in zip(roots, cts, strict=True):
        _add(pending, edge, ct)
    arriving: list[tuple[GradNode, Any]] = []
    exact = config.options.exact
    for node in reversed(nodes):
        key = id(node)
        if key not in pending or (needed is not None and key not in needed):
            continue
        ct = pending.pop(key)
        site = node.site
        ends = partial and key in capturing
        if type(site) is MarkedSite and not ends:
            seen = _landed(ct)
            made = before_node(node, seen, create_graph)
            ct = ct if made is seen and type(ct) is Partial else made
        if key in capturing:
            for which in targets:
                if which[0] == key:
                    captured[which] = landed(ct.get(which[1]) if type(ct) is dict else ct)
        if ends:
            continue
        if site.prim is None and node.apply is None:
            if wanted is None and type(node) is AccumulateGrad:
                arriving.append((node, landed(ct)))
            continue
        if needed is not None and not _leads_on(node, needed):
            continue
        for edge, made in _run(node, ct, create_graph, capturing, exact):
            if made is None:
                continue
            if type(edge) is tuple:
                _add(pending, edge, made)
            else:
                before = pending.get(id(edge))
                pending[id(edge)] = made if before is None else before + made
        if not retain and (site.keeps or (node.apply is not None and node.saved)):
            node.saved = None
    if wanted is None:
        return [], arriving
    return [None if edge is None else captured.get(_key(edge)) for edge in wanted], []


def _landed(ct: Any) -> Any:
    """What arrives at a node, of one output or of several, as arrays or Tensors."""
    return {k: landed(part) for k, part in ct.items()} if type(ct) is dict else landed(ct)


def _key(edge: Edge) -> tuple[int, int]:
    return (id(edge[0]), edge[1]) if type(edge) is tuple else (id(edge), 0)


def _leads_on(node: GradNode, needed: set[int]) -> bool:
    return any(e is not None and id(edge_node(e)) in needed for e in node.inputs)


def _add(pending: dict[int, Any], edge: Edge, ct: Any) -> None:
    if type(edge) is tuple:
        parts = pending.setdefault(id(edge[0]), {})
        before = parts.get(edge[1])
        parts[edge[1]] = ct if before is None else before + ct
    else:
        before = pending.get(id(edge))
        pending[id(edge)] = ct if before is None else before + ct


def _run(
    node: GradNode, ct: Any, create_graph: bool, wanted: Container[int], exact: bool
) -> Iterable[tuple[Edge, Any]]:
    """One node: where cotangents go, and the cotangents. `exact` by the rule itself, not by code made from it."""
    site = node.site
    if type(site) is Site and type(ct) is not dict and not modes.anomaly:
        known = formula_step(node, ct, wanted, create_graph)
        if known is not None:
            return known
    if type(site) is Site and not create_graph and type(ct) is not dict and not modes.anomaly:
        step = None if exact else site.step
        if step is None and site.steps >= 0 and not exact:
            site.steps += 1
            if site.steps > COMPILE_AFTER:
                step = site.step = step_of(site)
                site.steps = -1
        if step is not None and node.saved is not None and not _sparse(node, ct):
            try:
                return zip(site.receivers(node.inputs), step(landed(ct), node.saved), strict=True)
            except (AttributeError, TypeError):
                pass  # a saved value is gone or stale: the long way says why
    results = _results(node, ct, create_graph)
    if type(site) is MarkedSite:
        results = after_node(node, list(map(landed, results)), _landed(ct), create_graph)
    return [(edge, made) for edge, made in zip(node.inputs, results, strict=True) if edge is not None]


def _sparse(node: GradNode, ct: Any) -> bool:
    """Whether structural zeros are to be passed on, which generated steps do not do."""
    prim = node.site.prim
    if type(ct) is Partial:
        return keeps_zeros(prim)
    if not prim.selects:
        return False
    for edge in node.inputs:
        if edge is not None:
            below = (edge[0] if type(edge) is tuple else edge).site.prim
            if below is not None and keeps_zeros(below):
                return True
    return False


def _results(node: GradNode, ct: Any, create_graph: bool) -> list[Any]:
    if node.apply is not None:
        results = node.apply(_landed(ct), create_graph)
        if modes.anomaly and modes.anomaly_check_nan:
            check_nan(node, results)
        return results
    if type(ct) is dict:
        ct = tuple(ct.get(k) for k in range(len(node.site.out_aval)))
    if node.saved is None:
        raise AutogradError(FREED_MESSAGE)
    results = at_place(node, lambda: record_step(node, ct)) if create_graph else run_step(node, ct)
    if modes.anomaly and modes.anomaly_check_nan:
        results = list(map(landed, results))
        check_nan(node, results)
    return results


def check_nan(node: GradNode, results: Sequence[Any]) -> None:
    """Anomaly mode: name the function that made the first NaN."""
    for k, made in enumerate(results):
        value = getattr(made, "_value", made)
        if value is not None and np.any(np.isnan(value)):
            trace = node.options.trace
            raise AutogradError(
                f"Function '{node.name()}' returned nan values in its {k}th output."
                + (f"\nIt was recorded here:\n{trace}" if trace else "")
            )
