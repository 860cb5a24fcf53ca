"""The examples run, and arrive where they should."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str) -> ModuleType:
    """The module of an example, imported from its file."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_is_a_test_for_every_example() -> None:
    tested = {"digits", "training_loop", "control_flow", "forecast", "compiled_step"}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested


def test_digits_are_recognised_and_the_backward_pass_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")
    picture = tmp_path / "loss.png"
    assert example("digits").main(["--plot", str(picture), "--rounds", "1"]) >= 0.97
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr()
    assert "20/20" in printed.err
    assert "g_w1 = images.T @ g_pre" in printed.out
    assert "test accuracy" in printed.out and "compiled to the code above" in printed.out


def test_the_training_loop_of_the_tutorials_finds_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    slope, offset = example("training_loop").main()
    assert slope == pytest.approx(2, abs=0.05) and offset == pytest.approx(1, abs=0.05)
    assert "g_w = np.sum(x * g_y_pred, axis=0)" in capsys.readouterr().out


def test_a_loop_as_long_as_the_data_ask_for_has_the_right_slope(capsys: pytest.CaptureFixture[str]) -> None:
    for slope, formula in example("control_flow").main():
        assert slope == pytest.approx(formula, rel=1e-9)
    assert "found it compiled" in capsys.readouterr().out


def test_a_recurrent_network_forecasts_better_than_the_last_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")
    picture = tmp_path / "forecast.png"
    errors = example("forecast").main(["--plot", str(picture)])
    assert errors["recurrent network"] < 0.85 * errors["like the last sample"]
    assert errors["linear"] < 0.85 * errors["like the last sample"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr()
    assert "40/40" in printed.err
    assert "3 calls ran the loop above, 357 the function generated from it" in printed.out
    assert "replayed: forward and backward run as one generated function" in printed.out


def test_a_compiled_step_trains_as_the_step_it_was_made_of(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    difference, accuracy = example("compiled_step").main(["--steps", "200"])
    assert difference < 1e-5 and accuracy > 0.8
    printed = capsys.readouterr().out
    assert "3 calls of the compiled step ran as written, 197 as one generated function" in printed
    assert "relu = np.maximum(images @ model_0_weight.T + model_0_bias, 0)" in printed
