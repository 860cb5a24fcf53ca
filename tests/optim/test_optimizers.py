"""Optimizers take PyTorch's steps, and keep groups and state as it does."""

from __future__ import annotations

import copy
import functools
import importlib
import io
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from srcdiff import optim
from srcdiff.creation import from_numpy, ones, tensor
from srcdiff.nn import Linear, Parameter
from srcdiff.nn.functional import mse_loss
from tests.answers import plain

Peer = Callable[..., Any]

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True}),
    ("RMSprop", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.5, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
]  # fmt: skip


def starts() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(3, 2)), rng.normal(size=4), rng.normal(size=())]


def gradients(steps: int) -> Iterator[list[Any]]:
    rng = np.random.default_rng(1)
    for _ in range(steps):
        yield [np.asarray(rng.normal(size=v.shape)) for v in starts()]


def run(make: Any, parameters: list[Any], wrap: Any, steps: int = 6) -> list[Any]:
    optimizer = make(parameters)
    for grads in gradients(steps):
        for p, grad in zip(parameters, grads, strict=True):
            p.grad = wrap(grad.astype(p.detach().numpy().dtype))
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


def parameters(dtype: Any = np.float64) -> list[Any]:
    return [Parameter(from_numpy(np.asarray(v, dtype))) for v in starts()]


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_steps_are_pytorchs(name: str, options: dict[str, Any], dtype: Any, rtol: float, pytorch: Peer) -> None:
    def peers() -> list[Any]:
        torch = importlib.import_module("torch")
        made = [torch.nn.Parameter(torch.tensor(np.asarray(v, dtype))) for v in starts()]
        return run(lambda ps: getattr(torch.optim, name)(ps, **options), made, torch.tensor)

    ours = run(lambda ps: getattr(optim, name)(ps, **options), parameters(dtype), from_numpy)
    theirs = pytorch(peers)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_state_and_options_have_pytorchs_names(name: str, options: dict[str, Any], pytorch: Peer) -> None:
    def stepped(optimizer: Any) -> dict[str, Any]:
        optimizer.step()
        kept = optimizer.state_dict()
        state = {key: value.numpy() for key, value in kept["state"].get(0, {}).items() if value is not None}
        return {"groups": kept["param_groups"], "state": state, "repr": repr(optimizer)}

    def peer() -> dict[str, Any]:
        torch = importlib.import_module("torch")
        p = torch.nn.Parameter(torch.ones(2))
        p.grad = torch.ones(2)
        return stepped(getattr(torch.optim, name)([p], **options))

    ours, theirs = stepped(getattr(optim, name)(ones_once(), **options)), pytorch(peer)
    assert plain(ours["groups"]) == theirs["groups"] and ours["repr"] == theirs["repr"]
    assert ours["state"].keys() == theirs["state"].keys()
    for key, value in theirs["state"].items():
        np.testing.assert_allclose(ours["state"][key], value, rtol=1e-6)


def ones_once() -> list[Any]:
    p = Parameter(ones(2))
    p.grad = ones(2)
    return [p]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_state_loaded_midway_continues_alike(name: str, options: dict[str, Any]) -> None:
    make = functools.partial(getattr(optim, name), **options)
    whole = run(make, parameters(), from_numpy)
    ps = parameters()
    first = make(ps)
    for k, grads in enumerate(gradients(6)):
        for p, grad in zip(ps, grads, strict=True):
            p.grad = from_numpy(grad)
        if k == 3:
            second = make(ps)
            file = io.BytesIO()
            pickle.dump(first.state_dict(), file)
            file.seek(0)
            second.load_state_dict(pickle.load(file))
            first = second
        first.step()
    for p, want in zip(ps, whole, strict=True):
        assert np.array_equal(p.detach().numpy(), want)


def test_groups_have_their_own_options() -> None:
    a, b = ones_once() + ones_once()
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5}], lr=0.1)
    optimizer.step()
    assert a.tolist() == pytest.approx([0.9, 0.9]) and b.tolist() == [0.5, 0.5]
    (c,) = ones_once()
    optimizer.add_param_group({"params": c, "weight_decay": 1.0})
    optimizer.step()
    assert c.tolist() == pytest.approx([0.8, 0.8])
    named = optim.SGD(Linear(1, 1).named_parameters(), lr=0.1)
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]


def test_parameters_without_gradient_stay() -> None:
    p = Parameter(ones(2))
    optimizer = optim.Adam([p])
    optimizer.step()
    assert p.tolist() == [1.0, 1.0] and not optimizer.state


def test_zero_grad() -> None:
    (p,) = ones_once()
    optimizer = optim.SGD([p], lr=0.1)
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_a_closure_is_run_with_gradients_and_its_loss_returned() -> None:
    p = Parameter(tensor([2.0]))
    optimizer = optim.SGD([p], lr=0.25)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4.0
    assert p.item() == 1.0


def test_hooks_run_around_steps() -> None:
    (p,) = ones_once()
    optimizer = optim.SGD([p], lr=1.0)
    seen: list[Any] = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(p.tolist()))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(p.tolist()))
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert seen == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]


def test_a_step_makes_saved_values_stale() -> None:
    p = Parameter(tensor([1.0, 2.0]))
    loss = (p * p).sum()
    loss.backward(retain_graph=True)
    optim.SGD([p], lr=0.1).step()
    assert p._version == 1
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*is at version 1; expected version 0"):
        loss.backward()


def test_users_optimizers() -> None:
    class Sign(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data -= group["lr"] * p.grad.sign()

    (p,) = ones_once()
    Sign([p], 0.5).step()
    assert p.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (lambda p: optim.SGD([p], lr=-1.0), r"Invalid learning rate: -1\.0"),
        (lambda p: optim.SGD([p], momentum=-1.0), r"Invalid momentum value: -1\.0"),
        (lambda p: optim.SGD([p], nesterov=True), "Nesterov momentum requires a momentum"),
        (lambda p: optim.Adam([p], betas=(1.0, 0.9)), r"Invalid beta parameter at index 0: 1\.0"),
        (lambda p: optim.Adam([p], eps=-1), "Invalid epsilon value: -1"),
        (lambda p: optim.SGD([]), "optimizer got an empty parameter list"),
        (lambda p: optim.SGD([p * 2]), "can't optimize a non-leaf Tensor"),
        (lambda p: optim.SGD([p, p]), "duplicate parameters"),
        (lambda p: optim.SGD([{"params": [p]}, {"params": [p]}]), "more than one parameter group"),
        (lambda p: optim.SGD(p), "should be an iterable"),
        (
            lambda p: optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
            "different number of parameter groups",
        ),
    ],
)
def test_errors(action: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        action(Parameter(ones(2)))


def test_copies_continue_alike() -> None:
    (p,) = ones_once()
    optimizer = optim.Adam([p])
    optimizer.step()
    q, other = copy.deepcopy((p, optimizer))
    q.grad = ones(2)
    assert other.param_groups[0]["params"][0] is q
    optimizer.step()
    other.step()
    assert p.tolist() == q.tolist()


def test_a_small_regression_is_learned() -> None:
    rng = np.random.default_rng(0)
    x = from_numpy(rng.normal(size=(64, 3)))
    y = from_numpy(x.numpy() @ np.array([[1.0], [-2.0], [0.5]]) + 0.3)
    model = Linear(3, 1).double()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    for _ in range(300):
        optimizer.zero_grad()
        loss = mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-6
