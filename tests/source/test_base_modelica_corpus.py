"""The Base Modelica that OpenModelica itself wrote, where a collection of it is at hand.

ESTIMICA_BASE_MODELICA_CORPUS names a folder of .bmo files, such as the tests of BaseModelica.jl.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.source.base_modelica_parser import parse

_VARIABLE = "ESTIMICA_BASE_MODELICA_CORPUS"
_FOLDER = os.environ.get(_VARIABLE, "")

pytestmark = pytest.mark.skipif(
    not _FOLDER, reason=f"{_VARIABLE} names no folder of Base Modelica files"
)


def corpus() -> list[Path]:
    return sorted(Path(_FOLDER).rglob("*.bmo"))


def test_every_file_parses() -> None:
    files = corpus()
    assert files
    for path in files:
        assert parse(path.read_text(encoding="utf-8"), path.name).classes, path


def test_files_load_and_simulate_or_say_why_not(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    refused = []
    for path in corpus():
        counts["parsed"] += 1
        try:
            model = es.load_model(path)
            counts["loaded"] += 1
            model.simulate(np.linspace(0.0, model.experiment.stop or 1.0, 11))
            counts["simulated"] += 1
        except EstimicaError as error:
            if error.code.startswith("E"):
                counts["loaded"] += 1  # the equations are read; there are too few or too many
            refused.append(f"{path.name}: {error}")
    with capsys.disabled():
        print(f"\n{dict(counts)}", *refused, sep="\n  ")
    assert counts["loaded"] >= 0.85 * counts["parsed"]
