"""What differentiates, function by function: the table of expressions, the laws it is measured by, and the document.

    python -m tests.coverage.measure            writes docs/coverage.md anew
    python -m tests.coverage.measure cumsum     measures the functions whose name matches, and prints their rows

A line of a table file is `name: expression; expression; ...`. The names in an expression that are inputs (`INPUTS`)
are differentiated; an expression of several statements ends with `out = ...`. After `# ` stands the title of a section.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import srcdiff as sd

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "coverage.md"
_random = np.random.RandomState(3)


def _uniform(*shape: int) -> Any:
    return 0.2 + 0.7 * _random.rand(*shape)


INPUTS: dict[str, Any] = {
    "v": np.array([0.62, 0.31, 0.83, 0.45]),
    "w": np.array([0.55, 0.72, 0.28, 0.39]),
    "u": np.array([1.3, 2.1, 1.7, 2.4]),
    "d": np.array([0.4, 0.9, 0.6]),
    "s": 0.7,
    "M": _uniform(3, 4),
    "M2": _uniform(3, 4),
    "N": _uniform(4, 2),
    "T": _uniform(2, 3, 4),
    "R": _uniform(1, 4, 1),
    "S": _uniform(3, 3) + np.diag([1.0, 1.5, 2.0]),
    "A": _uniform(4, 3) + np.eye(4, 3),
    "B": _uniform(2, 3, 3) + np.eye(3),
    "z": np.array([0.5 + 0.7j, 0.9 - 0.3j, -0.4 + 1.1j, 0.8 + 0.2j]),
}


@dataclass(frozen=True)
class Entry:
    """The expressions for one function."""

    section: str
    name: str
    expressions: tuple[str, ...]


@cache
def entries() -> tuple[Entry, ...]:
    """All entries, file by file."""
    found = []
    for file in ("numpy.txt", "polynomial.txt", "scipy.txt"):
        section = ""
        for line in (HERE / file).read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                section = line[2:]
            elif line:
                name, _, text = line.partition(": ")
                found.append(Entry(section, name, tuple(_expressions(text))))
    return tuple(found)


def _expressions(text: str) -> Iterator[str]:
    statements: list[str] = []
    for part in text.split("; "):
        if statements or not isinstance(ast.parse(part).body[0], ast.Expr):
            statements.append(part)
            if part.startswith("out ="):
                yield "\n".join(statements)
                statements = []
        else:
            yield part


def inputs_of(expression: str) -> list[str]:
    """The names of inputs in an expression."""
    return sorted({node.id for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Name)} & INPUTS.keys())


class _Scipy:
    """SciPy, or srcdiff's mirror of it, submodule by submodule."""

    def __init__(self, package: str) -> None:
        self.package = package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{self.package}.{name}")


PLAIN, MIRROR = _Scipy("scipy"), _Scipy("srcdiff.scipy")


def evaluate(expression: str, names: list[str], values: Any, sp: Any) -> Any:
    """The value of an expression."""
    space = dict(zip(names, values, strict=True), np=np, sp=sp)
    if "\n" in expression or expression.startswith("out ="):
        exec(expression, space)
        return space["out"]
    return eval(expression, space)


def leaves(value: Any) -> Iterator[Any]:
    """The arrays of a result."""
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def weighed(value: Any) -> Any:
    """A real number that depends on every element of a result."""
    total: Any = 0.0
    for k, leaf in enumerate(leaves(value)):
        shape = np.shape(leaf)
        weight = np.random.RandomState(100 + k + sum(shape)).rand(*shape) + 0.5
        if np.iscomplexobj(leaf):
            total = total + np.sum(np.real(leaf) * weight) + np.sum(np.imag(leaf) * (weight + 0.3))
        else:
            total = total + np.sum(leaf * weight)
    return total


def fresh(values: list[Any]) -> list[Any]:
    """Copies, so that an expression may write."""
    return [np.array(x) if np.ndim(x) else x for x in values]


