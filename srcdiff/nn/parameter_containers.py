"""Modules that hold parameters: `ParameterList`, `ParameterDict`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from srcdiff.nn.containers import position
from srcdiff.nn.module import Module
from srcdiff.nn.parameter import Parameter
from srcdiff.size import Size
from srcdiff.tape.value import TensorBase


def _kept(value: Any) -> Any:
    """A tensor as a parameter."""
    if isinstance(value, TensorBase) and not isinstance(value, Parameter):
        return Parameter(value, value._value.dtype.kind in "fc")
    return value


def _shown(name: str, value: Any) -> str:
    if not isinstance(value, TensorBase):
        return f"({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"({name}): {kind} containing: [{value._value.dtype} of size {'x'.join(map(str, Size(value._value.shape)))}]"


class ParameterDict(Module):
    """A dictionary of parameters; tensors become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, key, _kept(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Names and parameters."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Any:
        """The parameters."""
        return [self[key] for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of that name, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401  this is what get is made of

    def pop(self, key: str) -> Any:
        """Take out a parameter."""
        value = self[key]
        del self[key]
        return value

    def update(self, parameters: Any) -> None:
        """Add the parameters of a mapping or of pairs."""
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self[key] = value

    def extra_repr(self) -> str:
        """Shape and dtype of each."""
        return "\n".join(_shown(key, value) for key, value in self.items())


class ParameterList(Module):
    """A list of parameters; tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[k] for k in range(self._size)[index]])
        return getattr(self, str(position(index, self._size)))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, str(position(index, self._size)), _kept(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[k] for k in range(self._size)])

    def append(self, value: Any) -> Any:
        """Add a parameter at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add parameters at the end."""
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def extra_repr(self) -> str:
        """Shape and dtype of each."""
        return "\n".join(_shown(str(k), value) for k, value in enumerate(self))
