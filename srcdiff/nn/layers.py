"""Dropout and embedding as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcdiff.errors import ArgumentError, ShapeError
from srcdiff.nn import functional as F
from srcdiff.nn import init
from srcdiff.nn.linear import empty_parameter
from srcdiff.nn.module import Module
from srcdiff.nn.parameter import Parameter
from srcdiff.tape.overwrite import overwrite

# -------------------------------------------------------------------------------------------------------------- dropout


class Dropout(Module):
    """In training, each element 0 with probability p, and the others divided by 1 - p."""

    _function: Callable[..., Any] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The input with holes; in evaluation the input itself."""
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Dropout of whole channels."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(Dropout1d):
    """Dropout of whole channels."""


class Dropout3d(Dropout1d):
    """Dropout of whole channels."""


class AlphaDropout(Dropout):
    """Dropout that keeps the mean and variance of SELU's outputs."""

    _function = staticmethod(F.alpha_dropout)


# ------------------------------------------------------------------------------------------------------------ embedding


class Embedding(Module):
    """A table of vectors, looked up by integers; starts normal, with zeros in the row `padding_idx`, which stays as it
    is."""

    weight: Any

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ArgumentError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            self.weight = empty_parameter((num_embeddings, embedding_dim), device, dtype)
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise ShapeError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight)
        if _freeze:
            self.weight.requires_grad_(False)

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Any:  # fmt: skip
        """An Embedding on the memory of a matrix, not to be trained unless `freeze=False`."""
        if embeddings.ndim != 2:
            raise ShapeError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        return cls(
            rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
            _freeze=freeze,
        )  # fmt: skip

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            value = self.weight._array.copy()
            value[self.padding_idx] = 0
            overwrite(self.weight, value)

    def forward(self, input: Any) -> Any:
        """Integers of any shape -> the same shape and an axis of embedding_dim."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """The sizes, and options that are set."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
