"""Seconds that importing srcdiff takes after NumPy has been imported, in fresh processes.

What its names stand for is imported when the first of them is used, so that is timed as well.

python -m tests.benchmarks.importing
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROGRAM = """
import time
start = time.perf_counter()
import numpy
middle = time.perf_counter()
import srcdiff
imported = time.perf_counter()
srcdiff.tensor
print(middle - start, imported - middle, time.perf_counter() - middle)
"""
ROUNDS = 15


def measure() -> dict[str, float]:
    """Medians: of NumPy's own import, what srcdiff adds, and what it adds until its first name is there."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-X", f"pycache_prefix={folder}", "-c", PROGRAM]
        for k in range(ROUNDS + 1):
            run = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=True)
            if k:  # the first one writes the byte code
                times.append([float(word) for word in run.stdout.split()])
    return {name: statistics.median(each[k] for each in times) for k, name in enumerate(("numpy", "srcdiff", "used"))}


def table(found: dict[str, float]) -> str:
    """Markdown."""
    heading = "| seconds | NumPy | srcdiff on top | and its first use |\n| --- | ---: | ---: | ---: |\n"
    return f"{heading}| import | {found['numpy']:.3f} | {found['srcdiff']:.3f} | {found['used']:.3f} |"


if __name__ == "__main__":
    results = measure()
    print(json.dumps(results) if "--json" in sys.argv else table(results))
