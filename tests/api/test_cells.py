"""Programs typed in pieces, as in a notebook: the code of a cell is gone once it has run, its names are not."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

import srcdiff as sd


def run(number: int, text: str, namespace: dict[str, Any]) -> None:
    name = f"<cell {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), namespace)


def test_the_code_of_a_graph_from_an_earlier_cell_has_its_names() -> None:
    namespace: dict[str, Any] = {"np": np, "weights": sd.tensor([1.0, 2.0], requires_grad=True)}
    run(1, "hidden = np.tanh(weights)\nloss = np.sum(hidden * hidden)\n", namespace)
    source = sd.source(namespace["loss"])
    assert "# hidden = np.tanh(weights)" in source and "<cell 1>:1" in source and "g_weights = " in source


def test_a_graph_that_was_freed_shows_the_code_that_ran() -> None:
    weights = sd.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(3):
        loss = np.sum(np.exp(weights))
        loss.backward()
    ran = loss.grad_fn.site.executables[0]
    assert sd.source(loss) == ran.source
    assert sd.program(loss) is ran.program


def test_gradients_of_leaves_come_in_the_order_of_use() -> None:
    first, second, third = (sd.tensor([1.0], requires_grad=True) for _ in range(3))
    loss = np.sum(np.exp(first * second) * third)
    assert "return g_first, g_second, g_third" in sd.source(loss)
