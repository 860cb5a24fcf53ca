"""Tools around training: `checkpoint` computes again in backward what it does not keep."""

from __future__ import annotations

from srcdiff.utils import checkpoint

__all__ = ["checkpoint"]
