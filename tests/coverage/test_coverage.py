"""Every row of docs/coverage.md is what is measured now: the laws of derivatives, function by function."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from tests.coverage.measure import DOCUMENT, Entry, entries, measured, row
from tests.versions import newer

LINES = DOCUMENT.read_text(encoding="utf-8").splitlines()
ROWS = {
    line.split("`")[1]: tuple(cell.strip() for cell in line.split("|")[2:8]) for line in LINES if line.startswith("| `")
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="one version measures the table; the laws run on all")
@pytest.mark.parametrize(
    "entry", [pytest.param(entry, id=entry.name, marks=newer("; ".join(entry.expressions))) for entry in entries()]
)
def test_rows_are_current(entry: Entry) -> None:
    cells = measured(entry)
    if cells is None:
        pytest.skip("this NumPy or SciPy does not have it")
    assert cells[:4] in (("yes",) * 4, ("yes", "yes", "yes", ""))
    written = ROWS[entry.name]
    assert row(entry, (*cells[:4], written[4], cells[5])) in LINES
    # versions differ in what they take; hyp1f1 of complex numbers is 1 in SciPy 1.13
    assert cells[4] in (written[4], "refused", "") or entry.name == "scipy.special.hyp1f1"


def test_the_document_lists_the_functions_of_the_table_in_its_order() -> None:
    listed = [line.split("`")[1] for line in LINES if line.startswith("| `")]
    known = [entry.name for entry in entries()]
    assert listed == [name for name in known if name in listed]
    assert len(known) - len(listed) < 10, "only what this NumPy lacks may be missing"
