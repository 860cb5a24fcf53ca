"""What srcdiff promises about speed. Run with `make bench`, which prints the tables and writes benchmarks.json.

Against other libraries, where they are installed, ratios of one run are held to the promise. Absolute times depend on
the machine: twice what is promised passes.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import compiling, entry, importing, lengths, memory, random_lengths, recording, sidebyside
from tests.benchmarks.libraries import FORWARD, LIBRARIES, installed
from tests.benchmarks.sidebyside import ROOT, Timing
from tests.benchmarks.workloads import WORKLOADS

GENEROUS = 2.0
#: where memory counts
LARGE = 40.0  # kB
Report = dict[str, Any]


@pytest.fixture(scope="module")
def report() -> Iterator[Report]:
    """What was measured; written to benchmarks.json in the end."""
    packages = [each for each in ("numpy", "torch", "autograd", "jax") if installed(each)]
    found: Report = {
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {each: version(each) for each in packages},
    }
    yield found
    Path(ROOT, "benchmarks.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def steps(report: Report) -> list[Timing]:
    libraries = [each for each in LIBRARIES if installed(each)]
    found = [timing for each in WORKLOADS for timing in sidebyside.compare(each, libraries)]
    report["steps"] = [asdict(each) for each in found]
    show(sidebyside.table(found))
    return found


def show(table: str) -> None:
    print(f"\n{table}\n", flush=True)


def in_a_process(module: str) -> Any:
    """The results of a module run by itself, in a process where srcdiff does not check itself."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", "--json"]
    environment = sidebyside.clean_environment()
    run = subprocess.run(command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(run.stdout)


def ratios(timings: list[Timing], library: str) -> dict[str, float]:
    return {each.workload: each.ratio for each in timings if each.library == library}


def test_every_workload_is_replayed_and_only_where_it_shall(steps: list[Timing]) -> None:
    assert {each.workload for each in steps if each.library == "srcdiff" and not each.replayed} == set()
    assert {each.workload for each in steps if each.library == "srcdiff_traced" and each.replayed} == set()


def test_value_and_gradient_are_faster_than_pytorch_eager(steps: list[Timing]) -> None:
    """Nowhere slower than by what products of matrices differ, in which both wait for BLAS."""
    pytest.importorskip("torch")
    found = ratios(steps, "torch")
    assert {name: ratio for name, ratio in found.items() if ratio < 0.8} == {}
    assert statistics.geometric_mean(found.values()) >= 3.2


def test_value_and_gradient_keep_up_with_jax(steps: list[Timing]) -> None:
    pytest.importorskip("jax")
    assert {name: ratio for name, ratio in ratios(steps, "jax").items() if ratio < 0.6} == {}


def test_value_and_gradient_are_nine_times_as_fast_as_autograd(steps: list[Timing]) -> None:
    pytest.importorskip("autograd")
    assert statistics.geometric_mean(ratios(steps, "autograd").values()) >= 9


def test_a_long_loop_costs_no_more_a_step_than_a_short_one(report: Report) -> None:
    report["lengths"] = in_a_process("lengths")
    found = [lengths.Length(**each) for each in report["lengths"]]
    show(lengths.table(found))
    short, long = found
    assert long.slowest <= GENEROUS * 0.5
    assert long.microseconds <= 1.5 * short.microseconds


def test_large_steps_need_no_more_memory_than_in_pytorch(report: Report) -> None:
    """Up to a tenth, which is for what lies between the arrays."""
    pytest.importorskip("torch")
    report["memory"] = in_a_process("memory")
    found = [memory.Peak(**each) for each in report["memory"]]
    show(memory.table(found))
    large = [each for each in found if each.others >= LARGE]
    assert {each.workload: each for each in large if each.srcdiff > 1.1 * each.others} == {}


def test_derivatives_along_tangents_are_faster_than_in_pytorch(report: Report) -> None:
    libraries = [each for each in FORWARD if installed(each)]
    found = [timing for each in WORKLOADS for timing in sidebyside.compare(each, libraries)]
    report["forward"] = [asdict(each) for each in found]
    show(sidebyside.table(found))
    pytest.importorskip("torch")
    assert {name: ratio for name, ratio in ratios(found, "torch_forward").items() if ratio < 1} == {}


def test_the_first_call_takes_a_fifth_of_jax_everywhere_and_a_tenth_on_average(steps: list[Timing]) -> None:
    pytest.importorskip("jax")
    first = {(each.workload, each.library): each.first_milliseconds for each in steps}
    shares = {workload: first[workload, "srcdiff"] / first[workload, "jax"] for workload in WORKLOADS}
    assert {workload: share for workload, share in shares.items() if share > 1 / 5} == {}
    assert statistics.geometric_mean(shares.values()) <= 1 / 10


def test_a_graph_that_never_repeats_is_no_slower_than_in_pytorch(report: Report) -> None:
    pytest.importorskip("torch")
    found = random_lengths.measure()
    report["random lengths"] = [asdict(each) for each in found]
    show(sidebyside.table(found))
    assert ratios(found, "torch")["random_lengths"] >= 1


def test_loops_of_random_length_are_no_slower_where_replays_are_tried(report: Report) -> None:
    report["loops"] = in_a_process("random_lengths")
    found = [random_lengths.Loop(**each) for each in report["loops"]]
    show(random_lengths.loops_table(found))
    assert {each.length: each for each in found if max(each.ratio, each.total) > 1.1} == {}


def test_recording_adds_two_or_three_microseconds_and_ten_at_a_new_place(report: Report) -> None:
    """Operators and ufuncs one by one; of functions, which come through NumPy's protocol, the median."""
    report["recording"] = in_a_process("recording")
    costs = [recording.Cost(**each) for each in report["recording"]]
    show(recording.table(costs))
    for each in costs:
        if each.kind in ("operator", "ufunc"):
            assert each.hit <= GENEROUS * 2 and each.miss <= GENEROUS * 10, each
    functions = [each for each in costs if each.kind == "function"]
    assert statistics.median(each.hit for each in functions) <= GENEROUS * 3
    assert statistics.median(each.miss for each in functions) <= GENEROUS * 10


def test_entering_a_replayed_call_takes_three_microseconds_for_six_arrays_and_five_for_a_module(report: Report) -> None:
    report["entry"] = in_a_process("entry")
    found = [entry.Entrance(**each) for each in report["entry"]]
    show(entry.table(found))
    promised = {each.arguments: 5 if "module" in each.arguments else 3 for each in found}
    assert {each.arguments: each.entry for each in found if each.entry > GENEROUS * promised[each.arguments]} == {}


def test_compiling_takes_milliseconds_and_grows_linearly(report: Report) -> None:
    report["compiling"] = in_a_process("compiling")
    found = [compiling.Compilation(**each) for each in report["compiling"]]
    show(compiling.table(found))
    known = {each.graph: each for each in found}
    assert known["MLP, first in the process"].milliseconds <= GENEROUS * 30
    for kind in ("loop of {}", "{} statements"):
        assert known[kind.format(1000)].milliseconds <= GENEROUS * 1000
        short, long = (known[kind.format(length)] for length in (300, 3000))
        assert long.milliseconds / long.operations <= 2 * short.milliseconds / short.operations, kind


def test_importing_takes_little_longer_than_numpy_alone(report: Report) -> None:
    report["import"] = importing.measure()
    show(importing.table(report["import"]))
    assert report["import"]["used"] <= GENEROUS * 0.15
