"""The code blocks of README.md and docs/*.md run, and print what the documents say they print.

Blocks fenced as `python` run in order, those of one file in one namespace. If the next block is fenced as
`text output`, it is what the block printed, spaces at the ends of lines apart. Other blocks are left alone.
"""

from __future__ import annotations

import io
import linecache
import re
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if path.exists()]

FENCED = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    info: str
    text: str
    line: int  # of its first line, counted from 0


def blocks(document: str) -> list[Block]:
    return [
        Block(found["info"].strip(), found["text"], document.count("\n", 0, found.start("text")))
        for found in FENCED.finditer(document)
    ]


def runs(document: str) -> Iterator[tuple[Block, str | None]]:
    """Each Python block with the output that follows it, if one does."""
    for block, following in pairwise([*blocks(document), Block("", "", 0)]):
        if block.info == "python":
            yield block, following.text if following.info == "text output" else None


def only_code(document: str) -> str:
    """The document with all but its Python blocks blanked, so that line numbers stay and source can be looked up."""
    lines = [""] * (document.count("\n") + 1)
    for block, _ in runs(document):
        code = block.text.splitlines()
        lines[block.line : block.line + len(code)] = code
    return "\n".join(lines) + "\n"


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def run(document: str, filename: str) -> None:
    source = only_code(document)
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": filename}
    for block, expected in runs(document):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, filename, "exec"), namespace)
        if expected is not None:
            assert tidy(printed.getvalue()) == tidy(expected), f"{filename}, line {block.line + 1}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run_and_print_what_is_shown(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a block saves lands there
    run(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())


SAMPLE = """
```python
import inspect
def double(x):
    return 2 * x
print(double(4), " ")
```
and
```text output
8
```
```sh
false
```
```python
print(inspect.getsource(double), end="")
```

```text output
def double(x):
    return 2 * x
```
"""


def test_blocks_share_a_namespace_and_can_look_up_their_source() -> None:
    run(SAMPLE, "sample.md")


def test_a_wrong_output_is_found_with_its_line() -> None:
    with pytest.raises(AssertionError, match=r"sample\.md, line 3"):
        run(SAMPLE.replace("8", "9"), "sample.md")


def test_an_exception_points_into_the_document() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        run("text\n\n```python\nx = 1\nx / 0\n```\n", "sample.md")
    frame = traceback.extract_tb(raised.tb)[-1]
    assert (frame.filename, frame.lineno, frame.line) == ("sample.md", 5, "x / 0")
