"""Importing this module fills the dispatch tables."""

from __future__ import annotations

import importlib
import pkgutil

import srcdiff.functions

for _module in pkgutil.iter_modules(srcdiff.functions.__path__):
    if _module.name not in ("catalogue", "dispatch"):
        importlib.import_module(f"srcdiff.functions.{_module.name}")
