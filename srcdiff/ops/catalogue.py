"""Importing this module declares every primitive."""

from __future__ import annotations

import importlib
import pkgutil

import srcdiff.ops

for _module in pkgutil.iter_modules(srcdiff.ops.__path__):
    if _module.name != "catalogue":
        importlib.import_module(f"srcdiff.ops.{_module.name}")
