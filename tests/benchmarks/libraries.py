"""The libraries under comparison: each makes of a workload a function that computes the loss and all gradients once.

What a step returns is finished (nothing is computed later) and is the library's own; `to_numpy` makes arrays of it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.benchmarks.workloads import Workload

Step = Callable[[], tuple[Any, list[Any]]]


def srcdiff(work: Workload) -> Step:
    """Gradients of a function of arrays, whose calls are replayed where they repeat."""
    return _of_function(work, "auto")


def srcdiff_traced(work: Workload) -> Step:
    """The same without replays: the forward runs on every call."""
    return _of_function(work, "never")


def _of_function(work: Workload, replay: str) -> Step:
    sd = importlib.import_module("srcdiff")
    sd.config.replay = replay
    loss, params, data = work
    function = sd.value_and_grad(lambda params, data: loss(np, params, data))

    def step() -> tuple[Any, list[Any]]:
        return function(params, data)  # type: ignore[no-any-return]

    step.cache_info = function.cache_info  # type: ignore[attr-defined]
    return step


def srcdiff_eager(work: Workload) -> Step:
    """Tensors and `backward`, as in PyTorch."""
    sd = importlib.import_module("srcdiff")
    params = [sd.tensor(param, requires_grad=True) for param in work.params]

    def step() -> tuple[Any, list[Any]]:
        for param in params:
            param.grad = None
        loss = work.loss(np, params, work.data)
        loss.backward()
        return loss, [param.grad for param in params]

    return step


def autograd(work: Workload) -> Step:
    """HIPS autograd."""
    namespace = importlib.import_module("autograd.numpy")
    value_and_grad = importlib.import_module("autograd").value_and_grad
    function = value_and_grad(lambda params: work.loss(namespace, params, work.data))
    return lambda: function(work.params)


def jax(work: Workload) -> Step:
    """JAX, compiled."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", any(param.dtype == np.float64 for param in work.params))
    function = jax.jit(jax.value_and_grad(lambda params, data: work.loss(jax.numpy, params, data)))
    params, data = ([jax.numpy.asarray(array) for array in arrays] for arrays in (work.params, work.data))
    return lambda: jax.block_until_ready(function(params, data))


def torch(work: Workload) -> Step:
    """PyTorch, eager."""
    torch = importlib.import_module("torch")
    namespace = SimpleNamespace(**vars(torch))
    namespace.max = lambda x, axis, keepdims: torch.amax(x, axis, keepdims)
    params = [torch.tensor(param, requires_grad=True) for param in work.params]
    data = [torch.tensor(array) if isinstance(array, np.ndarray) else array for array in work.data]

    def step() -> tuple[Any, list[Any]]:
        for param in params:
            param.grad = None
        loss = work.loss(namespace, params, data)
        loss.backward()
        return loss, [param.grad for param in params]

    return step


def directions(work: Workload) -> list[Any]:
    """A tangent for each parameter."""
    rng = np.random.default_rng(1)
    return [np.asarray(rng.standard_normal(param.shape), param.dtype) for param in work.params]


def srcdiff_forward(work: Workload) -> Step:
    """The derivative of a function of arrays along tangents."""
    sd = importlib.import_module("srcdiff")
    loss_of, tangents = work.loss, directions(work)
    pushed = sd.jvp(lambda params, data: loss_of(np, params, data))

    def step() -> tuple[Any, list[Any]]:
        loss, slope = pushed((work.params, work.data), (tangents, None))
        return loss, [slope]

    return step


def jax_forward(work: Workload) -> Step:
    """`jax.jvp`, compiled."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", any(param.dtype == np.float64 for param in work.params))
    params, data, tangents = (
        [jax.numpy.asarray(array) for array in arrays] for arrays in (work.params, work.data, directions(work))
    )

    @jax.jit
    def pushed(params: Any, data: Any, tangents: Any) -> Any:
        return jax.jvp(lambda params: work.loss(jax.numpy, params, data), (params,), (tangents,))

    def step() -> tuple[Any, list[Any]]:
        loss, slope = jax.block_until_ready(pushed(params, data, tangents))
        return loss, [slope]

    return step


def torch_forward(work: Workload) -> Step:
    """PyTorch's dual tensors."""
    torch = importlib.import_module("torch")
    forward_ad = importlib.import_module("torch.autograd.forward_ad")
    namespace = SimpleNamespace(**vars(torch))
    namespace.max = lambda x, axis, keepdims: torch.amax(x, axis, keepdims)
    params, tangents = ([torch.tensor(array) for array in arrays] for arrays in (work.params, directions(work)))
    data = [torch.tensor(array) if isinstance(array, np.ndarray) else array for array in work.data]

    def step() -> tuple[Any, list[Any]]:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x, t) for x, t in zip(params, tangents, strict=True)]
            loss, slope = forward_ad.unpack_dual(work.loss(namespace, duals, data))
        return loss, [slope]

    return step


LIBRARIES: dict[str, Callable[[Workload], Step]] = {
    each.__name__: each for each in (srcdiff, srcdiff_traced, srcdiff_eager, torch, autograd, jax)
}
#: the same workloads, differentiated along a tangent of each parameter
FORWARD: dict[str, Callable[[Workload], Step]] = {
    each.__name__: each for each in (srcdiff_forward, torch_forward, jax_forward)
}
PACKAGES = {
    "srcdiff_traced": "srcdiff", "srcdiff_eager": "srcdiff",
    **{name: name.removesuffix("_forward") for name in FORWARD},
}  # fmt: skip


def installed(library: str) -> bool:
    """Whether the library can be imported here."""
    return importlib.util.find_spec(PACKAGES.get(library, library)) is not None


def warm_up(library: str) -> None:
    """Imports a library and has it differentiate something, so that the first step times tracing and compiling."""
    work = Workload(lambda xp, params, data: xp.sum(params[0] * params[0]), [np.ones(2, np.float32)], [])
    {**LIBRARIES, **FORWARD}[library](work)()


def to_numpy(value: Any) -> Any:
    return np.asarray(value.detach() if hasattr(value, "detach") else value)
