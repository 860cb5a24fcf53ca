"""A recurrent network forecasts a measured series, one step ahead.

    python examples/forecast.py [--epochs 40] [--plot forecast.png]

The series is the recording of brain waves that Matplotlib ships (eeg.dat: 800 samples of four electrodes). The network
learns on the first 600 and is judged on the last 200, beside two forecasts without a network: the next sample is like
the last one, and a linear function of the same 12 samples, fitted by least squares. So short a series is nearly linear:
the network beats the naive forecast, and not the linear one.

The network is a Python loop over NumPy arrays. From its third call on, value and gradient run as one generated
function, in which the loop is a loop again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.cbook import get_sample_data
from matplotlib.figure import Figure
from tqdm import tqdm

import srcdiff as sd

HIDDEN = 16
WINDOW = 12  # samples that a forecast sees
TRAINED = 600


def load() -> tuple[np.ndarray, np.ndarray]:
    """Windows of the series, samples first (WINDOW, count, 4), and the samples that follow them (count, 4)."""
    with get_sample_data("eeg.dat") as file:
        series = np.frombuffer(file.read()).reshape(-1, 4)
    windows = np.lib.stride_tricks.sliding_window_view(series[:-1], WINDOW, axis=0)
    return np.ascontiguousarray(windows.transpose(2, 0, 1)), series[WINDOW:]


def start(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights and biases."""
    shapes = {"w_in": (4, HIDDEN), "w": (HIDDEN, HIDDEN), "b": (HIDDEN,), "w_out": (HIDDEN, 4), "b_out": (4,)}
    return {
        name: rng.standard_normal(shape) / (2 * np.sqrt(shape[0])) if len(shape) == 2 else np.zeros(shape)
        for name, shape in shapes.items()
    }


def forecast(p, windows):
    """The samples after the windows: the last ones of these, and what the network adds to them."""
    h = np.zeros((windows.shape[1], HIDDEN))
    for t in range(WINDOW):
        h = np.tanh(windows[t] @ p["w_in"] + h @ p["w"] + p["b"])
    return windows[-1] + h @ p["w_out"] + p["b_out"]


@sd.value_and_grad
def mean_square(p, windows, following):
    """What is minimised."""
    return np.mean((forecast(p, windows) - following) ** 2)


def train(
    p: dict[str, np.ndarray], windows: np.ndarray, following: np.ndarray, epochs: int
) -> tuple[dict[str, np.ndarray], list[float]]:
    """Adam with mini-batches of 64 windows and a falling rate; gives the parameters and the loss of every epoch."""
    rng = np.random.default_rng(1)
    mean = {name: np.zeros_like(value) for name, value in p.items()}
    square = {name: np.zeros_like(value) for name, value in p.items()}
    losses = []
    step = 0
    bar = tqdm(range(epochs), desc="training", unit="epoch")
    for epoch in bar:
        rate = 0.005 * (1 - epoch / epochs)
        order = rng.permutation(len(following))
        batches = [order[k : k + 64] for k in range(0, len(order) - 63, 64)]
        total = 0.0
        for batch in batches:
            loss, g = mean_square(p, windows[:, batch], following[batch])
            total += float(loss)
            step += 1
            for name, slope in g.items():
                mean[name] += 0.1 * (slope - mean[name])
                square[name] += 0.01 * (slope**2 - square[name])
                size = np.sqrt(square[name] / (1 - 0.99**step)) + 1e-8
                p[name] -= rate * mean[name] / (1 - 0.9**step) / size
        losses.append(total / len(batches))
        bar.set_postfix(loss=f"{losses[-1]:.4f}")
    return p, losses


def linear(windows: np.ndarray, following: np.ndarray, later: np.ndarray) -> np.ndarray:
    """Forecasts for later windows by a linear function of all samples in a window."""
    rows, later_rows = (np.concatenate([*each, np.ones((each.shape[1], 1))], axis=1) for each in (windows, later))
    return later_rows @ np.linalg.lstsq(rows, following, rcond=None)[0]


def plot(losses: Sequence[float], following: np.ndarray, forecasts: dict[str, np.ndarray], path: Path) -> None:
    """The loss of every epoch; and of one electrode the samples and what was forecast."""
    figure = Figure(figsize=(9, 6))
    above, below = figure.subplots(2)
    above.plot(np.arange(1, len(losses) + 1), losses, marker="o", markersize=3)
    above.set(xlabel="epoch", ylabel="mean square error", title="Training loss")
    shown = slice(0, 80)
    below.plot(following[shown, 0], color="black", label="measured")
    for (name, values), style in zip(forecasts.items(), (":", "--", "-"), strict=True):
        below.plot(values[shown, 0], style, linewidth=1, label=name)
    below.set(xlabel="sample after the first 600", ylabel="first electrode", title="One sample ahead, unseen data")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    below.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Train, compare, show; gives the mean square errors of the forecasts on the unseen samples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--plot", type=Path, default=Path("forecast.png"))
    options = parser.parse_args(arguments)

    windows, following = load()
    first = TRAINED - WINDOW
    seen, unseen = windows[:, :first], windows[:, first:]
    p, losses = train(start(np.random.default_rng(0)), seen, following[:first], options.epochs)

    forecasts = {
        "like the last sample": unseen[-1],
        "linear": linear(seen, following[:first], unseen),
        "recurrent network": forecast(p, unseen),
    }
    errors = {name: float(np.mean((each - following[first:]) ** 2)) for name, each in forecasts.items()}
    print(f"\n{'mean square error of 200 forecasts':38s} of the last sample's")
    for name, error in errors.items():
        print(f"  {name:24s} {error:.3f} {error / errors['like the last sample']:20.0%}")

    info = mean_square.cache_info()
    print(f"\n{info.traced} calls ran the loop above, {info.replayed} the function generated from it:")
    print(mean_square.explain(p, seen[:, :64], following[:64]))
    plot(losses, following[first:], forecasts, options.plot)
    print(f"\nplot  {options.plot}")
    return errors


if __name__ == "__main__":
    main()
