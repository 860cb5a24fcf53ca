"""Random worlds to train in, written as source text: a model, an optimizer, a step, and what happens between steps.

A world's module defines `model`, `ema`, `optimizer`, `schedule`, `step(x, y, k)` and what these read from outside.
"""

from __future__ import annotations

import random
import re

from tests.property import pieces
from tests.property.pieces import Pieces

CHOICE = re.compile(r"<:(.*?):>")
NAME = re.compile(r"(?<=self\.)@|(?<=\")@(?=\")")


class Writer:
    """One module, as it grows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        #: two of three worlds do nothing that keeps their step from being replayed, as far as pieces can tell
        self.tidy = self.random.random() < 0.65
        self.seldom = 0.0 if self.tidy else 0.08
        self.made: list[str] = []
        self.forward: list[str] = []
        self.count = 0

    def choice(self, parts: Pieces) -> str:
        """A piece with its parameters chosen, and a name of its own."""
        common, seldom = parts
        self.count += 1
        piece = self.random.choice(seldom if seldom and self.random.random() < self.seldom else common)
        piece = NAME.sub(f"p{self.count}", piece)
        return CHOICE.sub(lambda found: self.random.choice(found[1].split("|")), piece)

    def layer(self, parts: Pieces) -> None:
        """A piece of the model: what its __init__ makes, and what forward does."""
        made, _, forward = self.choice(parts).rpartition("---\n")
        self.made += made.splitlines()
        self.forward += forward.splitlines()

    def model(self, name: str) -> list[str]:
        self.made, self.forward = [], []
        self.layer(pieces.FIRST)
        for _ in range(self.random.randrange(1, 4)):
            self.layer(pieces.MIDDLE)
        return [
            f"class {name}(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            *(f"        {line}" for line in self.made),
            "        self.out = nn.Linear(4, 2)",
            "    def forward(self, x):",
            *(f"        {line}" for line in self.forward),
            "        return self.out(h)",
        ]

    def some(self, parts: Pieces, chance: float) -> list[str]:
        return self.choice(parts).splitlines() if self.random.random() < chance else []

    def step(self) -> list[str]:
        r = self.random
        clearing, loss = self.choice(pieces.CLEARING).splitlines(), self.choice(pieces.LOSSES).splitlines()
        lines = ["out = model(x)", *self.some(pieces.EXTRAS, 0.3), *loss, *self.some(pieces.EXTRAS, 0.3)]
        run = self.choice(pieces.RUNS).splitlines()
        if r.random() < 0.5:
            lines = [*clearing, *lines, *run]
        else:
            lines = [*lines, *clearing, *run]
        if not self.tidy:
            lines += self.some(pieces.EXTRAS, 0.3)
        lines += [*self.some(pieces.UPDATES, 0.9), *self.some(pieces.AFTERWARDS, 0.1 if self.tidy else 0.5)]
        if r.random() < 0.15:
            place = r.randrange(len(lines) + 1)
            while place < len(lines) and lines[place].startswith((" ", "except", "finally", "else")):
                place += 1
            lines[place:place] = self.choice(pieces.UNUSUAL).splitlines()
        return [*lines, *self.choice(pieces.RESULTS).splitlines()]


def world(seed: int, exact: bool) -> str:
    """The text of a module."""
    w = Writer(seed)
    optimizer = w.choice(pieces.OPTIMIZERS)
    form = w.random.choice([""] * 4 + ["Pair", "Batch"])
    given = "batch" if form else "x, y"
    if not exact:  # what is divided by the size of a gradient that is rounding errors alone may be anything
        optimizer = optimizer.replace("lr=", "eps=0.01, lr=") if "SGD" not in optimizer else optimizer
    return "\n".join([
        pieces.HEAD,
        f"FORM = {form!r}",
        *w.model("Net"),
        *w.choice(pieces.DEFINITIONS).splitlines(),
        f"sd.manual_seed({seed % 1000})",
        "model = Net()",
        "ema = copy.deepcopy(model)",
        *(["model = model.double()"] if w.random.random() < 0.3 else []),
        optimizer,
        w.choice(pieces.SCHEDULES),
        f"def step({given}, k=2{w.random.choice(['', ', *, scale=1.0'])}):",
        *(["    x, y = batch.x, batch.y"] if form else []),
        *(f"    {line}" for line in w.step()),
        pieces.TAIL,
    ])  # fmt: skip


def action(r: random.Random) -> str:
    """Something that is done between two calls."""
    common, seldom = pieces.ACTIONS
    piece = r.choice(seldom if r.random() < 0.3 else common).strip()
    return CHOICE.sub(lambda found: r.choice(found[1].split("|")), piece)
