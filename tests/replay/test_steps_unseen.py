"""Changes between the calls of a compiled step that no operation shows: aliases, methods put in place of others."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn
from tests.replay.test_steps import alike

F = nn.functional
Wrap = Callable[[Any], Any]
#: yields what can be seen after each call; compiled by `wrap` or not
Story = Callable[[Wrap], Iterator[list[Any]]]


def seen(*things: Any) -> list[Any]:
    """Copies of values and gradients."""
    found: list[Any] = []
    for each in things:
        if isinstance(each, nn.Module):
            found += seen(*each.parameters(), *each.buffers())
        elif isinstance(each, sd.Tensor):
            grad = each.grad if each.is_leaf else None
            found += [each.numpy(force=True).copy(), None if grad is None else grad.numpy(force=True).copy()]
        else:
            found.append(f"{type(each).__name__}: {each}" if isinstance(each, Exception) else each)
    return found


def batches(count: int) -> Iterator[tuple[int, Any, Any]]:
    rng = np.random.default_rng(4)
    for k in range(count):
        yield k, sd.tensor(rng.normal(size=(4, 3)).astype(np.float32)), sd.tensor(rng.integers(0, 2, 4))


def trainer(model: Any, optimizer: Any) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def by_hand(parameters: tuple[Any, ...], clear: bool) -> Callable[..., Any]:
    a, b = parameters

    def step(x: Any) -> None:
        (a * b * x).sum().backward()
        with sd.no_grad():
            for p in parameters:
                p -= 0.1 * p.grad
                if clear:
                    p.grad = None

    return step


def indices_that_are_no_rows(wrap: Wrap) -> Iterator[list[Any]]:
    model = nn.Embedding(5, 2)
    step = wrap(trainer(model, sd.optim.SGD(model.parameters(), lr=0.1)))
    for k, _, y in batches(10):
        rows = np.arange(4)
        rows[0] = {6: -1, 8: 5}.get(k, 0)
        try:
            yield seen(step(sd.tensor(rows), y), model)
        except IndexError as error:
            yield seen(error, model)


def a_method_of_the_optimizer_itself(wrap: Wrap) -> Iterator[list[Any]]:
    model, log = nn.Linear(3, 2), []
    optimizer = sd.optim.SGD(model.parameters(), lr=0.1)
    step, original = wrap(trainer(model, optimizer)), optimizer.step
    for k, x, y in batches(10):
        if k == 5:
            optimizer.step = lambda: (log.append(1), original())[1]  # type: ignore[method-assign]
        if k == 8:
            del optimizer.step
        yield [*seen(step(x, y), model), len(log)]


def a_method_of_a_class_between(wrap: Wrap) -> Iterator[list[Any]]:
    class Base(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def part(self, x: Any) -> Any:
            return self.layer(x)

        def forward(self, x: Any) -> Any:
            return self.part(x)

    class Derived(Base):
        pass

    model = Derived()
    step = wrap(trainer(model, sd.optim.SGD(model.parameters(), lr=0.1)))
    for k, x, y in batches(12):
        if k == 5:
            Derived.part = lambda self, x: 2 * self.layer(x)  # type: ignore[method-assign]
        if k == 9:
            Derived.__call__ = lambda self, x: 3 * self.layer(x)  # type: ignore[method-assign]
        yield seen(step(x, y), model)


def gradients_that_are_returned(wrap: Wrap) -> Iterator[list[Any]]:
    model, kept = nn.Linear(3, 2), []

    def step(x: Any, y: Any) -> Any:
        F.cross_entropy(model(x), y).backward()
        return model.weight.grad

    compiled = wrap(step)
    for _, x, y in batches(8):
        kept.append(compiled(x, y))
        yield seen(*kept, model)


def lists_that_are_returned(wrap: Wrap) -> Iterator[list[Any]]:
    model, table = nn.Linear(3, 2), [1.0, 2.0]

    def step(x: Any, y: Any, names: Any) -> Any:
        F.cross_entropy(model(x), y).backward()
        return table, names

    compiled = wrap(step)
    for _, x, y in batches(6):
        names = ["a", "b"]
        first, second = compiled(x, y, names)
        yield [first is table, second is names, *seen(model)]


def results_that_share_memory(wrap: Wrap) -> Iterator[list[Any]]:
    weight = nn.Parameter(sd.ones(3))

    def step(x: Any) -> Any:
        with sd.no_grad():
            out = weight * x
        return out, out[0]

    compiled = wrap(step)
    for _, x, _ in batches(8):
        out, row = compiled(x)
        row.fill_(7.0)
        yield seen(out, row)


def _aliases(wrap: Wrap, clear: bool, join: Callable[[Any, Any], None]) -> Iterator[list[Any]]:
    a, b = nn.Parameter(sd.ones(3)), nn.Parameter(sd.full((3,), 2.0))
    step = wrap(by_hand((a, b), clear))
    for k in range(9):
        if k == 6:
            join(a, b)
        yield seen(step(sd.tensor([0.1, 0.2, 0.3]) * k), a, b)


def one_gradient_of_two(wrap: Wrap) -> Iterator[list[Any]]:
    def join(a: Any, b: Any) -> None:
        a.grad = b.grad = sd.zeros(3)

    return _aliases(wrap, False, join)


def one_array_of_two(wrap: Wrap) -> Iterator[list[Any]]:
    def join(a: Any, b: Any) -> None:
        b.data = a.data

    return _aliases(wrap, True, join)


def a_gradient_that_is_the_parameter(wrap: Wrap) -> Iterator[list[Any]]:
    def join(a: Any, b: Any) -> None:
        a.grad = a.detach()

    return _aliases(wrap, False, join)


def gradients_that_were_there(wrap: Wrap) -> Iterator[list[Any]]:
    weight = nn.Parameter(sd.ones(3))

    def step(x: Any) -> None:
        (weight * x).sum().backward()
        with sd.no_grad():
            weight.copy_(weight - 0.1 * weight.grad)
            weight.grad = None

    compiled = wrap(step)
    for k, x, _ in batches(9):
        if k == 6:
            weight.grad = sd.ones(3)
        yield seen(compiled(x), weight)


def gradients_of_others_that_are_cleared(wrap: Wrap) -> Iterator[list[Any]]:
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    optimizer, clearing = sd.optim.SGD(model.parameters(), lr=0.1), sd.optim.SGD(other.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        clearing.zero_grad()
        F.cross_entropy(model(x), y).backward()
        size = (model.weight.grad**2).sum()
        optimizer.step()
        optimizer.zero_grad()
        return size

    compiled = wrap(step)
    for k, x, y in batches(9):
        if k == 6:
            model.weight.grad = sd.ones(2, 3)
        yield seen(compiled(x, y), model)


def the_same_gradient_twice(wrap: Wrap) -> Iterator[list[Any]]:
    """The mean of both is what each is: one array in the program, which the first effects write to."""
    model = nn.Linear(3, 2)
    optimizer = sd.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        (loss / 2).backward(retain_graph=True)
        (loss * 0.5).backward()
        for p in model.parameters():
            p.grad.mul_(0.5)  # type: ignore[union-attr]
        optimizer.step()
        return loss

    compiled = wrap(step)
    for _, x, y in batches(8):
        yield seen(compiled(x, y), model)


def results_that_are_views(wrap: Wrap) -> Iterator[list[Any]]:
    model = nn.Linear(3, 2)

    def step(x: Any, y: Any) -> Any:
        out = model(x)
        F.cross_entropy(out, y).backward()
        return out.detach()[0]

    compiled = wrap(step)
    for _, x, y in batches(8):
        result = compiled(x, y)
        with pytest.raises(RuntimeError, match="detach views"):
            result.detach_()
        yield seen(result, model)


def results_that_were_written(wrap: Wrap) -> Iterator[list[Any]]:
    model = nn.Linear(3, 2)

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        loss += (model.weight**2).sum()
        loss.backward()
        return loss

    compiled = wrap(step)
    for _, x, y in batches(8):
        result = compiled(x, y)
        yield [*seen(result, model), result._version]


def hooks_of_an_optimizer(wrap: Wrap) -> Iterator[list[Any]]:
    model = nn.Linear(3, 2)
    optimizer = sd.optim.SGD(model.parameters(), lr=0.1)
    optimizer.register_step_post_hook(lambda *args: model.weight.grad.fill_(0.5))  # type: ignore[union-attr]

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        return model.weight.grad.sum()  # type: ignore[union-attr]

    compiled = wrap(step)
    for _, x, y in batches(8):
        yield seen(compiled(x, y), model)


def modes_that_need_every_operation(wrap: Wrap) -> Iterator[list[Any]]:
    model, packed = nn.Linear(3, 2), []
    step = wrap(trainer(model, sd.optim.SGD(model.parameters(), lr=0.1)))

    def pack(saved: Any) -> Any:
        packed.append(saved.shape)
        return saved

    for k, x, y in batches(12):
        try:
            hooks = sd.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved) if k == 6 else nullcontext()
            with hooks, sd.inference_mode(k == 8), sd.autograd.set_detect_anomaly(k == 10):
                result = step(x * np.nan if k == 10 else x, y)
        except RuntimeError as error:
            result = type(error).__name__
        yield [*seen(result, model), len(packed)]


def warnings_at_every_call(wrap: Wrap) -> Iterator[list[Any]]:
    model = nn.Linear(3, 2)

    def broadcasting(x: Any, y: Any) -> Any:
        loss = F.mse_loss(model(x), y.float()[:, None])
        loss.backward()
        return loss

    def guessing(x: Any, y: Any) -> Any:
        loss = F.softmax(model(x))[:, 0].sum()
        loss.backward()
        return loss

    def looking(x: Any, y: Any) -> Any:
        out = model(x)
        out.sum().backward()
        return out.grad

    steps = [wrap(broadcasting), wrap(guessing), wrap(looking)]
    for k, x, y in batches(8):
        for step in steps:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always" if k < 6 else "error")
                try:
                    result = step(x, y)
                except UserWarning as error:
                    result = str(error)
            yield [*seen(result, model), *(str(each.message) for each in caught)]


STORIES: list[Story] = [
    indices_that_are_no_rows, a_method_of_the_optimizer_itself, a_method_of_a_class_between,
    gradients_that_are_returned, lists_that_are_returned, results_that_share_memory,
    one_gradient_of_two, one_array_of_two, a_gradient_that_is_the_parameter,
    gradients_that_were_there, gradients_of_others_that_are_cleared, the_same_gradient_twice, results_that_are_views,
    results_that_were_written, hooks_of_an_optimizer, modes_that_need_every_operation,
    warnings_at_every_call,
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
def test_what_no_operation_shows_is_seen(story: Story) -> None:
    told = []
    for wrap in (lambda function: function, sd.compile):
        sd.manual_seed(1)
        told.append(list(story(wrap)))
    for eager, compiled in zip(*told, strict=True):
        alike(eager, compiled)


def test_a_gradient_function_that_warns_does_so_every_time() -> None:
    gradient = sd.grad(lambda x: F.softmax(x)[0, 0])
    for _ in range(6):
        with pytest.warns(UserWarning, match="Implicit dimension choice"):
            gradient(np.ones((2, 2)))


def shrunk(p: Any) -> None:
    p.mul_(0.9)


def clamped(p: Any) -> None:
    p.clamp_(-0.1, 0.1)


def scaled_in_place(p: Any) -> None:
    p *= 0.9


def stored(p: Any) -> None:
    p[...] = p * 0.5


def stored_in_part(p: Any) -> None:
    p[0] = 0.25


def stored_through_a_view(p: Any) -> None:
    p.view(-1)[0] *= 0.5


def copied(p: Any) -> None:
    p.copy_(p.abs())


def filled(p: Any) -> None:
    p.fill_(0.5)


def written_by_numpy(p: Any) -> None:
    np.multiply(p, 0.5, out=p)


def shaped(p: Any) -> None:
    p.shape = p.shape


@pytest.mark.parametrize(
    "write",
    [
        shrunk, clamped, scaled_in_place, stored, stored_in_part, stored_through_a_view, copied, filled,
        written_by_numpy, shaped,
    ],
)  # fmt: skip
@pytest.mark.parametrize("arrays", [False, True])
def test_parameters_written_after_the_step_of_an_optimizer_remain_leaves(
    write: Callable[[Any], None], arrays: bool
) -> None:
    """The recorder gives up in the middle of the write, which `no_grad` keeps out of the graph all the same."""

    def train(compiled: bool) -> list[Any]:
        sd.manual_seed(3)
        model = nn.Linear(3, 2)
        optimizer = sd.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with sd.no_grad():
                for p in model.parameters():
                    write(p)
            return loss.item()

        run: Any = sd.compile(step) if compiled else step
        found = []
        for _, x, y in batches(6):
            found.append(run(x.numpy(), y.numpy()) if arrays else run(x, y))
            found += seen(model)
            assert all(p.is_leaf and p.requires_grad and p.grad is not None for p in model.parameters())
        return found

    for mine, other in zip(train(True), train(False), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-7)
