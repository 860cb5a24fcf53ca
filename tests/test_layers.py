"""Imports of srcdiff point downward: every import of every file is compared with the table of layers.

A module imports from lower layers. Inside one layer, and inside one package, it may import its siblings as long as no
two of them need each other, so that there is an order in which all can be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]

#: The modules and packages of each layer; docs/architecture.md says what each is for.
TABLE = {
    0: "errors aval runtime runtime_arena runtime_arrays runtime_choice runtime_conv runtime_floats runtime_linalg "
    "runtime_incomplete runtime_math runtime_nn runtime_rows runtime_scipy runtime_special index config usersource "
    "origin random cuda device dtypes size",
    1: "core",
    2: "tape ops",
    3: "transform",
    4: "codegen",
    5: "compiler tangents",
    6: "printing sparse functions inplace subscript counterpart conversion onestep ambiguity flat dispatch torchlike",
    6.5: "replay",
    7: "autograd api creation creation_like array_reductions array_methods torch_memory torch_methods "
    "interchange tensor",
    8: "numpy scipy func nn optim utils testing linalg special fft flush legacy serialization",
    9: "namespace __init__",
}
LAYERS = {name: layer for layer, names in TABLE.items() for name in names.split()}

#: (importer, imported): forbidden although the layers alone would allow it.
APART = {("tape", "ops"), ("ops", "tape"), ("codegen", "ops")}

#: The only third-party packages that may be missing, hence the only ones imported where they are used.
OPTIONAL = {"scipy"}


class Import(NamedTuple):
    importer: str  # without the leading "srcdiff."; the package itself is "__init__"
    imported: str  # likewise if it is of srcdiff, else empty
    package: str  # top-level package of what is imported
    line: int
    inside_function: bool

    def __str__(self) -> str:
        return f"{self.importer}, line {self.line}: imports {self.imported or self.package}"


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT / "srcdiff").with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "srcdiff").rglob("*.py"))}


def unit(module: str) -> str:
    """The entry of the table a module belongs to."""
    return module.partition(".")[0]


def targets(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Full names of the modules a statement imports, or imports from."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    assert statement.level == 0, "relative import"
    origin = statement.module or ""
    for alias in statement.names:
        submodule = f"{origin}.{alias.name}"
        yield submodule if submodule.removeprefix("srcdiff.") in MODULES else origin


def imports_of(module: str) -> Iterator[Import]:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    nested = {id(inner) for outer in ast.walk(tree) if isinstance(outer, functions) for inner in ast.walk(outer)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in dict.fromkeys(targets(node)):
                package, _, rest = target.partition(".")
                own = (rest or "__init__") if package == "srcdiff" else ""
                yield Import(module, own, package, node.lineno, id(node) in nested)


IMPORTS = [found for module in MODULES for found in imports_of(module)]
OWN = [found for found in IMPORTS if found.imported]


def allowed(found: Import) -> bool:
    importer, imported = unit(found.importer), unit(found.imported)
    if importer == imported:
        return True
    return LAYERS[imported] <= LAYERS[importer] and (importer, imported) not in APART


def cycle_in(edges: list[tuple[str, str]]) -> str:
    """Two or more names that need each other, or an empty text."""
    graph: TopologicalSorter[str] = TopologicalSorter()
    for importer, imported in edges:
        graph.add(importer, imported)
    try:
        graph.prepare()
    except CycleError as error:
        return " <- ".join(error.args[1])
    return ""


def listing(found: list[Import]) -> str:
    return "\n".join(map(str, found))


def test_every_module_has_a_layer() -> None:
    missing = sorted({unit(module) for module in MODULES} - LAYERS.keys())
    assert not missing, f"give these a layer in TABLE: {missing}"


def test_imports_point_downward() -> None:
    wrong = [found for found in OWN if not allowed(found)]
    assert not wrong, listing(wrong)


def test_modules_and_packages_of_a_layer_do_not_need_each_other() -> None:
    edges = [(unit(i.importer), unit(i.imported)) for i in OWN if unit(i.importer) != unit(i.imported)]
    assert not cycle_in(edges)


@pytest.mark.parametrize("package", sorted({unit(module) for module in MODULES if "." in module}))
def test_modules_of_a_package_do_not_need_each_other(package: str) -> None:
    edges = [(i.importer, i.imported) for i in OWN if unit(i.importer) == unit(i.imported) == package]
    assert not cycle_in(edges)


@pytest.mark.parametrize("package", ["ops", "functions"])
def test_a_catalogue_lists_every_module_of_its_package(package: str) -> None:
    siblings = {name for name in MODULES if name.startswith(f"{package}.")} - {f"{package}.catalogue"}
    read = {found.imported for found in OWN if unit(found.importer) == package and found.importer != package}
    assert siblings - read == set(), "import these in catalogue.py"


def test_only_optional_packages_are_imported_inside_functions() -> None:
    wrong = [found for found in IMPORTS if found.inside_function and found.package not in OPTIONAL]
    assert not wrong, listing(wrong)


def test_optional_packages_are_imported_nowhere_else() -> None:
    """But in `srcdiff.scipy`, whose modules are imported when they are named."""
    elsewhere = [found for found in IMPORTS if unit(found.importer) != "scipy"]
    wrong = [found for found in elsewhere if not found.inside_function and found.package in OPTIONAL]
    assert not wrong, listing(wrong)


def test_only_codegen_imports_astunparse() -> None:
    wrong = [found for found in IMPORTS if found.package == "astunparse" and unit(found.importer) != "codegen"]
    assert not wrong, listing(wrong)


def test_only_config_reads_the_environment() -> None:
    readers = {name for name, path in MODULES.items() if re.search(r"\b(environb?|getenv)\b", path.read_text("utf-8"))}
    assert readers <= {"config"}


def test_the_checks_see_what_they_should() -> None:
    upward = Import("core.program", "tensor", "srcdiff", 1, False)
    apart = Import("tape.record", "ops.families", "srcdiff", 1, False)
    downward = Import("tape.record", "core.primitive", "srcdiff", 1, False)
    assert [allowed(found) for found in (upward, apart, downward)] == [False, False, True]
    assert cycle_in([("a", "b"), ("b", "c"), ("c", "a")])
    assert not cycle_in([("a", "b"), ("a", "c"), ("b", "c")])
    assert Import("aval", "", "numpy", 1, False).package in {found.package for found in IMPORTS}
