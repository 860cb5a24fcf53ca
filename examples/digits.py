"""Trains a small network on handwritten digits and shows the backward code that ran.

    python examples/digits.py [--epochs 30] [--plot digits.png]

The data are the 1797 images of 8 x 8 pixels that scikit-learn ships (UCI optical recognition of handwritten digits).
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import srcdiff as sd

HIDDEN = 96
BATCH = 64


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


def digits_loss(w1, b1, w2, b2, images, labels):
    """Mean cross entropy of a batch, in plain NumPy."""
    hidden = np.tanh(images @ w1 + b1)
    logits = hidden @ w2 + b2
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_norm - shifted[np.arange(len(labels)), labels])


def accuracy(weights: list[sd.Tensor], images: np.ndarray, labels: np.ndarray) -> float:
    """The fraction of images recognised."""
    w1, b1, w2, b2 = (weight.detach().numpy() for weight in weights)
    logits = np.tanh(images @ w1 + b1) @ w2 + b2
    return float(np.mean(np.argmax(logits, axis=1) == labels))


def train(weights: list[sd.Tensor], images: np.ndarray, labels: np.ndarray, epochs: int) -> list[float]:
    """Mini-batches and Adam; gives the loss of every step."""
    rng = np.random.default_rng(1)
    optimizer = sd.optim.Adam(weights, lr=3e-3)
    losses = []
    for _ in tqdm(range(epochs), desc="training", unit="epoch"):
        order = rng.permutation(len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            optimizer.zero_grad()
            loss = digits_loss(*weights, images[batch], labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def milliseconds(weights: list[sd.Tensor], images: np.ndarray, labels: np.ndarray, backend: str, steps: int = 60) -> float:
    """The median time of one step, forward and backward."""
    times = []
    with sd.config(backend=backend, compile_after=1):
        sd.cache_clear()
        for _ in range(steps):
            start = time.perf_counter()
            digits_loss(*weights, images[:BATCH], labels[:BATCH]).backward()
            times.append(time.perf_counter() - start)
        sd.cache_clear()
    return 1000 * statistics.median(times)


def plot(losses: list[float], path: Path) -> None:
    """The loss of every step, and its running mean."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(losses, color="0.8", label="loss of a mini-batch")
    window = 22
    axes.plot(np.arange(window - 1, len(losses)), np.convolve(losses, np.ones(window) / window, "valid"), label="mean of an epoch")
    axes.set(xlabel="step", ylabel="cross entropy", yscale="log", title="Handwritten digits")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> float:
    """Train, show, measure; gives the accuracy on the test images."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--plot", type=Path, default=Path("digits.png"))
    options = parser.parse_args()

    train_images, test_images, train_labels, test_labels = load()
    weights = parameters(np.random.default_rng(0))
    losses = train(weights, train_images, train_labels, options.epochs)
    plot(losses, options.plot)

    print("\nThe backward pass of the loss, as it was generated and ran:\n")
    print(sd.source(digits_loss(*weights, train_images[:BATCH], train_labels[:BATCH])))

    result = accuracy(weights, test_images, test_labels)
    print(f"test accuracy  {result:.1%} of {len(test_labels)} images   (loss plot: {options.plot})\n")
    print("one step, forward and backward     ms")
    for backend, label in (("interpret", "interpreted, node by node"), ("numpy", "compiled")):
        print(f"  {label:30s} {milliseconds(weights, train_images, train_labels, backend):5.3f}")
    return result


if __name__ == "__main__":
    main()
