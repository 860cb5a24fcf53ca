"""What is timed: training steps written once in NumPy's vocabulary.

A workload is a loss `loss(xp, params, data)`, to be differentiated with respect to every array of `params`; `xp` is a
library's NumPy-like namespace. Arrays are float32 unless the name ends in `_f64`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np


class Workload(NamedTuple):
    loss: Callable[[Any, list[Any], list[Any]], Any]
    params: list[Any]
    data: list[Any]


Maker = Callable[[np.random.Generator], Workload]

WORKLOADS: dict[str, Maker] = {}


def workload(make: Maker) -> Maker:
    WORKLOADS[make.__name__] = make
    return make


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0, dtype: Any = np.float32) -> Any:
    return (scale * rng.standard_normal(shape)).astype(dtype)


def mean_cross_entropy(xp: Any, logits: Any, targets: Any) -> Any:
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    log_norm = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
    return -xp.mean(xp.sum(targets * (shifted - log_norm), axis=1))


@workload
def linreg(rng: np.random.Generator) -> Workload:
    """A straight line through 100 points."""

    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        slope, offset = params
        x, y = data
        return xp.mean((slope * x + offset - y) ** 2)

    return Workload(loss, [normal(rng, 1), normal(rng, 1)], [normal(rng, 100, 1), normal(rng, 100, 1)])


def perceptron(rng: np.random.Generator, sizes: list[int], batch: int) -> Workload:
    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        hidden, targets = data
        *inner, weight, bias = params
        for k in range(0, len(inner), 2):
            hidden = xp.tanh(xp.matmul(hidden, inner[k]) + inner[k + 1])
        return mean_cross_entropy(xp, xp.matmul(hidden, weight) + bias, targets)

    params: list[Any] = []
    for rows, columns in pairwise(sizes):
        params += [normal(rng, rows, columns, scale=rows**-0.5), np.zeros(columns, np.float32)]
    targets = np.eye(sizes[-1], dtype=np.float32)[rng.integers(0, sizes[-1], batch)]
    return Workload(loss, params, [normal(rng, batch, sizes[0]), targets])


@workload
def mlp_small(rng: np.random.Generator) -> Workload:
    """Two hidden layers of 64, a mini-batch of 32."""
    return perceptron(rng, [64, 64, 64, 10], 32)


@workload
def mlp_large(rng: np.random.Generator) -> Workload:
    """Two hidden layers of 512, a mini-batch of 128: matrix products decide."""
    return perceptron(rng, [784, 512, 512, 10], 128)


def option_prices(rng: np.random.Generator, count: int) -> Workload:
    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        spot, strike, years, rate, volatility = params
        spread = volatility * xp.sqrt(years)
        d1 = (xp.log(spot / strike) + (rate + volatility * volatility / 2.0) * years) / spread
        below, above = (1.0 / (1.0 + xp.exp(-1.702 * d)) for d in (d1 - spread, d1))
        return xp.mean(spot * above - strike * xp.exp(-rate * years) * below)

    ranges = [(80, 120), (80, 120), (0.5, 2), (0.01, 0.1), (0.1, 0.5)]
    return Workload(loss, [rng.uniform(low, high, count).astype(np.float32) for low, high in ranges], [])


@workload
def pricing_1e3(rng: np.random.Generator) -> Workload:
    """A closed formula on a thousand options: elementwise operations on short arrays."""
    return option_prices(rng, 1_000)


@workload
def pricing_1e5(rng: np.random.Generator) -> Workload:
    """The same on a hundred thousand."""
    return option_prices(rng, 100_000)


@workload
def pricing_1e6(rng: np.random.Generator) -> Workload:
    """The same on a million: arrays that no cache holds."""
    return option_prices(rng, 1_000_000)


def recurrent_network(rng: np.random.Generator, steps: int) -> Workload:
    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        w_in, w_state, bias, w_out = params
        sequence, target = data
        state = xp.zeros((sequence.shape[1], w_state.shape[0]), dtype=xp.float32)
        for t in range(sequence.shape[0]):
            state = xp.tanh(xp.matmul(sequence[t], w_in) + xp.matmul(state, w_state) + bias)
        return xp.mean((xp.matmul(state, w_out) - target) ** 2)

    params = [normal(rng, 32, 64, scale=0.1), normal(rng, 64, 64, scale=0.1), normal(rng, 64), normal(rng, 64, 1)]
    return Workload(loss, params, [normal(rng, steps, 16, 32), normal(rng, 16, 1)])


@workload
def rnn(rng: np.random.Generator) -> Workload:
    """Fifty steps of a recurrent network."""
    return recurrent_network(rng, 50)


def even_rnn(rng: np.random.Generator, steps: int) -> Workload:
    """The same whose gradients neither grow nor vanish, however long it is: tiny numbers would be slow ones."""
    loss, (w_in, w_state, bias, w_out), (sequence, target) = recurrent_network(rng, steps)
    turn = np.linalg.qr(w_state.astype(float))[0].astype(np.float32)
    return Workload(loss, [w_in, turn, 0 * bias, w_out], [np.float32(1e-3) * sequence, target])


@workload
def pendulum_f64(rng: np.random.Generator) -> Workload:
    """A hundred steps of a simulation on two numbers: nothing but overhead."""

    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        angle, velocity = params
        for _ in range(100):
            angle, velocity = angle + 0.01 * velocity, velocity - 0.01 * xp.sin(angle)
        return angle * angle + velocity * velocity

    return Workload(loss, [np.array(1.0), np.array(0.5)], [])


@workload
def attention(rng: np.random.Generator) -> Workload:
    """One self-attention block."""

    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        w_query, w_key, w_value, w_out = params
        x, y = data
        query, key, value = (xp.matmul(x, weight) for weight in (w_query, w_key, w_value))
        scores = xp.matmul(query, xp.swapaxes(key, -1, -2)) * 0.125
        weights = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        weights = weights / xp.sum(weights, axis=-1, keepdims=True)
        return xp.mean((x + xp.matmul(xp.matmul(weights, value), w_out) - y) ** 2)

    return Workload(loss, [normal(rng, 64, 64, scale=0.125) for _ in range(4)], [normal(rng, 4, 64, 64) for _ in "xy"])


@workload
def mixture_f64(rng: np.random.Generator) -> Workload:
    """Log-likelihood of a thousand points under a mixture of 25 Gaussians in 10 dimensions."""

    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        log_weights, means, log_scales = params
        (points,) = data
        z = (xp.reshape(points, (points.shape[0], 1, points.shape[1])) - means) * xp.exp(-log_scales)
        score = log_weights - xp.sum(log_scales, axis=1) - 0.5 * xp.sum(z * z, axis=2)
        peak = xp.max(score, axis=1, keepdims=True)
        level = xp.log(xp.sum(xp.exp(score - peak), axis=1)) + peak[:, 0]
        return xp.log(xp.sum(xp.exp(log_weights))) - xp.mean(level)

    shapes = [(25,), (25, 10), (25, 10)]
    params = [normal(rng, *shape, scale=0.5, dtype=np.float64) for shape in shapes]
    return Workload(loss, params, [normal(rng, 1000, 10, dtype=np.float64)])


@workload
def factorisation(rng: np.random.Generator) -> Workload:
    """Rows of two tables picked by repeated indices."""

    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        users, items = params
        rows, columns, ratings = data
        score = xp.sum(users[rows] * items[columns], axis=1)
        return xp.mean((score - ratings) ** 2) + 1e-4 * (xp.sum(users * users) + xp.sum(items * items))

    pairs = [rng.integers(0, 500, 4096), rng.integers(0, 800, 4096), normal(rng, 4096)]
    return Workload(loss, [normal(rng, 500, 32, scale=0.1), normal(rng, 800, 32, scale=0.1)], pairs)


def random_lengths(rng: np.random.Generator) -> Workload:
    """A chain of 5 to 150 operations, drawn anew on every call: no graph is ever seen twice."""

    def loss(xp: Any, params: list[Any], data: list[Any]) -> Any:
        weight, bias = params
        x, draws = data
        for choice in draws.integers(0, 5, draws.integers(5, 150)):
            if choice == 0:
                x = xp.tanh(x + bias)
            elif choice == 1:
                x = x * weight
            elif choice == 2:
                x = x - 0.5
            elif choice == 3:
                x = xp.matmul(x, weight)
            else:
                x = xp.sin(x)
        return xp.mean(x * x)

    draws = np.random.default_rng(7)
    return Workload(loss, [normal(rng, 16, 16, scale=0.25), normal(rng, 16)], [normal(rng, 16, 16), draws])
