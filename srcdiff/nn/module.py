"""`Module`: the base of all layers and models.

Attributes that are Parameters, Modules or registered buffers are kept in `_parameters`, `_modules` and `_buffers`, in
the order of registration, and are found again by name like any attribute. Rules and error texts are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from srcdiff.device import Device, check_device
from srcdiff.dtypes import DType, numpy_dtype
from srcdiff.errors import ModuleError, UnsupportedError
from srcdiff.nn.hooks import Hooks, call_hooked
from srcdiff.nn.parameter import Buffer, Parameter
from srcdiff.nn.state import State
from srcdiff.replay.active import active
from srcdiff.replay.clone import rec
from srcdiff.tape.effects import effect
from srcdiff.tape.overwrite import rebind
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

T = TypeVar("T", bound="Module")


class Module(State, Hooks):
    """Subclass it, call `super().__init__()` first, assign parts to attributes, and write `forward`."""

    training = True

    def __init__(self) -> None:
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _non_persistent_buffers_set=set(), _modules={})

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What calling the module does; every subclass writes its own."""
        raise UnsupportedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooked:
            return call_hooked(self, args, kwargs)
        forward = rec(self.forward) if active.depth else self.forward
        return forward(*args, **kwargs)

    # ----------------------------------------------------------------------------------------------------- registration

    def register_parameter(self, name: str, param: Any) -> None:
        """Make `param`, a Parameter or None, an attribute that `parameters()` gives."""
        if "_parameters" not in self.__dict__:
            raise ModuleError("cannot assign parameter before Module.__init__() call")
        self._check_name(name, "parameter", self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise ModuleError(
                f"cannot assign '{_described(param)}' object to parameter '{name}' (torch.nn.Parameter or None "
                "required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Make a tensor an attribute that is part of the state (unless `persistent=False`) but no parameter."""
        if "_buffers" not in self.__dict__:
            raise ModuleError("cannot assign buffer before Module.__init__() call")
        self._check_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, TensorBase):
            raise ModuleError(
                f"cannot assign '{_described(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        change = self._non_persistent_buffers_set.discard if persistent else self._non_persistent_buffers_set.add
        change(name)

    def add_module(self, name: str, module: Any) -> None:
        """Make a module an attribute of this one."""
        if module is not None and not isinstance(module, Module):
            raise ModuleError(f"{_described(module)} is not a Module subclass")
        self._check_name(name, "module", self._modules)
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, name: Any, kind: str, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise ModuleError(f"{kind} name should be a string. Got {type(name).__name__}")
        if hasattr(self, name) and name not in table:
            raise ModuleError(f"attribute '{name}' already exists")
        if "." in name:
            raise ModuleError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if not name:
            raise ModuleError(f'{kind} name can\'t be empty string ""')

    # ------------------------------------------------------------------------------------------------------- attributes

    def __getattr__(self, name: str) -> Any:
        # only reached for what is not in the instance's dict or on the class
        state = self.__dict__
        if "_parameters" in state:
            for table in ("_parameters", "_buffers", "_modules"):
                found = state[table]
                if name in found:
                    return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            self._remove(name, "parameters", "_buffers", "_modules")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._remove(name, "module", "_parameters", "_buffers")
            state["_modules"][name] = value
        elif "_parameters" not in state:
            object.__setattr__(self, name, value)
        elif name in state["_parameters"]:
            if value is not None:
                raise ModuleError(
                    f"cannot assign '{_described(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            state["_parameters"][name] = None
        elif name in state["_modules"]:
            if value is not None:
                raise ModuleError(
                    f"cannot assign '{_described(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            state["_modules"][name] = None
        elif name in state["_buffers"] or isinstance(value, Buffer):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, TensorBase):
            raise ModuleError(
                f"cannot assign '{_described(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None "
                "expected)"
            )
        if name in self._buffers:
            self._buffers[name] = value
            if isinstance(value, Buffer):
                self.register_buffer(name, value, value.persistent)
        elif isinstance(value, Buffer):
            self._remove(name, "buffer")
            self.register_buffer(name, value, value.persistent)

    def _remove(self, name: str, kind: str, *tables: str) -> None:
        """Take an attribute off where it was something else before."""
        state = self.__dict__
        if "_parameters" not in state:
            raise ModuleError(f"cannot assign {kind} before Module.__init__() call")
        state.pop(name, None)
        for table in tables:
            state[table].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    # ------------------------------------------------------------------------------------------------------------ modes

    @effect()
    def train(self: T, mode: bool = True) -> T:
        """Set training mode (dropout, batch statistics) for this module and all inside it."""
        if not isinstance(mode, bool):
            raise ModuleError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    @effect()
    def eval(self: T) -> T:
        """Set evaluation mode."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set whether the parameters require gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    @effect(
        lambda module: [p._grad for p in module.parameters() if p._grad is not None],
        lambda module, set_to_none=True: module.parameters() if set_to_none else (),
    )
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            clear_grad(parameter, set_to_none)

    # ------------------------------------------------------------------------------------------------------ conversions

    def _apply(self: T, fn: Callable[[Any], Any], recurse: bool = True) -> T:
        """Replace the values of all parameters, gradients and buffers by `fn` of them; parameters stay the same
        objects."""
        for module in self.modules() if recurse else [self]:
            for parameter in module._parameters.values():
                if parameter is not None:
                    _convert(parameter, fn)
                    if parameter._grad is not None:
                        _convert(parameter._grad, fn)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = fn(buffer)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """`to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`: floating-point parts change dtype in
        place."""
        dtype = kwargs.get("dtype")
        check_device(kwargs.get("device"))
        for arg in args:
            if isinstance(arg, TensorBase):
                dtype = arg._value.dtype
            elif isinstance(arg, (DType, np.dtype)) or arg in (float, np.float16, np.float32, np.float64):
                dtype = arg
            elif isinstance(arg, (str, Device)):
                check_device(arg)
        if dtype is None:
            return self
        kind = numpy_dtype(dtype)
        if kind.kind not in "fc":
            raise ModuleError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        return self._cast(kind)

    def _cast(self: T, dtype: Any) -> T:
        def cast(tensor: Any) -> Any:
            value = tensor._array
            return plain(value.astype(dtype)) if value.dtype.kind in "fc" and value.dtype != dtype else tensor

        return self._apply(cast)

    def float(self: T) -> T:
        """Make all floating-point parts float32."""
        return self._cast(np.dtype(np.float32))

    def double(self: T) -> T:
        """Make all floating-point parts float64."""
        return self._cast(np.dtype(np.float64))

    def half(self: T) -> T:
        """Make all floating-point parts float16."""
        return self._cast(np.dtype(np.float16))

    def type(self: T, dst_type: Any) -> T:
        """Make all floating-point parts of this dtype."""
        return self._cast(numpy_dtype(dst_type))

    def cpu(self: T) -> T:
        """The module itself: there is no other device."""
        return self

    def cuda(self: T, device: Any = None) -> T:
        """An error: there is no other device."""
        check_device("cuda")
        return self

    # --------------------------------------------------------------------------------------------------------- printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of `repr`; to be overridden."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        parts = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not parts:
            return f"{self._get_name()}({lines[0]})"
        lines += parts
        if not lines:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def clear_grad(parameter: Any, set_to_none: bool) -> None:
    """Forget a gradient, or fill it with zeros: in place if it is outside the graph, else in a new tensor."""
    grad = parameter._grad
    if grad is None:
        return
    if set_to_none:
        parameter._grad = None
        return
    if grad._edge is not None:
        grad = parameter._grad = plain(grad._array)
    grad._array.fill(0)


def _convert(tensor: Any, fn: Callable[[Any], Any]) -> None:
    made = fn(tensor)
    if made is not tensor:
        rebind(tensor, made._array)


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _described(value: Any) -> str:
    if isinstance(value, TensorBase):
        names = {"float32": "FloatTensor", "float64": "DoubleTensor", "int64": "LongTensor"}
        return f"torch.{names.get(value._value.dtype.name, 'Tensor')}"
    return type(value).__name__
