"""Random programs of views and writes give the same values, gradients, flags and refusals as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd

torch: Any = pytest.importorskip("torch")

SHAPE = (3, 4)

#: What a step may do to a tensor: name -> function of (library, tensor). Each gives a view.
VIEWS: dict[str, Any] = {
    "row": lambda lib, t: t[1],
    "element": lambda lib, t: t[(0,) * t.ndim],
    "column": lambda lib, t: t[..., 0],
    "tail": lambda lib, t: t[1:],
    "stride": lambda lib, t: t[::2],
    "new axis": lambda lib, t: t[None],
    "flat": lambda lib, t: t.reshape(-1),
    "turned": lambda lib, t: t.swapaxes(0, 1),
    "windows": lambda lib, t: t.unfold(0, 2, 2),
    "unsqueeze": lambda lib, t: t.unsqueeze(-1),
    "squeeze": lambda lib, t: t.squeeze(),
    "diagonal": lambda lib, t: t.diagonal(),
    "expand": lambda lib, t: t.expand(2, *t.shape),
    "part": lambda lib, t: t.split(1)[0],
    "detach": lambda lib, t: t.detach(),
}

#: Functional steps of one tensor and of two of one shape.
FUNCTIONS: dict[str, Any] = {
    "sin": lambda lib, t: t.sin(),
    "tanh": lambda lib, t: t.tanh(),
    "sigmoid": lambda lib, t: t.sigmoid(),
    "square": lambda lib, t: t * t,
    "double": lambda lib, t: t * 2.0,
    "clone": lambda lib, t: t.clone(),
    "sum": lambda lib, t: t.sum(),
    "take": lambda lib, t: t[lib.tensor([0, 0])],
}
PAIRS: dict[str, Any] = {
    "add": lambda lib, t, u: t + u,
    "mul": lambda lib, t, u: t * u,
    "div": lambda lib, t, u: t / (u * u + 1.0),
}

#: Writes into the first tensor; the second broadcasts to it.
WRITES: dict[str, Any] = {
    "add_": lambda lib, t, u: t.add_(u, alpha=0.5),
    "sub_": lambda lib, t, u: t.sub_(u),
    "mul_": lambda lib, t, u: t.mul_(u),
    "div_": lambda lib, t, u: t.div_(u),
    "+=": lambda lib, t, u: t.__iadd__(u),
    "*=": lambda lib, t, u: t.__imul__(u),
    "sin_": lambda lib, t, u: t.sin_(),
    "tanh_": lambda lib, t, u: t.tanh_(),
    "sigmoid_": lambda lib, t, u: t.sigmoid_(),
    "neg_": lambda lib, t, u: t.neg_(),
    "pow_": lambda lib, t, u: t.pow_(2),
    "clamp_": lambda lib, t, u: t.clamp_(-0.5, 0.5),
    "relu_": lambda lib, t, u: t.relu_(),
    "zero_": lambda lib, t, u: t.zero_(),
    "fill_": lambda lib, t, u: t.fill_(0.25),
    "copy_": lambda lib, t, u: t.copy_(u),
    "addcmul_": lambda lib, t, u: t.addcmul_(u, u, value=0.5),
    "lerp_": lambda lib, t, u: t.lerp_(u, 0.25),
    "mask": lambda lib, t, u: t.masked_fill_(t > 0.1, 0.5),
    "t[0] = 0.5": lambda lib, t, u: t.__setitem__(0, 0.5),
    "t[...] = u": lambda lib, t, u: t.__setitem__(..., u),
    "t[1:] = u[1:]": lambda lib, t, u: t.__setitem__(slice(1, None), u[1:]),
    "t[mask] = 2": lambda lib, t, u: t.__setitem__(t > 0.2, 2.0),
    "t[rows] = u[rows]": lambda lib, t, u: t.__setitem__(lib.tensor([1, 0]), u[lib.tensor([1, 0])]),
    "t[1:] += u[1:]": lambda lib, t, u: augment(t, slice(1, None), u),
    "t[0] *= u[0]": lambda lib, t, u: augment(t, 0, u),
    "index_add_": lambda lib, t, u: t.index_add_(0, lib.tensor([0, 0]), u[:2].clone()),
    "data": lambda lib, t, u: t.data.mul_(1.5),
    "in no_grad": lambda lib, t, u: quietly(lib, lambda: t.mul_(u)),
}


def augment(t: Any, index: Any, u: Any) -> None:
    if index == 0:
        t[index] *= u[index]
    else:
        t[index] += u[index]


def quietly(lib: Any, write: Any) -> None:
    with lib.no_grad():
        write()


def program(seed: int) -> list[tuple[Any, ...]]:
    """Steps: (kind, name, two random numbers that choose the operands, whether in no_grad mode)."""
    rng = np.random.default_rng(seed)
    steps: list[tuple[Any, ...]] = []
    for _ in range(int(rng.integers(4, 14))):
        kind = rng.choice(["view", "function", "pair", "write"], p=[0.3, 0.15, 0.1, 0.45])
        names = {"view": VIEWS, "function": FUNCTIONS, "pair": PAIRS, "write": WRITES}[kind]
        steps.append((kind, rng.choice(list(names)), *rng.random(2), kind == "view" and rng.random() < 0.08))
    return steps


def leaves(lib: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-1, 1, SHAPE), rng.uniform(0.5, 1.5, SHAPE), rng.uniform(-1, 1, SHAPE), np.zeros(SHAPE)]
    made = [lib.tensor(v.tolist(), dtype=lib.float64) for v in values]
    made[0].requires_grad_()
    made[1].requires_grad_()
    return made


def array(t: Any) -> np.ndarray[Any, Any]:
    return np.asarray(t.detach().numpy())


class Pair:
    """The same tensors in both libraries."""

    def __init__(self, seed: int) -> None:
        self.libs = (sd, torch)
        self.tensors = list(zip(*(leaves(lib, seed) for lib in self.libs), strict=True))
        self.log: list[str] = []
        #: made in no_grad mode, or of such: PyTorch says these views require grad, here they do not
        self.quiet: set[int] = set()

    def run(self, step: tuple[Any, ...]) -> None:
        kind, name, first, second, no_grad = step
        k = int(first * len(self.tensors))
        target = self.tensors[k]
        if k in self.quiet and kind not in ("view", "write"):
            return
        table = {"view": VIEWS, "function": FUNCTIONS, "pair": PAIRS, "write": WRITES}[kind]
        operands: list[tuple[Any, ...]] = [target]
        j = None
        if kind in ("pair", "write"):
            fitting = [
                j
                for j, other in enumerate(self.tensors)
                if j not in self.quiet
                and tuple(other[1].shape) == tuple(target[1].shape)
                and (kind == "pair" or not np.may_share_memory(array(other[0]), array(target[0])))
            ]
            if not fitting:
                return
            j = fitting[int(second * len(fitting))]
            operands.append(self.tensors[j])
        self.log.append(f"{kind} {name} of {k}, {j}{' in no_grad' if no_grad else ''} -> {len(self.tensors)}")
        made, errors = [], []
        for lib, *given in zip(self.libs, *operands, strict=True):
            try:
                if no_grad:
                    with lib.no_grad():
                        made.append(table[name](lib, *given))
                else:
                    made.append(table[name](lib, *given))
                errors.append("")
            except (RuntimeError, IndexError, ValueError, TypeError) as error:
                errors.append(f"{type(error).__name__}: {error}")
        assert bool(errors[0]) == bool(errors[1]), errors
        if errors[0]:
            self.log[-1] += f"   {errors[1][:60]}"
            return
        if kind != "write":
            if no_grad or k in self.quiet:
                self.quiet.add(len(self.tensors))
            self.tensors.append((made[0], made[1]))

    def check(self) -> None:
        for k, (mine, theirs) in enumerate(self.tensors):
            np.testing.assert_allclose(array(mine), array(theirs), rtol=1e-12, atol=1e-300, err_msg=f"value of {k}")
            assert mine._version == theirs._version, f"version of {k}"
            shown = flags(theirs)
            # PyTorch refuses the parts of a split leaf after an update in no_grad mode; here they remain usable
            assert k in self.quiet or shown == "refused" or flags(mine) == shown, (
                f"{k}: {flags(mine)}, in torch {shown}"
            )

    def backward(self) -> None:
        errors = []
        for side, _ in enumerate(self.libs):
            try:
                total = None
                for k, pair in enumerate(self.tensors):
                    if k in self.quiet:
                        continue
                    part = (pair[side] * (0.5 + 0.1 * k)).sum()
                    total = part if total is None else total + part
                assert total is not None
                total.backward()
                errors.append("")
            except RuntimeError as error:
                errors.append(str(error))
        assert bool(errors[0]) == bool(errors[1]), errors
        if errors[0]:
            assert ("modified by an inplace operation" in errors[0]) == ("modified by an inplace" in errors[1]), errors
            return
        for k in (0, 1):
            mine, theirs = (t.grad for t in self.tensors[k])
            np.testing.assert_allclose(array(mine), array(theirs), rtol=1e-10, atol=1e-12, err_msg=f"gradient of {k}")


def flags(t: Any) -> Any:
    """What PyTorch shows of a tensor's place in the graph; an error if it forbids to look."""
    try:
        return t.requires_grad, t.is_leaf, t.ndim > 0 and type(t.grad_fn).__name__ == "CopySlices"
    except RuntimeError:
        return "refused"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(20))
def test_programs_behave_as_in_torch(block: int) -> None:
    for seed in range(block * 25, block * 25 + 25):
        pair = Pair(seed)
        try:
            for step in program(seed):
                pair.run(step)
                pair.check()
            pair.backward()
        except Exception as error:
            raise AssertionError(f"program {seed}:\n" + "\n".join(pair.log)) from error
