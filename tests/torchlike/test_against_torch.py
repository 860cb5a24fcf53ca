"""Every call of `calls.CALLS` gives what it gives in PyTorch: values, shapes, dtypes, flags, gradients, refusals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.torchlike.calls import CALLS, operands

torch: Any = pytest.importorskip("torch")


def environment(lib: Any) -> dict[str, Any]:
    leaves, constants = operands()
    made: dict[str, Any] = {
        name: lib.tensor(array.tolist(), dtype=lib.float64).reshape(array.shape).clone().requires_grad_()
        for name, array in leaves.items()
    }
    made |= {name: lib.tensor(array) for name, array in constants.items()}
    return made | {"T": lib, "F": lib.nn.functional, "L": lib.linalg, "np": np, "inf": math.inf}


def run(lib: Any, call: str) -> tuple[dict[str, Any], Any]:
    env = environment(lib)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return env, eval(call, env)
    except Exception as error:
        return env, error


def parts(result: Any) -> Iterator[Any]:
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from parts(part)
    else:
        yield result


def array(tensor: Any) -> Any:
    return np.asarray(tensor.detach().resolve_conj().numpy(force=True))


def pull_back(lib: Any, env: dict[str, Any], result: Any) -> dict[str, Any]:
    """The gradient of a random combination of all outputs, for each leaf."""
    rng = np.random.default_rng(5)
    total: Any = 0.0
    for part in parts(result):
        if isinstance(part, (sd.Tensor, torch.Tensor)) and part.requires_grad:
            real = part.abs() if part.is_complex() else part
            weights = lib.tensor(rng.uniform(0.5, 1.5, tuple(part.shape)))
            total = total + (real.to(lib.float64) * weights).sum()
    if not isinstance(total, float):
        total.backward()
    leaves, _ = operands()
    return {
        name: array(env[name].grad) if env[name].grad is not None else np.zeros(leaves[name].shape) for name in leaves
    }


@pytest.mark.parametrize("call", CALLS)
def test_call(call: str) -> None:
    theirs_env, theirs = run(torch, call)
    ours_env, ours = run(sd, call)
    if isinstance(theirs, Exception):
        builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
        assert isinstance(ours, builtin), f"PyTorch refuses this with {type(theirs).__name__}, here it gives {ours!r}"
        return
    assert not isinstance(ours, Exception), repr(ours)
    pairs = list(zip(parts(theirs), parts(ours), strict=True))
    for their, our in pairs:
        if not isinstance(their, torch.Tensor):
            assert str(their).removeprefix("torch.") == str(our).removeprefix("srcdiff.").removeprefix("torch.")
            continue
        assert isinstance(our, sd.Tensor)
        assert str(their.dtype) == f"torch.{our.dtype}"
        assert tuple(their.shape) == our.shape
        assert their.requires_grad == our.requires_grad
        close = (
            {"rtol": 1e-4, "atol": 1e-5} if our.dtype in (sd.float32, sd.complex64) else {"rtol": 1e-7, "atol": 1e-9}
        )
        np.testing.assert_allclose(array(our), array(their), **close)
    theirs_grad, ours_grad = pull_back(torch, theirs_env, theirs), pull_back(sd, ours_env, ours)
    for name in theirs_grad:
        np.testing.assert_allclose(
            ours_grad[name], theirs_grad[name], rtol=1e-6, atol=1e-8, err_msg=f"gradient of {name}"
        )


#: Calls whose node has PyTorch's class.
NODES = """
x.exp() x.sum() x.sum(0) x.mean(1) x.max() x.max(dim=1) x.amax(1) x.sort(dim=0) x.topk(2) x.t() z.transpose(0,2)
x.permute(1,0) x.view(12) x.reshape(12) x.unsqueeze(0) x[0] x[1:] x[i] x.expand(2,3,4) x.mm(c) x.mv(v) v.dot(w) z.bmm(b)
x.split(2) x.unbind() x.gather(1,j) x.index_select(0,i) x.index_add(0,i,y) x.masked_fill(m,0.0) x.masked_select(m)
x.take(i) x.cumsum(0) x.softmax(0) x.log_softmax(1) x.norm() x.std() x.var(dim=0) x.clone() x.double().float() x.flip(0)
x.median(dim=1) x.kthvalue(1) x.prod() x.tril() x.diagonal() x.where(m,y) T.cat([x,y]) T.stack([x,y]) T.where(m,x,y)
x.round() x.sign() x.log1p() x.relu() x.sigmoid() x.maximum(y) x.scatter_add(1,j,y) x.repeat(2,1,1) x.logsumexp(0)
"""


@pytest.mark.filterwarnings("ignore::srcdiff.AmbiguousName")
@pytest.mark.parametrize("call", NODES.split())
def test_node_class(call: str) -> None:
    theirs, ours = (next(parts(run(lib, call)[1])) for lib in (torch, sd))
    assert type(ours.grad_fn).__name__ == type(theirs.grad_fn).__name__
