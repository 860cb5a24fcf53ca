"""Generated matchers: straight-line code that checks a graph against a known one and collects its saved values.

`match(root..., wanted, free)` returns `(leaves, values)` if the graph below the roots has the signature the matcher was
made for (or one that shares more, to the same effect), else None. It checks sites, output numbers, shared inputs and
leaves by identity; it refuses freed nodes and overwritten saved values, which the walk then reports.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from itertools import combinations
from typing import Any

from srcdiff.tape.lower import Slot
from srcdiff.tape.node import Edge, GradNode
from srcdiff.tape.site import OUT, TENSOR

Matcher = Callable[..., Any]


def make_matcher(
    nodes: Sequence[GradNode],
    roots: Sequence[Edge],
    wanted: Sequence[Edge] | None,
    slots: Sequence[Slot],
    leaves: Sequence[int],
    needed: Any,
    groups: Sequence[int | tuple[int, ...]] | None = None,
) -> Matcher:
    """A matcher for this graph. `slots` are the values to return, `leaves` the numbers of the leaves to return; with
    `groups`, the values are returned as these say: by their number, or several as a tuple.

    With `wanted`, what is wanted of this graph must be wanted of the other, at the same positions, and no more. Nodes
    whose id is not in `needed` (None: all are) are checked, but neither read nor freed; those from which nothing flows
    on are not freed.
    """
    number = {id(node): k for k, node in enumerate(nodes)}
    text = ["def match(roots, wanted, free):", " try:"]
    namespace: dict[str, Any] = {}
    bound: set[int] = set()

    def bind(edge: Edge, variable: str) -> None:
        """Statements that bind or check the node behind the edge held in `variable`."""
        if type(edge) is tuple:
            text.append(f"  if {variable}[1] != {edge[1]}: return None")
            variable = f"{variable}[0]"
        k = number[id(edge[0] if type(edge) is tuple else edge)]
        if k in bound:
            text.append(f"  if n{k} is not {variable}: return None")
        else:
            bound.add(k)
            text.append(f"  n{k} = {variable}")

    absent: list[int] = []
    present: dict[int, list[int]] = {}
    if wanted is None:
        text.append("  if wanted is not None: return None")
    else:
        for j, e in enumerate(wanted):
            k = number.get(id(e[0] if type(e) is tuple else e), -1)
            (absent if k < 0 else present.setdefault(k, [])).append(j)
        text.append(f"  if len(wanted) != {len(wanted)}: return None")
        if absent:
            listed = "".join(f"wanted[{j}], " for j in absent)
            text.append(f"  absent = [e[0] if type(e) is tuple else e for e in ({listed})]")
    text.append(f"  if len(roots) != {len(roots)}: return None")
    for j, edge in enumerate(roots):
        text.append(f"  r = roots[{j}]")
        bind(edge, "r")
    values: dict[Slot, str] = {}
    freed: list[str] = []
    by_node: dict[int, list[Slot]] = {}
    for slot in slots:
        by_node.setdefault(slot.node, []).append(slot)
    for k in range(len(nodes) - 1, -1, -1):
        node = nodes[k]
        site = node.site
        namespace[f"S{k}"] = site
        text.append(f"  if n{k}.site is not S{k}: return None")
        for j in present.get(k, ()):
            e = wanted[j]  # type: ignore[index]
            same = (
                f"wanted[{j}][0] is n{k} and wanted[{j}][1] == {e[1]}" if type(e) is tuple else f"wanted[{j}] is n{k}"
            )
            text.append(f"  if not ({same}): return None")
        if absent:
            text.append(f"  if n{k} in absent: return None")
        _inputs(text, node, k, number, bound, bind)
        if site.prim is not None and (needed is None or id(node) in needed):
            if site.save_list:
                _saved(text, site, k, by_node.get(k, ()), values)
            elif site.keeps:
                text.append(f"  if n{k}.saved is None: return None")
            if site.keeps and (needed is None or any(e is not None and id(_node(e)) in needed for e in node.inputs)):
                freed.append(f"n{k}.saved = None")
    text.extend(f"  if {clash}: return None" for clash in _clashes(nodes, present))
    text.append("  if free:")
    text.extend(f"   {line}" for line in freed)
    if not freed:
        text.append("   pass")
    listed = "".join(f"n{k}, " for k in leaves)
    found = [values[slot] for slot in slots]
    given = groups if groups is not None else range(len(found))
    collected = "".join(f"{found[g]}, " if type(g) is int else f"({', '.join(found[k] for k in g)}), " for g in given)  # type: ignore[union-attr]
    text.append(f"  return ({listed}), ({collected})")
    text.append(" except (AttributeError, TypeError, ValueError, IndexError):")
    text.append("  return None")
    exec(compile("\n".join(text), "<srcdiff matcher>", "exec"), namespace)
    return namespace.pop("match")  # type: ignore[no-any-return]


def _node(edge: Edge) -> Any:
    return edge[0] if type(edge) is tuple else edge


def _clashes(nodes: Sequence[GradNode], present: Container[int]) -> Iterator[str]:
    """Conditions under which two nodes of this graph are one node of the other, where that matters.

    It matters for leaves, and for a wanted node and others of its site: the gradient of each is given as a whole. A
    node in between that is shared there but not here only has its cotangents passed on one by one.
    """
    leaves = [k for k, node in enumerate(nodes) if node.site.prim is None]
    if len(leaves) > 3:
        yield f"len({{{', '.join(f'n{k}' for k in leaves)}}}) != {len(leaves)}"
    else:
        yield from (f"n{a} is n{b}" for a, b in combinations(leaves, 2))
    for k, node in enumerate(nodes):
        if k in present and node.site.prim is not None:
            yield from (f"n{k} is n{j}" for j, other in enumerate(nodes) if other.site is node.site and j != k)


def _inputs(
    text: list[str], node: GradNode, k: int, number: dict[int, int], bound: set[int], bind: Callable[[Edge, str], None]
) -> None:
    edges = node.inputs
    if not any(edge is not None and id(edge[0] if type(edge) is tuple else edge) in number for edge in edges):
        return
    targets, later = [], []
    here: set[int] = set()
    for j, edge in enumerate(edges):
        if edge is None or id(edge[0] if type(edge) is tuple else edge) not in number:
            targets.append("_")
            continue
        m = number.get(id(edge))
        if type(edge) is not tuple and m not in bound and m not in here:
            here.add(m)  # type: ignore[arg-type]
            targets.append(f"n{m}")
        else:
            targets.append(f"e{j}")
            later.append((edge, f"e{j}"))
    text.append(f"  {', '.join(targets)}{',' if len(targets) == 1 else ''} = n{k}.inputs")
    bound |= here
    for edge, variable in later:
        bind(edge, variable)


def _saved(text: list[str], site: Any, k: int, wanted: Sequence[Slot], values: dict[Slot, str]) -> None:
    """Collect what is wanted; touch the other cells, so that a stale one is noticed as eager execution would."""
    chosen = {(slot.position, slot.output): slot for slot in wanted}
    variables = [f"c{k}_{p}" for p in range(len(site.save_list))]
    text.append(f"  {', '.join(variables)}{',' if len(variables) == 1 else ''} = n{k}.saved")
    for p, operand in enumerate(site.save_list):
        cell = operand == OUT or site.kinds[operand] is TENSOR
        outputs = range(len(site.out_aval)) if operand == OUT and site.prim.multi else (None,)
        for output in outputs:
            place = variables[p] if output is None else f"{variables[p]}[{output}]"
            slot = chosen.get((p, output))
            if slot is None:
                if cell:
                    text.append(f"  {place}.array")
            elif cell:
                values[slot] = f"v{k}_{p}" if output is None else f"v{k}_{p}_{output}"
                text.append(f"  {values[slot]} = {place}.array")
            else:
                values[slot] = place
