"""What PyTorch answers: asked where it is installed, else read from a file that was written where it was.

So the comparisons run everywhere. `pytest --regen` writes the files anew; a question without a recorded answer fails.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

INSTALLED = importlib.util.find_spec("torch") is not None


def plain(answer: Any, digits: int = 15) -> Any:
    """The answer in what JSON has: arrays as their dtype, shape and rounded elements, tuples as lists."""
    if isinstance(answer, dict):
        return {str(key): plain(value, digits) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [plain(value, digits) for value in answer]
    if isinstance(answer, np.ndarray):
        parts = [answer.real, answer.imag] if answer.dtype.kind == "c" else [answer]
        values = [plain(part.ravel().tolist(), digits) for part in parts]
        return {"dtype": str(answer.dtype), "shape": list(answer.shape), "values": values}
    return float(f"{answer:.{digits}g}") if type(answer) is float else answer


def restored(answer: Any) -> Any:
    """What `plain` was given, with lists for tuples."""
    if isinstance(answer, list):
        return [restored(value) for value in answer]
    if not isinstance(answer, dict):
        return answer
    if answer.keys() != {"dtype", "shape", "values"}:
        return {key: restored(value) for key, value in answer.items()}
    real, *imaginary = (np.array(part, "f8" if answer["dtype"][0] in "fc" else None) for part in answer["values"])
    whole = real + 1j * imaginary[0] if imaginary else real
    return whole.astype(answer["dtype"]).reshape(answer["shape"])


class Answers:
    """The recorded answers of all test files."""

    def __init__(self, regen: bool) -> None:
        self.regen = regen
        self.files: dict[Path, dict[str, Any]] = {}

    def answer(self, file: Path, question: str, ask: Callable[[], Any], digits: int) -> Any:
        """What PyTorch gives, and the recorded answer if it is not installed."""
        if file not in self.files:
            self.files[file] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        known = self.files[file]
        if self.regen and INSTALLED:
            known[question] = plain(ask(), digits)
        if question not in known:
            pytest.fail(f"{file} has no answer: write it with `pytest --regen` where PyTorch is installed")
        return restored(plain(ask())) if INSTALLED else restored(known[question])

    def write(self) -> None:
        """One answer a line, so that a diff shows which changed."""
        for file, known in self.files.items():
            file.parent.mkdir(exist_ok=True)
            lines = [f"{json.dumps(key)}: {json.dumps(known[key], separators=(',', ':'))}" for key in sorted(known)]
            file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")
