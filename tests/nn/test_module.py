"""Rules of Module: registration, traversal, state, modes, hooks, printing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from srcdiff.autograd.modes import no_grad
from srcdiff.creation import ones, tensor, zeros
from srcdiff.errors import SrcdiffError
from srcdiff.nn import (
    BatchNorm1d,
    Buffer,
    Dropout,
    Linear,
    Module,
    ModuleDict,
    ModuleList,
    Parameter,
    ParameterDict,
    ParameterList,
    ReLU,
    Sequential,
    Tanh,
)


class Net(Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(2, 3)
        self.scale = Parameter(ones(1))
        self.layers = ModuleList([Linear(3, 3), Linear(3, 1)])
        self.register_buffer("count", zeros(1))
        self.register_buffer("scratch", zeros(1), persistent=False)
        self.plain = 3

    def forward(self, x: Any) -> Any:
        x = self.first(x) * self.scale
        for layer in self.layers:
            x = layer(x)
        return x


# --------------------------------------------------------------------------------------------------------- registration


def test_names_are_in_the_order_of_registration() -> None:
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "first.weight", "first.bias", "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"
    ]  # fmt: skip
    assert [name for name, _ in net.named_modules()] == ["", "first", "layers", "layers.0", "layers.1"]
    assert [name for name, _ in net.named_children()] == ["first", "layers"]
    assert [name for name, _ in net.named_buffers()] == ["count", "scratch"]
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]
    assert list(net.state_dict()) == ["scale", "count", *(n for n, _ in list(net.named_parameters())[1:])]


def test_shared_parts_are_given_once() -> None:
    layer = Linear(2, 2)
    net = Sequential(layer, layer)
    assert len(list(net.parameters())) == 2
    assert len(list(net.modules())) == 2
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4


def test_attributes_find_what_was_registered() -> None:
    net = Net()
    assert net.scale is net._parameters["scale"]
    assert net.get_parameter("layers.0.weight") is net.layers[0].weight
    assert net.get_submodule("layers.1") is net.layers[1]
    assert net.get_buffer("count") is net.count
    assert "scale" in dir(net)
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'other'"):
        net.other  # noqa: B018
    del net.scale
    assert not hasattr(net, "scale")


@pytest.mark.parametrize(
    ("action", "kind", "text"),
    [
        (
            lambda m: setattr(m, "weight", ones(2, 2)),
            TypeError,
            "cannot assign 'torch.FloatTensor' as parameter 'weight'",
        ),
        (lambda m: m.register_parameter("a.b", None), KeyError, "parameter name can't contain"),
        (lambda m: m.register_parameter("", None), KeyError, "parameter name can't be empty string"),
        (lambda m: m.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
        (lambda m: m.register_parameter("x", ones(1)), TypeError, "object to parameter 'x'"),
        (lambda m: m.register_buffer("weight", ones(1)), KeyError, "attribute 'weight' already exists"),
        (lambda m: m.register_buffer("x", 3), TypeError, "cannot assign 'int' object to buffer 'x'"),
        (lambda m: m.add_module("x", 3), TypeError, "int is not a Module subclass"),
        (lambda m: m.add_module("a.b", ReLU()), KeyError, "got: a.b"),
        (lambda m: m.get_submodule("a"), AttributeError, "Linear has no attribute `a`"),
        (lambda m: m.get_buffer("weight"), AttributeError, "`weight` is not a buffer"),
        (lambda m: m.load_state_dict(3), TypeError, "Expected state_dict to be dict-like"),
        (lambda m: Module()(1), NotImplementedError, 'missing the required "forward" function'),
    ],
)
def test_errors(action: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        action(Linear(2, 2))
    assert isinstance(caught.value, SrcdiffError)


def test_assignment_before_init_is_refused() -> None:
    class Bad(Module):
        def __init__(self) -> None:
            self.layer = Linear(1, 1)

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Bad()


def test_assigning_changes_what_an_attribute_is() -> None:
    net = Module()
    net.part = 3
    net.part = Parameter(ones(1))
    assert list(net._parameters) == ["part"] and "part" not in net.__dict__
    net.part = ReLU()
    assert not net._parameters and list(net._modules) == ["part"]
    net.part = None
    assert net.part is None
    net.register_buffer("b", None)
    net.b = ones(1)
    assert list(net.state_dict()) == ["b"]
    net.c = Buffer(ones(1), persistent=False)
    assert list(dict(net.named_buffers())) == ["b", "c"] and list(net.state_dict()) == ["b"]


def test_an_update_in_place_keeps_the_parameter() -> None:
    layer = Linear(2, 1)
    weight, before = layer.weight, layer.weight.detach().numpy().copy()
    layer(ones(1, 2)).sum().backward()
    with no_grad():
        layer.weight -= 0.5 * layer.weight.grad
    assert layer.weight is weight and weight.is_leaf and weight.requires_grad
    np.testing.assert_allclose(weight.detach().numpy(), before - 0.5)


# ---------------------------------------------------------------------------------------------------------------- state


def test_state_goes_from_one_module_to_another() -> None:
    one, two = Net(), Net()
    assert repr(two.load_state_dict(one.state_dict())) == "<All keys matched successfully>"
    x = ones(4, 2)
    assert np.array_equal(one(x).detach().numpy(), two(x).detach().numpy())
    assert two.scale.requires_grad and two.scale.is_leaf


def test_state_dict_shares_memory_outside_the_graph() -> None:
    layer = Linear(2, 2)
    state = layer.state_dict()
    assert not state["weight"].requires_grad
    assert np.shares_memory(state["weight"].numpy(), layer.weight.detach().numpy())
    assert layer.state_dict(keep_vars=True)["weight"] is layer.weight


def test_load_state_dict_names_all_that_is_wrong() -> None:
    layer = Linear(2, 2)
    with pytest.raises(RuntimeError) as caught:
        layer.load_state_dict({"weight": ones(3, 3), "other": ones(1)})
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Linear:\n"
        '\tMissing key(s) in state_dict: "bias". \n'
        '\tUnexpected key(s) in state_dict: "other". \n'
        "\tsize mismatch for weight: copying a param with shape Size([3, 3]) from checkpoint, "
        "the shape in current model is Size([2, 2])."
    )
    result = layer.load_state_dict({"weight": ones(2, 2), "other": ones(1)}, strict=False)
    assert result.missing_keys == ["bias"] and result.unexpected_keys == ["other"]
    assert layer.weight.detach().numpy().tolist() == [[1, 1], [1, 1]]
    nested = Sequential(Linear(1, 1))
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"1\.bias", "0\.weight\.x"'):
        nested.load_state_dict({**nested.state_dict(), "0.weight.x": ones(1), "1.bias": ones(1)})


def test_load_state_dict_makes_saved_values_stale() -> None:
    layer = Linear(2, 2)
    x = ones(1, 2).requires_grad_()
    out = layer(x).sum()
    layer.load_state_dict({name: value.clone() for name, value in layer.state_dict().items()})
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_assign_puts_the_given_tensors_in_place() -> None:
    layer = Linear(2, 2)
    weight = tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64")
    layer.load_state_dict({"weight": weight, "bias": zeros(2)}, assign=True)
    assert layer.weight.dtype == np.float64 and layer.weight.requires_grad
    assert np.shares_memory(layer.weight.detach().numpy(), weight.numpy())


def test_extra_state_is_saved_and_loaded() -> None:
    class Counted(Module):
        seen = 0

        def get_extra_state(self) -> Any:
            return self.seen

        def set_extra_state(self, state: Any) -> None:
            self.seen = state

    one, two = Counted(), Counted()
    one.seen = 5
    assert list(one.state_dict()) == ["_extra_state"]
    two.load_state_dict(one.state_dict())
    assert two.seen == 5


def test_copies_and_pickles_are_apart() -> None:
    net = Net()
    x = ones(1, 2)
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert np.array_equal(made(x).detach().numpy(), net(x).detach().numpy())
        assert isinstance(made.scale, Parameter) and made.scale.requires_grad
        assert not np.shares_memory(made.scale.detach().numpy(), net.scale.detach().numpy())
    tied = Module()
    tied.a = tied.b = Parameter(ones(1))
    made = copy.deepcopy(tied)
    assert made.a is made.b is not tied.a


# --------------------------------------------------------------------------------------------------- modes, conversions


def test_train_and_eval_reach_all_modules() -> None:
    net = Sequential(Dropout(0.5), Sequential(Dropout(0.5)))
    assert net.training and net.eval() is net
    assert not any(module.training for module in net.modules())
    x = ones(100)
    assert net(x) is x
    net.train()
    assert 0 < (net(x).numpy() == 0).sum() < 100


def test_conversions_keep_parameters_and_convert_gradients() -> None:
    layer = BatchNorm1d(2)
    weight = layer.weight
    layer(tensor([[1.0, 2.0], [3.0, 5.0]])).sum().backward()
    assert layer.double() is layer
    assert layer.weight is weight and weight.dtype == np.float64 and weight.grad.dtype == np.float64
    assert layer.running_mean.dtype == np.float64 and layer.num_batches_tracked.dtype == np.int64
    layer.to("cpu", np.float32)
    assert layer.weight.dtype == np.float32
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        layer.to(np.dtype(np.int64))


def test_zero_grad_and_requires_grad() -> None:
    layer = Linear(2, 2)
    layer(ones(1, 2)).sum().backward()
    grad = layer.weight.grad
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad is grad and not grad.numpy().any()
    layer.zero_grad()
    assert layer.weight.grad is None
    layer.requires_grad_(False)
    assert not layer(ones(1, 2)).requires_grad


def test_apply_goes_from_the_inside_out() -> None:
    seen: list[str] = []
    Sequential(Linear(1, 1), Sequential(Tanh())).apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Tanh", "Sequential", "Sequential"]


# ---------------------------------------------------------------------------------------------------------------- hooks


def test_forward_hooks_change_arguments_and_results() -> None:
    layer = Tanh()
    seen: list[Any] = []
    handles = [
        layer.register_forward_pre_hook(lambda m, args: (args[0] * 0 + 1,)),
        layer.register_forward_hook(lambda m, args, out: seen.append((args[0].item(), out.item()))),
        layer.register_forward_hook(lambda m, args, out: out * 2),
        layer.register_forward_hook(lambda m, args, kwargs, out: seen.append("first"), prepend=True, with_kwargs=True),
    ]
    assert layer(tensor(5.0)).item() == pytest.approx(2 * np.tanh(1.0))
    assert seen == ["first", (1.0, pytest.approx(np.tanh(1.0)))]
    for handle in handles:
        handle.remove()
    assert layer(tensor(5.0)).item() == pytest.approx(np.tanh(5.0))


def test_pre_hooks_see_keywords() -> None:
    class Plus(Module):
        def forward(self, x: Any, *, y: Any = 0) -> Any:
            return x + y

    module = Plus()
    module.register_forward_pre_hook(lambda m, args, kwargs: (args, {"y": kwargs["y"] + 1}), with_kwargs=True)
    assert module(tensor(1.0), y=2.0).item() == 4.0


def test_full_backward_hooks() -> None:
    layer = Linear(2, 1, bias=False)
    with no_grad():
        layer.weight.copy_(tensor([[2.0, 3.0]]))
    seen: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    handle = layer.register_full_backward_hook(hook)
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = ones(1, 2).requires_grad_()
    (layer(x) * 5 + x.sum()).sum().backward()
    assert seen == [([[20.0, 30.0]], [[10.0]])]
    assert x.grad.tolist() == [[201.0, 301.0]]
    handle.remove()
    x.grad = None
    layer(x).sum().backward()
    assert len(seen) == 1


def test_a_backward_hook_runs_when_no_input_needs_a_gradient() -> None:
    layer = Linear(2, 1)
    seen: list[Any] = []
    layer.register_full_backward_hook(
        lambda m, grad_input, grad_output: seen.append((grad_input, grad_output[0].tolist()))
    )
    layer(ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]


# ----------------------------------------------------------------------------------------------------------- containers


def test_sequential_is_a_list_of_modules() -> None:
    net = Sequential({"a": Linear(2, 3), "b": ReLU()})
    assert net.a is net[0] and len(net) == 2 and net[-1] is net.b
    assert list(net[:1]._modules) == ["a"]
    net.append(Tanh()).insert(0, ReLU())
    assert [type(m).__name__ for m in net] == ["ReLU", "Linear", "ReLU", "Tanh"]
    del net[0]
    assert list(net._modules) == ["0", "1", "2"]
    assert isinstance(net.pop(), Tanh) and len(net) == 2
    assert len(net + Sequential(ReLU())) == 3
    with pytest.raises(IndexError, match="index 5 is out of range"):
        net[5]


def test_module_list_and_dict() -> None:
    layers = ModuleList([ReLU()])
    layers += [Tanh(), ReLU()]
    layers[0] = Tanh()
    assert [type(m).__name__ for m in layers] == ["Tanh", "Tanh", "ReLU"]
    assert type(layers[1:]) is ModuleList and len(layers[1:]) == 2
    table = ModuleDict({"a": ReLU()})
    table["b"] = Linear(1, 1)
    assert list(table) == ["a", "b"] and "a" in table and len(list(table.items())) == 2
    del table["a"]
    assert list(table.keys()) == ["b"] and list(table.state_dict()) == ["b.weight", "b.bias"]


def test_parameter_list_and_dict() -> None:
    values = ParameterList([Parameter(ones(2)), zeros(3)])
    assert [name for name, _ in values.named_parameters()] == ["0", "1"] and isinstance(values[1], Parameter)
    values.append(ones(1))
    assert len(values) == 3 and len(values[1:]) == 2 and values[-1].shape == (1,)
    table = ParameterDict({"a": ones(2)})
    table["b"] = zeros(1)
    assert [name for name, _ in table.named_parameters()] == ["a", "b"] and table.get("c") is None
    assert table.pop("a").shape == (2,) and list(table) == ["b"]


# ------------------------------------------------------------------------------------------------------------- printing


def test_repr() -> None:
    assert repr(Parameter(tensor([1.0, 2.0]))) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    net = Sequential(Linear(2, 2), Sequential(ReLU(), Dropout(0.3)))
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (1): Sequential(\n"
        "    (0): ReLU()\n"
        "    (1): Dropout(p=0.3, inplace=False)\n"
        "  )\n"
        ")"
    )
    assert repr(ModuleList([Linear(1, 1), Linear(1, 1), ReLU()])) == (
        "ModuleList(\n  (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n  (2): ReLU()\n)"
    )
    assert repr(ModuleList()) == "ModuleList()"
