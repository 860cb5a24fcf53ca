"""Modules with the same state compute what PyTorch's do, with the same gradients, state, text and refusals."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.answers import plain

Peer = Callable[..., Any]

#: inputs by name, in float64 but for integers
INPUTS: dict[str, Any] = {
    "x": ("real", (4, 6)),
    "y": ("real", (4, 6)),
    "p": ("share", (4, 6)),
    "q": ("share", (4, 6)),
    "v": ("real", (4,)),
    "w": ("real", (4,)),
    "l": ("real", (2, 4, 9)),
    "i": ("real", (2, 4, 6, 5)),
    "c": ("real", (1, 4, 4, 4, 4)),
    "k": np.array([0, 5, 2, 2]),
    "s": np.array([1.0, -1.0, 1.0, -1.0]),
    "e": np.array([[1, 0, 1], [3, 1, 1]]),
}

#: a module, and the names of its inputs
MODULES = """
nn.Identity(3, odd=True): x
nn.Linear(6, 3): x
nn.Linear(6, 3, bias=False): x
nn.Bilinear(6, 6, 2): x y
nn.Bilinear(6, 6, 2, bias=False): x y
nn.Flatten(): i
nn.Flatten(0, 2): i
nn.Unflatten(1, (2, 3)): x
nn.Unflatten(1, (2, -1)): x
nn.Embedding(4, 3): e
nn.Embedding(4, 3, padding_idx=-3): e
nn.Dropout(0.2).eval(): x
nn.Dropout(0.0): x
nn.Dropout1d().eval(): l
nn.Dropout2d().eval(): i
nn.Dropout3d().eval(): c
nn.AlphaDropout(0.3).eval(): x
nn.ReLU(): x
nn.ReLU(inplace=True).eval(): p
nn.ReLU6(): x
nn.SELU(): x
nn.SiLU(): x
nn.Mish(): x
nn.Hardsigmoid(): x
nn.Hardswish(): x
nn.Sigmoid(): x
nn.Tanh(): x
nn.LogSigmoid(): x
nn.Softsign(): x
nn.Tanhshrink(): x
nn.LeakyReLU(0.3): x
nn.ELU(0.7): x
nn.CELU(1.3): x
nn.GELU(): x
nn.GELU('tanh'): x
nn.Softplus(2.0, 3.0): x
nn.Hardtanh(-0.5, 0.5): x
nn.Threshold(0.5, -2.0): x
nn.Softshrink(): x
nn.Hardshrink(0.7): x
nn.GLU(): x
nn.GLU(dim=0): x
nn.Softmax(dim=1): x
nn.LogSoftmax(dim=0): x
nn.Softmin(dim=1): x
nn.PReLU(): x
nn.PReLU(6): x
nn.LayerNorm(6): x
nn.LayerNorm((6, 5)): i
nn.LayerNorm(6, elementwise_affine=False): x
nn.LayerNorm(6, bias=False): x
nn.RMSNorm(6): x
nn.RMSNorm(6, elementwise_affine=False): x
nn.GroupNorm(2, 4): l
nn.GroupNorm(2, 4, affine=False): l
nn.BatchNorm1d(6): x
nn.BatchNorm1d(4): l
nn.BatchNorm1d(6, affine=False): x
nn.BatchNorm1d(6, momentum=None): x
nn.BatchNorm1d(6, track_running_stats=False): x
nn.BatchNorm1d(6).eval(): x
nn.BatchNorm2d(4): i
nn.BatchNorm3d(4): c
nn.Conv1d(4, 6, 3): l
nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False): l
nn.Conv1d(4, 4, 3, padding='same', padding_mode='circular'): l
nn.Conv1d(4, 4, 3, padding=2, padding_mode='reflect'): l
nn.Conv2d(4, 3, (2, 3)): i
nn.Conv2d(4, 3, 3, padding=1, padding_mode='replicate'): i
nn.Conv3d(4, 2, 2): c
nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1, groups=2): l
nn.ConvTranspose2d(4, 3, 2, padding=1): i
nn.MaxPool1d(3): l
nn.MaxPool1d(3, 2, 1, 2): l
nn.MaxPool2d((3, 2), stride=1): i
nn.AvgPool1d(3, 2, 1): l
nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False): i
nn.AdaptiveAvgPool1d(3): l
nn.AdaptiveAvgPool2d((2, 3)): i
nn.AdaptiveAvgPool2d((None, 3)): i
nn.Sequential(nn.Linear(6, 3), nn.Tanh()): x
nn.MSELoss(): x y
nn.MSELoss(reduction='sum'): x y
nn.MSELoss(reduce=False): x y
nn.MSELoss(size_average=False): x y
nn.L1Loss(): x y
nn.SmoothL1Loss(beta=0.5): x y
nn.HuberLoss(delta=0.5): x y
nn.SoftMarginLoss(): v s
nn.NLLLoss(): x k
nn.NLLLoss(ignore_index=2, reduction='none'): x k
nn.CrossEntropyLoss(): x k
nn.CrossEntropyLoss(label_smoothing=0.1): x k
nn.BCELoss(): p q
nn.BCEWithLogitsLoss(): x q
nn.KLDivLoss(reduction='batchmean'): x q
nn.KLDivLoss(log_target=True, reduction='sum'): x y
nn.PoissonNLLLoss(): x q
nn.PoissonNLLLoss(log_input=False, full=True): p q
nn.GaussianNLLLoss(): x y p
nn.HingeEmbeddingLoss(0.5): v s
nn.MarginRankingLoss(0.5): v w s
nn.CosineEmbeddingLoss(0.1): x y s
nn.TripletMarginLoss(swap=True): x y p
nn.CosineSimilarity(): x y
nn.PairwiseDistance(p=3.0, keepdim=True): x y
nn.Linear(6, 3): l
nn.LayerNorm(6): l
nn.Bilinear(0, 2, 2):
nn.Conv1d(4, 6, 3, groups=3):
nn.Conv1d(6, 4, 3, groups=3):
nn.Conv1d(4, 6, 3, padding_mode='odd'):
nn.ConvTranspose1d(4, 6, 3, padding_mode='reflect'):
nn.GroupNorm(3, 4):
nn.BatchNorm1d(6): i
nn.BatchNorm2d(4): x
nn.Dropout(1.5):
nn.Softmin(): x
nn.Flatten(3): x
""".strip().splitlines()


def drawn(names: list[str]) -> list[Any]:
    rng = np.random.default_rng(len(names))
    made = []
    for name in names:
        spec = INPUTS[name]
        if isinstance(spec, tuple):
            low, high = (-2.0, 2.0) if spec[0] == "real" else (0.05, 0.95)
            spec = rng.uniform(low, high, spec[1])
        made.append(spec)
    return made


def with_state(lib: Any, module: Any) -> Any:
    """The module in float64 with values that do not depend on who drew them."""
    module = module.double()
    rng = np.random.default_rng(7)
    state = {}
    for name, value in module.state_dict().items():
        shape = tuple(value.shape)
        counts = name.endswith("num_batches_tracked")
        state[name] = lib.tensor(np.array(3) if counts else rng.uniform(0.2, 1.2, shape))
    module.load_state_dict(state)
    return module


def summary(lib: Any, text: str, names: list[str]) -> dict[str, Any]:
    """What can be compared of a module and one call of it."""
    try:
        module = with_state(lib, eval(text, {"nn": lib.nn}))
        inputs = [lib.tensor(array) for array in drawn(names)]
        for name, value in zip(names, inputs, strict=True):
            value.requires_grad_(name not in "kse" and not getattr(module, "inplace", False))
        out = module(*inputs)
        shape = tuple(out.shape)
        if out.requires_grad:
            (out * lib.tensor(np.linspace(0.5, 1.5, math.prod(shape)).reshape(shape))).sum().backward()
    except Exception as error:
        return {"refused": [cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"]}
    grads = [value.grad for value in (*inputs, *module.parameters())]
    return {
        "repr": repr(module),
        "value": out.detach().numpy(),
        "gradients": [None if grad is None else grad.numpy() for grad in grads],
        "state": {name: value.detach().numpy() for name, value in module.state_dict().items()},
    }


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("case", MODULES)
def test_module(case: str, pytorch: Peer) -> None:
    text, _, names = case.rpartition(":")
    theirs = pytorch(lambda: summary(importlib.import_module("torch"), text, names.split()), digits=12)
    ours = summary(sd, text, names.split())
    if "refused" in theirs or "refused" in ours:
        assert theirs.get("refused", ["accepted"])[0] in ours.get("refused", ())
        return
    assert ours["repr"] == theirs["repr"]
    assert ours["state"].keys() == theirs["state"].keys()
    pairs = [(ours["value"], theirs["value"]), *zip(ours["gradients"], theirs["gradients"], strict=True)]
    pairs += [(ours["state"][name], value) for name, value in theirs["state"].items()]
    for our, their in pairs:
        if their is None:
            assert our is None or not np.any(our)
            continue
        assert plain(our)["dtype"] == plain(their)["dtype"]
        np.testing.assert_allclose(our, their, rtol=1e-6, atol=1e-9)
