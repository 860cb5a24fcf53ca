"""Trains a small network on handwritten digits and shows the backward code that ran.

    python examples/digits.py [--epochs 20] [--plot digits.png]

The data are the 1797 images of 8 x 8 pixels that scikit-learn ships (UCI optical recognition of handwritten digits).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import srcdiff as sd

HIDDEN = 128
BATCH = 32


def load() -> list[np.ndarray]:
    """Images in [0, 1] and labels: training images, test images, training labels, test labels."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    return train_test_split(images, labels, test_size=360, random_state=0, stratify=labels)


def parameters(rng: np.random.Generator) -> list[sd.Tensor]:
    """Weights and biases of a network with one hidden layer."""

    def layer(rows: int, columns: int) -> list[sd.Tensor]:
        weight = rng.standard_normal((rows, columns)) / np.sqrt(rows)
        return [
            sd.tensor(weight.astype(np.float32), requires_grad=True),
            sd.zeros(columns, requires_grad=True),
        ]

    return layer(64, HIDDEN) + layer(HIDDEN, 10)


def digits_loss(w1, b1, w2, b2, images, targets):
    """Mean cross entropy of a batch; `targets` has a one in the column of the right digit."""
    hidden = sd.relu(images @ w1 + b1)
    logits = hidden @ w2 + b2
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum(targets * (shifted - log_norm), axis=1))


def one_hot(labels: np.ndarray) -> np.ndarray:
    """A row per label with a one in its column."""
    return np.eye(10, dtype=np.float32)[labels]


def accuracy(weights: Sequence[sd.Tensor], images: np.ndarray, labels: np.ndarray) -> float:
    """The fraction of images recognised."""
    w1, b1, w2, b2 = (weight.detach().numpy() for weight in weights)
    logits = np.maximum(images @ w1 + b1, 0) @ w2 + b2
    return float(np.mean(np.argmax(logits, axis=1) == labels))


def train(weights: Sequence[sd.Tensor], images: np.ndarray, labels: np.ndarray, epochs: int) -> list[float]:
    """Mini-batches and Adam; gives the loss of every step."""
    rng = np.random.default_rng(1)
    targets = one_hot(labels)
    optimizer = sd.optim.Adam(weights, lr=1e-2)
    schedule = sd.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    losses: list[float] = []
    bar = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in bar:
        order = rng.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            optimizer.zero_grad()
            loss = digits_loss(*weights, images[batch], targets[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        bar.set_postfix(loss=f"{np.mean(losses[-len(images) // BATCH :]):.4f}")
    return losses


def milliseconds(
    weights: Sequence[sd.Tensor], images: np.ndarray, targets: np.ndarray, rounds: int
) -> dict[str, float]:
    """The median time of forward and backward of one mini-batch, for each way to run the backward pass, in turns."""
    ways = {
        "walked, node by node": {"compile_after": 1_000_000},
        "interpreted, operation by operation": {"compile_after": 1, "backend": "interpret"},
        "compiled to the code above": {"compile_after": 1},
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, options in ways.items():
            sd.cache_clear()
            with sd.config(**options):
                digits_loss(*weights, images, targets).backward()  # compiles
                for _ in range(20):
                    start = time.perf_counter()
                    digits_loss(*weights, images, targets).backward()
                    times[way].append(time.perf_counter() - start)
    sd.cache_clear()
    return {way: 1000 * statistics.median(measured) for way, measured in times.items()}


def plot(losses: Sequence[float], epochs: int, path: Path) -> None:
    """The loss of every step, and its mean over each epoch."""
    steps = len(losses) // epochs
    figure = Figure(figsize=(7, 4))
    axes = figure.subplots()
    axes.plot(np.arange(len(losses)) / steps, losses, color="0.8", linewidth=0.8, label="each mini-batch")
    means = np.mean(np.reshape(losses, (epochs, steps)), axis=1)
    axes.plot(np.arange(epochs) + 0.5, means, marker="o", markersize=4, label="mean of an epoch")
    axes.set(
        xlabel="epoch", ylabel="cross entropy (log scale)", yscale="log", title="Training loss, handwritten digits"
    )
    axes.set_xlim(0, epochs)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> float:
    """Train, show, measure; gives the accuracy on the test images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10, help="of the comparison of times")
    parser.add_argument("--plot", type=Path, default=Path("digits.png"))
    options = parser.parse_args(arguments)

    train_images, test_images, train_labels, test_labels = load()
    weights = parameters(np.random.default_rng(0))
    losses = train(weights, train_images, train_labels, options.epochs)
    plot(losses, options.epochs, options.plot)

    images, targets = train_images[:BATCH], one_hot(train_labels[:BATCH])
    print("\nThe backward pass of the loss, as it was generated and ran:\n")
    print(sd.source(digits_loss(*weights, images, targets)))

    result = accuracy(weights, test_images, test_labels)
    print(f"test accuracy   {result:.1%} of {len(test_labels)} images")
    print(f"loss plot       {options.plot}\n")
    print(f"{'forward, and backward ...':40s} ms a mini-batch")
    for way, time_taken in milliseconds(weights, images, targets, options.rounds).items():
        print(f"  {way:38s} {time_taken:.3f}")
    return result


if __name__ == "__main__":
    main()
