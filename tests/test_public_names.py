"""What `import srcdiff` offers, and that it stays cheap."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import namespace

#: Modules that users import from, besides `srcdiff` itself.
MODULES = """
    autograd autograd.forward_ad autograd.functional autograd.graph cuda errors fft func linalg nn nn.functional nn.init
    nn.utils numpy numpy.fft numpy.linalg optim optim.lr_scheduler random special testing
""".split()  # fmt: skip

#: In `srcdiff.namespace` for its own use.
OWN = {"FUNCTIONS", "UFUNCS", "Any", "annotations", "numpy_name", "DType", "Device", "bool_"}


def public_of(module: ModuleType) -> list[str]:
    """What a module offers: what it lists, or else what it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    defined = {n: v for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__}
    return [name for name in defined if not name.startswith("_")]


def test_everything_listed_exists_once() -> None:
    assert len(sd.__all__) == len(set(sd.__all__))
    assert all(hasattr(sd, name) for name in sd.__all__)
    for name in MODULES:
        module = importlib.import_module(f"srcdiff.{name}")
        names = public_of(module)
        assert len(names) == len(set(names)) and all(hasattr(module, each) for each in names), name


def test_everything_offered_is_listed() -> None:
    offered = {name for name in vars(namespace) if not name.startswith("_")} - OWN
    assert offered == set(namespace.__all__)
    assert set(sd.__all__) == offered | {"__version__"} and set(dir(sd)) >= offered


@pytest.mark.parametrize("name", ["", *MODULES])
def test_everything_offered_says_what_it_does(name: str) -> None:
    module = importlib.import_module(f"srcdiff.{name}".removesuffix("."))
    assert module.__doc__
    silent = [
        each for each in public_of(module) if callable(getattr(module, each)) and not getattr(module, each).__doc__
    ]
    assert not silent


@pytest.mark.parametrize("cls", [sd.Tensor, sd.Generator, sd.nn.Module, sd.optim.Optimizer, sd.autograd.Function])
def test_methods_say_what_they_do(cls: type) -> None:
    offered = {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}
    silent = [name for name, member in offered.items() if hasattr(member, "__get__") and not member.__doc__]
    assert not silent


def test_importing_the_package_imports_nothing_else_until_a_name_is_used() -> None:
    code = (
        "import sys, srcdiff as sd, types\n"
        "print([name for name in sys.modules if name.startswith('srcdiff.')])\n"
        "import srcdiff.nn, srcdiff.tensor, srcdiff.config, srcdiff.device\n"
        "print('srcdiff.namespace' in sys.modules)\n"
        "print(sd.tensor(1.5).item(), sd.config.exact, sd.device('cpu'), sd.newaxis, type(sd) is types.ModuleType)\n"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["[]", "False", "1.5 False cpu None True"]


def test_all_names_can_be_imported_at_once() -> None:
    code = "from srcdiff import *; print(tensor(1.5).item(), expand_dims if 'expand_dims' in globals() else None)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1.5 None\n"
    )


def test_what_only_numpy_names_is_found_too() -> None:
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    made = sd.expand_dims(x, 0)
    assert made.shape == (1, 2) and made.requires_grad
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sd.nonsense  # noqa: B018


def test_names_mean_what_they_mean_in_pytorch() -> None:
    x = np.array([[1.0, 4.0], [3.0, 2.0]])
    values, indices = sd.max(sd.tensor(x), 1)
    assert values.tolist() == [4, 3] and indices.tolist() == [1, 0]
    assert sd.std(sd.tensor(x)).item() == np.std(x, ddof=1)
    assert sd.transpose(sd.tensor(x), 0, 1).tolist() == x.T.tolist()


def test_functions_take_arrays_and_then_give_arrays() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for made, wanted in ((sd.exp(x), np.exp(x)), (sd.sum(x, 0), x.sum(0)), (sd.cat([x, x]), np.concatenate([x, x]))):
        assert type(made) is np.ndarray and np.array_equal(made, wanted)


def test_pytorchs_functions_are_differentiated_by_grad() -> None:
    gradient = sd.grad(lambda x: sd.topk(x, 2)[0].sum() + sd.logsumexp(x, 0))(np.array([1.0, 3.0, 2.0]))
    p = np.exp([1.0, 3.0, 2.0]) / np.exp([1.0, 3.0, 2.0]).sum()
    np.testing.assert_allclose(gradient, p + [0, 1, 1])


def test_importing_imports_nothing_expensive_that_may_not_be_needed() -> None:
    optional = {"scipy", "torch", "matplotlib", "llvmlite", "numpy.random"}
    code = f"import sys, srcdiff; srcdiff.tensor; print(sorted({optional} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_size_is_a_tuple_that_counts() -> None:
    shape = sd.ones(2, 3).shape
    assert repr(shape) == "Size([2, 3])" and shape.numel() == 6 and shape == (2, 3)
    assert isinstance(shape + (1,), sd.Size) and isinstance(shape[1:], sd.Size) and shape[0] == 2