def differences(f: Callable[..., Any], values: list[Any]) -> Any:
    """The gradient by central differences of fourth order, flat; of complex numbers, by PyTorch's convention."""
    found = []
    for k, x in enumerate(map(np.asarray, values)):
        for j in range(x.size):
            slope: Any = 0.0
            for unit in (1.0, 1.0j) if x.dtype.kind == "c" else (1.0,):

                def at(step: float, k: int = k, x: Any = x, j: int = j, unit: Any = unit) -> Any:
                    moved = x.copy()
                    moved.flat[j] += step * unit
                    given = fresh(values)
                    given[k] = moved if x.ndim else moved.item()
                    return np.real(f(*given))

                h = 1e-4
                slope += unit * (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
            found.append(slope)
    return np.array(found)


def flat(gradients: Any) -> Any:
    """All elements of several arrays."""
    return np.concatenate([np.ravel(np.asarray(g)) for g in gradients]) if gradients else np.zeros(0)


# ------------------------------------------------------------------------------------------------------------- the laws


class Law:
    """One expression, and what is measured of it."""

    def __init__(self, expression: str, sp: Any, turned: bool = False) -> None:
        self.names = inputs_of(expression)
        self.values = [INPUTS[name] for name in self.names]
        if turned:
            self.values = [x * (0.9 + 0.35j) if np.ndim(x) else complex(x) * (0.9 + 0.35j) for x in self.values]
        self.argnums = tuple(range(len(self.names)))
        names = self.names

        def plain(*values: Any) -> Any:
            return weighed(evaluate(expression, names, values, PLAIN))

        def traced(*values: Any) -> Any:
            return weighed(evaluate(expression, names, values, sp))

        self.plain, self.traced = plain, traced
        self.want = differences(plain, self.values)

    def reverse(self) -> bool:
        """The gradient, walked and compiled."""
        gradient = sd.grad(self.traced, argnums=self.argnums)
        return all(close(flat(gradient(*fresh(self.values))), self.want, 1e-6) for _ in range(3))

    def forward(self) -> bool:
        """The derivative along a direction."""
        along = self._directions()
        got = sd.jvp(self.traced, tuple(fresh(self.values)), tuple(along))[1]
        want = np.sum(np.real(np.conj(self.want) * flat(along)))
        return close(np.real(got), want, 1e-6)

    def _directions(self) -> list[Any]:
        drawn = [np.random.RandomState(5 + k).rand(*np.shape(x)) - 0.3 for k, x in enumerate(self.values)]
        return [
            d * (1.0 + 0.5j if np.iscomplexobj(x) else 1.0) if np.ndim(x) else type(x)(0.8)
            for d, x in zip(drawn, self.values, strict=True)
        ]

    def second(self) -> bool:
        """The gradient of the gradient along a direction, along another one."""
        weights = [np.random.RandomState(9 + k).rand(*np.shape(x)) + 0.5 for k, x in enumerate(self.values)]
        gradient = sd.grad(self.traced, argnums=self.argnums)
        along = self._directions()

        def slope(*values: Any) -> Any:
            parts = zip(gradient(*values), weights, strict=True)
            return sum(np.sum(np.real(g) * w) + np.sum(np.imag(g) * w * 0.7) for g, w in parts)

        def at(step: float) -> Any:
            return slope(*[x + step * d for x, d in zip(self.values, along, strict=True)])

        h = 1e-4
        want = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
        got = flat(sd.grad(slope, argnums=self.argnums)(*fresh(self.values)))
        return close(np.sum(np.real(np.conj(got) * flat(along))), want, 1e-5)

    def single(self) -> bool | None:
        """Gradients of float32 arrays are float32; None if the function does not take them."""
        values = [np.asarray(x).astype(np.complex64 if np.iscomplexobj(x) else np.float32)[()] for x in self.values]
        try:
            self.plain(*fresh(values))
        except Exception:
            return None
        got = sd.grad(self.traced, argnums=self.argnums)(*values)
        same = all(np.asarray(g).dtype == x.dtype for g, x in zip(got, values, strict=True))
        return same and close(flat(got), self.want, 3e-3)


def close(got: Any, want: Any, tolerance: float) -> bool:
    """Equal up to what the differences can tell."""
    return bool(np.allclose(got, want, rtol=tolerance, atol=tolerance))


def measured(entry: Entry) -> tuple[str, ...] | None:
    """The cells of a row; None where this version of NumPy or SciPy lacks the function."""
    try:
        for expression in entry.expressions:
            names = inputs_of(expression)
            evaluate(expression, names, fresh([INPUTS[name] for name in names]), PLAIN)
    except (AttributeError, ModuleNotFoundError):
        return None
    sp = _spelling(entry)
    laws = [Law(expression, sp) for expression in entry.expressions]
    cells = []
    for name in ("reverse", "forward", "second", "single"):
        verdicts = [getattr(law, name)() for law in laws]
        cells.append("no" if False in verdicts else "yes" if True in verdicts else "")
    spelled = "`" + entry.expressions[0].replace("\n", "; ").replace("|", "\\|") + "`"
    if sp is MIRROR:
        spelled = spelled.replace("sp.", "srcdiff.scipy.")
    return (*cells, _complex(entry, sp), spelled.replace("sp.", "scipy.") if sp is PLAIN else spelled)


def _spelling(entry: Entry) -> Any:
    """SciPy itself for its ufuncs, the mirror for its other functions."""
    if not entry.name.startswith("scipy."):
        return PLAIN
    _, module, name = entry.name.split(".")
    if name == "lambertw":  # a function around a ufunc
        return PLAIN
    return PLAIN if isinstance(getattr(getattr(PLAIN, module), name, None), np.ufunc) else MIRROR


#: what SciPy discards the imaginary part for, or defines for real numbers only; and what has no order for others
_OF_REAL_NUMBERS = (
    "np.unique_values",
    "scipy.stats", "scipy.optimize", "scipy.integrate", "scipy.ndimage", "scipy.signal.savgol_filter",
)  # fmt: skip


def _complex(entry: Entry, sp: Any) -> str:
    """Whether an expression differentiates with complex numbers; empty if NumPy does not take them there."""
    if any("z" in inputs_of(expression) for expression in entry.expressions):
        return "yes"
    if entry.name.startswith(_OF_REAL_NUMBERS):
        return ""
    try:
        law = Law(entry.expressions[0], sp, turned=True)
        if not np.all(np.isfinite(law.want)):
            return ""
    except Exception:
        return ""
    try:
        return "yes" if law.reverse() else "no"
    except Exception:
        return "refused"


def row(entry: Entry, cells: tuple[str, ...]) -> str:
    """A line of the document."""
    return f"| `{entry.name}` | {' | '.join(cells)} |"


_INTRODUCTION = """\
# What differentiates

Written by `python -m tests.coverage.measure`; the tests measure every row again. A function is here with one of the
expressions it was measured with. *Reverse*, *forward* and *second order* agree with finite differences; `float32`
arrays have `float32` gradients of the same value; *complex*: with complex arguments as well (empty where the function
does not take them). Calls are NumPy's and SciPy's own; where SciPy makes plain arrays of its arguments, the function
of that name in `srcdiff.scipy` is called. Functions that make arrays (`np.array`, `np.zeros` ...) and those of
`np.polynomial` differentiate in functions under `sd.grad` and its relatives, whose source is known: see
[differences.md](differences.md).

What is piecewise constant (comparisons, `argmax`, `floor`, counts) runs and has no gradient. What is not here and has
no derivative raises an error that names it; `sd.defvjp` gives it one.
"""


def document() -> str:
    """The text of docs/coverage.md."""
    lines = [_INTRODUCTION]
    section = ""
    for entry in entries():
        cells = measured(entry)
        if cells is None:
            continue
        if entry.section != section:
            section = entry.section
            lines += [
                f"\n## {section}\n", "| function | reverse | forward | second order | float32 | complex | as in |",
                "| --- | --- | --- | --- | --- | --- | --- |",
            ]  # fmt: skip
        lines.append(row(entry, cells))
    return "\n".join(lines) + "\n"


def main(pattern: str) -> None:
    """Write the document, or print rows."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if not pattern:
        DOCUMENT.write_text(document(), encoding="utf-8")
        return
    for entry in entries():
        if re.search(pattern, entry.name):
            try:
                cells = measured(entry)
                text = "absent" if cells is None else row(entry, cells)
            except Exception as error:
                text = f"{entry.name}: {type(error).__name__}: {error}"
            sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
