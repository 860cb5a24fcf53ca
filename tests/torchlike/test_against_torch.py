"""Every call of `calls.CALLS` gives what it gives in PyTorch: values, shapes, dtypes, flags, gradients, refusals."""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.torchlike.calls import CALLS, operands
from tests.torchlike.edges import EDGES

Peer = Callable[..., Any]


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
        if getattr(part, "requires_grad", False):
            real = part.abs() if part.is_complex() else part
            weights = lib.tensor(rng.uniform(0.5, 1.5, tuple(part.shape)))
            total = total + (real.to(lib.float64) * weights).sum()
    if not isinstance(total, float):
        total.backward()
    leaves, _ = operands()
    return {
        name: array(env[name].grad) if env[name].grad is not None else np.zeros(leaves[name].shape) for name in leaves
    }


def name_of(value: Any) -> str:
    return str(value).removeprefix("srcdiff.").removeprefix("torch.")


def summary(lib: Any, call: str) -> dict[str, Any]:
    """What can be compared of a call: its refusal, or its results and the gradients that are not zero."""
    env, result = run(lib, call)
    if isinstance(result, Exception):
        mro = type(result).__mro__
        return {"refused": [cls.__name__ for cls in mro if cls.__module__ == "builtins"], "text": repr(result)}
    shown = [
        {"dtype": name_of(part.dtype), "requires_grad": part.requires_grad, "value": array(part)}
        if hasattr(part, "requires_grad")
        else name_of(part)
        for part in parts(result)
    ]
    gradients = {name: grad for name, grad in pull_back(lib, env, result).items() if np.any(grad != 0)}
    return {"parts": shown, "gradients": gradients}


@pytest.mark.parametrize("call", [*CALLS, *EDGES])
def test_call(call: str, pytorch: Peer) -> None:
    theirs = pytorch(lambda: summary(importlib.import_module("torch"), call), digits=10)
    ours = summary(sd, call)
    if "refused" in theirs:
        assert theirs["refused"][0] in ours.get("refused", ()), f"PyTorch refuses: {theirs['text']}, here: {ours}"
        return
    assert "refused" not in ours, ours["text"]
    for their, our in zip(theirs["parts"], ours["parts"], strict=True):
        if isinstance(their, str):
            assert their == our
            continue
        assert (their["dtype"], their["requires_grad"]) == (our["dtype"], our["requires_grad"])
        assert their["value"].shape == our["value"].shape
        single = our["value"].dtype in (np.float32, np.complex64)
        np.testing.assert_allclose(
            our["value"], their["value"], rtol=1e-4 if single else 1e-7, atol=1e-5 if single else 1e-9
        )
    for name in theirs["gradients"].keys() | ours["gradients"].keys():
        their, our = (each["gradients"].get(name, 0.0) for each in (theirs, ours))
        np.testing.assert_allclose(our, their, rtol=1e-6, atol=1e-8, err_msg=f"gradient of {name}")


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
def test_node_class(call: str, pytorch: Peer) -> None:
    def name(lib: Any) -> str:
        return type(next(parts(run(lib, call)[1])).grad_fn).__name__

    assert name(sd) == pytorch(lambda: name(importlib.import_module("torch")))
