"""Finds runs of operations that repeat: what an unrolled loop leaves in a straight-line program.

Operations are compared by primitive, parameters, type, the user's line and literal operands; a period of the
sequence of these gives candidates, which become a `Run` if each operand of the body is, in every iteration, one of

    a value of the same iteration, a value of the one before, the same value from outside, an outside value of
    each iteration's own

Guarantees: rows of a run have the same operations; only the last row may lack some (None), which nothing reads but
the iteration that would follow. Time is linear in the program's length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from srcdiff.core.program import Node
from srcdiff.transform.places import part_of_array
from srcdiff.transform.runs import Before, Each, Local, Operand, Part, Run, Same

LEAST = 4  # iterations
WIDEST = 400  # operations of a body
_PERIODS = 8  # candidates that are tried
#: besides what is elementwise, what may be computed once more, in the last iteration, for the sake of a regular loop: a
#: warning that nobody should hear of only keeps that call from being replayed
_HARMLESS = frozenset(("matmul", "transpose", "reshape", "sum_to", "sum", "max", "min", "broadcast_to", "cast"))


def token(node: Node) -> tuple[Any, ...]:
    """What operations of different iterations have in common. The number in an index may differ."""
    params: Any = node.params
    if node.prim is not None and node.prim.name == "getitem":
        index = node.kwargs["index"]
        if len(node.operands) == 1:
            params = tuple("t" if type(p) is int and p >= 0 else p for p in index.parts), index.tuple_like
    source = node.source
    literals = tuple(id(x) if x.literal is not None else 0 for x in node.operands)
    return node.prim, params, node.aval, source.file, source.line, literals


def find_runs(sequence: Sequence[Node], users: Mapping[Node, Sequence[Node]], known: Collection[Node]) -> list[Run]:
    """The runs of a sequence of operations, which are not part of any other. `known` are operations to leave alone."""
    numbers: dict[Any, int] = {}
    tokens = [numbers.setdefault(token(node), len(numbers)) for node in sequence]
    if max(Counter(tokens).values(), default=0) < LEAST - 1:
        return []
    finder = _Finder(sequence, tokens, users, set(known))
    for period in _periods(tokens):
        finder.search(period)
    return finder.runs


def _periods(tokens: Sequence[int]) -> list[int]:
    """Distances at which operations come back, the most frequent ones, shortest first."""
    places: dict[int, list[int]] = {}
    for place, each in enumerate(tokens):
        places.setdefault(each, []).append(place)
    gaps: Counter[int] = Counter()
    for found in places.values():
        for m in (1, 2, 3, 4):
            gaps.update(b - a for a, b in zip(found, found[m:], strict=False))
    likely = [gap for gap, count in gaps.most_common(4 * _PERIODS) if count >= LEAST - 1 and gap <= WIDEST]
    return sorted(likely[:_PERIODS])


class _Finder:
    """The state of one search."""

    def __init__(
        self, sequence: Sequence[Node], tokens: Sequence[int], users: Mapping[Node, Sequence[Node]], known: set[Node]
    ) -> None:
        self.sequence = sequence
        self.tokens = tokens
        self.users = users
        self.place = {node: k for k, node in enumerate(sequence)}
        self.token_of = dict(zip(sequence, tokens, strict=True))
        self.taken = known
        self.runs: list[Run] = []

    def search(self, period: int) -> None:
        """Runs of this period among what is not taken."""
        tokens, n = self.tokens, len(self.tokens)
        k = period
        while k < n:
            if tokens[k] != tokens[k - period]:
                k += 1
                continue
            start = k - period
            while k < n and tokens[k] == tokens[k - period]:
                k += 1
            if k - start >= (LEAST - 1) * period and not self._repeats(start, period):
                self.try_run(start, k, period)

    def _repeats(self, start: int, period: int) -> bool:
        """Whether the body of so many operations repeats itself: the rows that iterating over an array begins with."""
        body = self.tokens[start : start + period]
        return any(body[:-p] == body[p:] and not period % p for p in range(1, period // 2 + 1))

    def try_run(self, start: int, stop: int, period: int) -> None:
        first = start + self._phase(start, stop, period)
        trips = (stop - first) // period
        if trips < LEAST - 1 or any(node in self.taken for node in self.sequence[first : first + trips * period]):
            return
        rows: list[list[Node | None]] = [
            list(self.sequence[first + t * period : first + (t + 1) * period]) for t in range(trips)
        ]
        run = Run(rows)
        if not self._classify(run):
            return
        taken = {node for row in rows for node in row if node is not None}
        self._extend(run, taken)
        if run.trips < LEAST:
            return
        self.taken |= taken
        self.runs.append(run)

    def _phase(self, start: int, stop: int, period: int) -> int:
        """Where to begin a body: where the fewest values go from one iteration to the next."""
        if period == 1:
            return 0
        middle = start + period * max(1, (stop - start) // period // 2)
        edges = []
        for here in range(middle, min(middle + period, stop)):
            for x in self.sequence[here].operands:
                there = self.place.get(x, -1)
                if start <= there and 0 < here - there < 2 * period:
                    edges.append((here - start, here - there))

        def carried(phase: int) -> int:
            """Values that go from one iteration to the next; none may go further."""
            passed = {(j - d) % period for j, d in edges if d > (j - phase) % period}
            further = any(type(self.sequence[start + j].aval) is tuple for j in passed)
            further |= any(d > (j - phase) % period + period for j, d in edges)
            return len(passed) + 2 * period * further

        return min(range(min(period, stop - start)), key=carried)

    # --------------------------------------------------------------------------------------------------------- operands

    def _classify(self, run: Run) -> bool:
        """Find out what the operands are; False if they are nothing of the kind."""
        rows = run.rows
        where = {node: (t, j) for t, row in enumerate(rows) for j, node in enumerate(row) if node is not None}
        kinds: list[tuple[Operand, ...] | Part] = []
        for j in range(len(rows[0])):
            column = [row[j] for row in rows]
            part = self._part(column, where)
            if part is not None:
                kinds.append(part)
                continue
            operands = []
            for q in range(len(rows[0][j].operands)):  # type: ignore[union-attr]
                kind = _kind([None if node is None else node.operands[q] for node in column], j, where)
                if kind is None:
                    return False
                operands.append(kind)
            if column[0].prim.name == "getitem" and len({node.params for node in column if node is not None}) > 1:  # type: ignore[union-attr]
                return False
            kinds.append(tuple(operands))
        run.operands = kinds
        return True

    def _part(self, column: Sequence[Node | None], where: Mapping[Node, Any]) -> Part | None:
        found = part_of_array(column)
        return None if found is None or found.base in where else found

    # ----------------------------------------------------------------------------------------------- further iterations

    def _extend(self, run: Run, taken: set[Node]) -> None:
        """Add iterations before and after whose operations stand elsewhere, or in another order."""
        for _ in range(2):
            row = self._follow(run, taken, run.rows[-1], None)
            if row is None or not self._added(run, taken, [*run.rows, row]):
                break
            if None in row:
                break
        for _ in range(2):
            row = self._follow(run, taken, None, run.rows[0])
            if row is None or None in row or not self._added(run, taken, [row, *run.rows]):
                break

    def _added(self, run: Run, taken: set[Node], rows: list[list[Node | None]]) -> bool:
        longer = Run(rows)
        if not self._classify(longer):
            return False
        run.rows, run.operands = rows, longer.operands
        taken.update(node for node in (*rows[0], *rows[-1]) if node is not None)
        return True

    def _follow(
        self, run: Run, taken: set[Node], before: list[Node | None] | None, after: list[Node | None] | None
    ) -> list[Node | None] | None:
        """The row that follows `before`, or comes before `after`, found along the operands."""
        sample = run.sample
        row: list[Node | None] = [None] * len(sample)

        def matches(node: Node, j: int) -> bool:
            if node in taken or node in self.taken or node in row or node not in self.token_of:
                return False
            if self.token_of[node] == self.token_of[sample[j]]:
                return True
            kinds = run.kinds(j)
            if after is None or len(kinds) != len(node.operands) or not kinds:
                return False
            # `total = 0.0` before the loop is a literal in the first iteration
            *first, literals = token(node)
            *others, expected = token(sample[j])
            alike = zip(literals, expected, kinds, strict=True)
            return first == others and all(a == b or type(kind) is Before for a, b, kind in alike)

        if after is not None:
            for j, kinds in enumerate(run.operands):
                for q, kind in enumerate(kinds if not isinstance(kinds, Part) else ()):
                    x = after[j].operands[q]  # type: ignore[union-attr]
                    if type(kind) is Before and row[kind.j] is None and matches(x, kind.j):
                        row[kind.j] = x
        changed = True
        while changed:
            changed = False
            for j, kinds in enumerate(run.operands):
                for q, kind in enumerate(kinds if not isinstance(kinds, Part) else ()):
                    here = row[j]
                    if here is not None:
                        if type(kind) is Local and row[kind.j] is None and matches(here.operands[q], kind.j):
                            row[kind.j] = here.operands[q]
                            changed = True
                        continue
                    x = (
                        row[kind.j]
                        if type(kind) is Local
                        else before[kind.j]
                        if before and type(kind) is Before
                        else None
                    )
                    if x is None:
                        continue
                    found = next((u for u in self.users.get(x, ()) if matches(u, j) and u.operands[q] is x), None)
                    if found is not None:
                        row[j] = found
                        changed = True
        present = sum(node is not None for node in row)
        if present * 2 <= len(row):
            return None
        missing = [sample[j].prim for j, node in enumerate(row) if node is None]
        if not all(prim.elementwise or prim.name in _HARMLESS for prim in missing):
            return None
        return row


def _kind(column: Sequence[Node | None], j: int, where: Mapping[Node, tuple[int, int]]) -> Operand | None:
    """What an operand of operation j is, given the nodes it is in each iteration."""
    first, second = column[0], column[1]
    assert first is not None and second is not None
    if all(x is None or x is first for x in column) and first not in where:
        return Same(first) if type(first.aval) is not tuple else None
    found = where.get(second)
    if found is None:
        if any(x in where or type(x.aval) is tuple for x in column if x is not None):
            return None
        return Each(tuple(column))
    delay, source = 1 - found[0], found[1]
    if delay == 0 and source < j and all(x is None or where.get(x) == (t, source) for t, x in enumerate(column)):
        return Local(source)
    handed_on = delay == 1 and first not in where and type(first.aval) is not tuple
    if handed_on and all(x is None or where.get(x) == (t - 1, source) for t, x in enumerate(column) if t):
        return Before(source, first)
    return None
