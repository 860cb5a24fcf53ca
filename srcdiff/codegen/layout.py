"""Breaks a logical line that is too long, inside brackets only, so that its meaning cannot change.

A line arrives as the tokens the printer wrote: brackets, separators (`", "`, `" + "`) and everything else, each string
literal in one token. The loosest separators break first; commas end a line, operators begin one.
"""

from __future__ import annotations

from collections.abc import Sequence

OPENING = frozenset("([{")
CLOSING = frozenset(")]}")

_LOOSEST_FIRST = (
    (", ",),
    (" if ", " else ", " for "),
    (" or ",),
    (" and ",),
    (" == ", " != ", " < ", " <= ", " > ", " >= ", " is ", " is not ", " in ", " not in "),
    (" | ",),
    (" ^ ",),
    (" & ",),
    (" << ", " >> "),
    (" + ", " - "),
    (" * ", " / ", " // ", " % ", " @ "),
    (" ** ",),
)
SEPARATORS = {text: rank for rank, texts in enumerate(_LOOSEST_FIRST) for text in texts}


def break_line(tokens: Sequence[str], value: slice | None, width: int) -> list[str]:
    """Lines of at most `width` columns where possible.

    `value` is the expression that may be put in parentheses of its own (the right hand side, the returned value);
    None if the line has brackets to break in, or none at all.
    """
    tokens = list(tokens)
    if value is not None and _separators(tokens[value]):
        tokens = [*tokens[: value.start], "(", *tokens[value], ")", *tokens[value.stop :]]
    indent = len(tokens[0]) - len(tokens[0].lstrip(" "))
    tokens[0] = tokens[0][indent:]
    start = value.start if value is not None and any(token in OPENING for token in tokens[value]) else 0
    first, *rest = _break_in_bracket(tokens, indent, width, start)
    return [" " * indent + first, *rest]


def _fit(tokens: list[str], column: int, width: int) -> list[str]:
    """The lines of `tokens`, which stand inside brackets, the first of them at `column`; the others are indented."""
    text = "".join(tokens)
    if column + len(text) <= width:
        return [text]
    places = _separators(tokens)
    if not places:
        return _break_in_bracket(tokens, column, width)
    starts, ends = [0, *(place + 1 for place in places)], [*places, len(tokens)]
    lines = _fit(tokens[: places[0]], column, width)
    for place, start, end in zip(places, starts[1:], ends[1:], strict=True):
        glue, piece = tokens[place], tokens[start:end]
        last = lines[-1] if len(lines) > 1 else " " * column + lines[-1]
        if len(last) + len(glue) + sum(map(len, piece)) <= width:
            lines[-1] += glue + "".join(piece)
            continue
        if glue == ", ":
            lines[-1] += ","
        else:
            piece = [glue[1:], *piece]
        first, *rest = _fit(piece, column, width)
        lines += [" " * column + first, *rest]
    return lines


def _break_in_bracket(tokens: list[str], column: int, width: int, begin: int = 0) -> list[str]:
    """Breaks inside the longest bracket from token `begin` on, aligned behind it unless that leaves too little room."""
    start, stop = (begin + place for place in _longest_bracket(tokens[begin:]))
    if start == stop:
        return ["".join(tokens)]
    head, inner, tail = "".join(tokens[: start + 1]), tokens[start + 1 : stop], "".join(tokens[stop:])
    behind = column + len(head)
    if behind <= width // 2:
        first, *rest = _fit(inner, behind, width)
        lines = [head + first, *rest]
    else:
        first, *rest = _fit(inner, column + 4, width)
        lines = [head, " " * (column + 4) + first, *rest]
    lines[-1] += tail
    return lines


def _separators(tokens: Sequence[str]) -> list[int]:
    """Where the loosest separators outside all brackets stand."""
    depth, loosest = 0, len(_LOOSEST_FIRST)
    places: list[int] = []
    for place, token in enumerate(tokens):
        if token in OPENING:
            depth += 1
        elif token in CLOSING:
            depth -= 1
        elif depth == 0 and place and (rank := SEPARATORS.get(token, loosest + 1)) <= loosest:
            if rank < loosest:
                loosest, places = rank, []
            places.append(place)
    return places


def _longest_bracket(tokens: Sequence[str]) -> tuple[int, int]:
    """The outermost bracket with the longest content, as the places of its two tokens; (0, 0) if there is none."""
    best, size, depth, start, length = (0, 0), 0, 0, 0, 0
    for place, token in enumerate(tokens):
        if token in CLOSING:
            depth -= 1
            if depth == 0 and length > size:
                best, size = (start, place), length
        if depth:
            length += len(token)
        if token in OPENING:
            if depth == 0:
                start, length = place, 0
            depth += 1
    return best
