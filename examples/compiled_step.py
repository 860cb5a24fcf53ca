"""A training step of PyTorch's kind, compiled: model, loss, backward and optimizer as one generated function.

    python examples/compiled_step.py [--steps 600]

The step is written once, as it would be for PyTorch. `sd.compile` of it does the same: two networks that start alike
are trained on the same digits of scikit-learn's, one by the step as it is and one by the compiled one, and end alike.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import srcdiff as torch
from srcdiff import nn
from srcdiff.nn import functional as F

BATCH = 32
TRAINED = 1437  # images; the others are left for the end
Step = Callable[[Any, Any], Any]


def network() -> nn.Module:
    """One hidden layer; every call gives the same weights."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def training_step(model: nn.Module) -> Step:
    """The step that trains a model on a mini-batch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(images, labels):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def main(arguments: Sequence[str] | None = None) -> tuple[float, float]:
    """Train both, compare, measure; gives the largest difference of parameters, and the accuracy on the last images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args(arguments)

    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images / 16, dtype=torch.float32)
    labels = torch.tensor(labels)
    models = {"as written": network(), "compiled": network()}
    steps: dict[str, Any] = {name: training_step(model) for name, model in models.items()}
    steps["compiled"] = torch.compile(steps["compiled"])

    times: dict[str, list[float]] = {name: [] for name in steps}
    rng = np.random.default_rng(0)
    for _ in range(options.steps):
        batch = torch.tensor(rng.integers(0, TRAINED, BATCH))
        x, y = images[batch], labels[batch]
        for name, step in steps.items():  # in turns, so that what else the machine does hits both
            begin = time.perf_counter()
            step(x, y)
            times[name].append(1e3 * (time.perf_counter() - begin))

    compiled = steps["compiled"]
    print("What was generated for the step. Its gradients are then accumulated, and the optimizer is called:\n")
    print(compiled.source(x, y))
    print(compiled.explain(x, y))
    print(f"\n{'ms a step':14s} median   first three")
    for name, measured in times.items():
        first = "  ".join(f"{each:.1f}" for each in measured[:3])
        print(f"  {name:12s} {statistics.median(measured):6.3f}   {first}")
    info = compiled.cache_info()
    print(f"\n{info.traced} calls of the compiled step ran as written, {info.replayed} as one generated function")

    with torch.no_grad():
        pairs = zip(*(model.parameters() for model in models.values()), strict=True)
        difference = max((one - other).abs().max().item() for one, other in pairs)
        found = models["compiled"](images[TRAINED:]).argmax(1)
        accuracy = (found == labels[TRAINED:]).double().mean().item()
    print(f"largest difference of a parameter after {options.steps} steps: {difference:.1e}")
    print(f"test accuracy: {accuracy:.1%} of {len(labels) - TRAINED} images")
    return difference, accuracy


if __name__ == "__main__":
    main()
