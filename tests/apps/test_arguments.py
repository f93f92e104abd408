"""NAME=VALUE arguments and inputs from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.apps.cli import arguments
from estimica.base.errors import ModelError


def test_values_are_told_apart() -> None:
    texts = ["n=3", "R=2.5e3", "on=true", "off=false", "file=a=b"]
    assert arguments.values("--set", texts) == {
        "n": 3,
        "R": 2500.0,
        "on": True,
        "off": False,
        "file": "a=b",
    }


@pytest.mark.parametrize("text", ["R", "R=", "=2", ""])
def test_incomplete_assignments_are_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"M050: --set .*: write NAME=VALUE, as in --set R=2"):
        arguments.assignments("--set", [text])


def test_two_values_for_one_name_are_refused() -> None:
    with pytest.raises(ModelError, match="M051: --set: 'R' is given twice, as 1 and 2"):
        arguments.assignments("--set", ["R=1", "R=2"])


def test_start_values_are_numbers() -> None:
    assert arguments.numbers("--start-value", ["x=1e-3"]) == {"x": 1e-3}
    with pytest.raises(ModelError, match="M052: --start-value 'x': 'much' is not a number"):
        arguments.numbers("--start-value", ["x=much"])


def test_inputs_are_numbers_or_columns_of_files(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("t,valve,fuel\n0,0.5,20\n1,0.7,30\n", encoding="utf-8")
    found, _ = arguments.inputs(["uc=3", f"fc={path}:fuel"], "linear")
    assert found["uc"] == 3.0
    signal = found["fc"]
    assert isinstance(signal, dict)
    assert list(signal["value"]) == [20.0, 30.0]
    assert signal["hold"] == "linear"
