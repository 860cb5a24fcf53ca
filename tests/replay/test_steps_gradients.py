"""Steps that compute with gradients: penalties, steps within steps, adversarial batches, gradients put in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.replay.test_stages import Step, World, batch, check_training


def params(w: World) -> list[Any]:
    return list(w.model.parameters())


def move(w: World, loss: Any) -> Any:
    w.optimizer.zero_grad()
    loss.backward()
    w.optimizer.step()
    return loss.detach()


def assigned(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.loss(x, y)
        for p, g in zip(params(w), sd.autograd.grad(loss, params(w)), strict=True):
            p.grad = g
        w.optimizer.step()
        return loss.detach()

    return step


def normalised(w: World) -> Step:
    """The gradients are read, clipped and scaled after that."""

    def step(x: Any, y: Any) -> Any:
        loss = w.loss(x, y)
        gradients = sd.autograd.grad(loss, params(w))
        size = sum((g * g).sum() for g in gradients) ** 0.5
        for p, g in zip(params(w), gradients, strict=True):
            p.grad = g / size
            p.grad.mul_(0.5)
        sd.nn.utils.clip_grad_norm_(params(w), 0.1)
        w.optimizer.step()
        return loss.detach(), size

    return step


def added_to(w: World) -> Step:
    """Backward adds to what was put there; what is written to the tensor shows in the gradient."""

    def step(x: Any, y: Any) -> Any:
        first = sd.ones_like(w.model[0].weight)
        w.optimizer.zero_grad()
        w.model[0].weight.grad = first
        loss = w.loss(x, y)
        loss.backward()
        first.mul_(0.5)
        w.optimizer.step()
        return loss.detach()

    return step


def penalty(w: World) -> Step:
    """The penalty of a Wasserstein GAN: a gradient with respect to a mixture that requires grad."""

    def step(x: Any, y: Any) -> Any:
        mixed = (0.5 * x + 0.5 * y).detach().requires_grad_()
        (g,) = sd.autograd.grad(w.model(mixed).sum(), mixed, create_graph=True)
        return move(w, w.model(x).mean() + 10 * ((g.norm(dim=1) - 1) ** 2).mean())

    return step


def looking_ahead(w: World) -> Step:
    """The loss after a step of gradient descent, differentiated through that."""

    def step(x: Any, y: Any) -> Any:
        gradients = sd.autograd.grad(w.loss(x, y), params(w), create_graph=True)
        a, b, c, d = (p - 0.1 * g for p, g in zip(params(w), gradients, strict=True))
        return move(w, ((sd.tanh(x @ a.T + b) @ c.T + d - y) ** 2).mean())

    return step


def adversarial(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        near = x.clone().detach().requires_grad_(True)
        w.loss(near, y).backward()
        return move(w, w.loss(x + 0.1 * near.grad.sign(), y))

    return step


def two_of_one(w: World) -> Step:
    """One tensor as two gradients: what is done to one is done to both."""

    def step(x: Any, y: Any) -> Any:
        loss = w.loss(x, y)
        move(w, loss)
        g = w.model[0].bias.detach() * 0.1
        w.model[0].bias.grad = g
        w.average[0].bias.grad = g
        w.model[0].bias.grad.mul_(2)
        return loss.detach()

    return step


def frozen(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        w.model[0].bias.requires_grad_(not w.model[0].bias.requires_grad)
        return move(w, w.loss(x, y))

    return step


def handed_out(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.loss(x, y)
        (g,) = sd.autograd.grad(loss, [w.model[0].bias])
        w.model[0].bias.grad = g
        return g

    return step


REPLAYED = [assigned, normalised, added_to, penalty, looking_ahead, adversarial]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("make", [*REPLAYED, two_of_one, frozen, handed_out])
def test_steps_with_gradients_do_what_they_do_uncompiled(make: Any, exact: bool) -> None:
    check_training(make, exact, 5 if make in REPLAYED else 0, rtol=1e-3, atol=1e-5)


def test_a_gradient_that_a_replay_has_put_in_place_is_the_parameters_own() -> None:
    w = World()
    step = sd.compile(assigned(w))
    for k in range(5):
        step(*batch(k))
    before = [p.grad for p in params(w)]
    values = [g.numpy().copy() for g in before]
    step(*batch(6))
    for p, g, value in zip(params(w), before, values, strict=True):
        assert p.grad is not g
        np.testing.assert_array_equal(g.numpy(), value)
