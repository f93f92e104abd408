"""Two studies with Python files and a helper of the same name each: none sees the other's."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import estimica as es

STUDY = """
[model]
source = "model.py:line"
[tune]
K = { start = 1.0, min = 0.1, max = 20 }
[[case]]
name = "run"
data = "data.csv"
inputs = { u = "u" }
outputs = { y = "y" }
[estimate]
criterion = "score.py:score"
starts = 2
"""


def study(folder: Path, gain: float) -> Path:
    """y = K·gain·t against data of 6·t: K is 6/gain."""
    folder.mkdir()
    (folder / "helper.py").write_text(
        f"def shape(t):\n    return {gain} * t\ndef square(r):\n    return {gain} * r**2\n"
    )
    (folder / "model.py").write_text(
        "import helper\ndef line(u, t, K=1.0):\n    return K * helper.shape(t)\n"
    )
    (folder / "score.py").write_text(
        "def score(residual):\n    from helper import square\n    return square(residual)\n"
    )
    t = np.linspace(0, 1, 11)
    rows = [f"{a},1,{6 * a}" for a in t]
    (folder / "data.csv").write_text("time,u,y\n" + "\n".join(rows) + "\n")
    (folder / "study.toml").write_text(STUDY)
    return folder / "study.toml"


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_study_has_its_own_helper_in_one_process(tmp_path: Path, workers: int) -> None:
    one, two = study(tmp_path / "one", 2.0), study(tmp_path / "two", 3.0)
    for path, wanted, gain in ((one, 3.0, 2.0), (two, 2.0, 3.0), (one, 3.0, 2.0)):
        found = es.fit(es.read_study(path), workers=workers)
        assert found.values == pytest.approx([wanted], rel=1e-6)
        start = es.read_study(path).model.simulate([1.0], {"u": 1.0}, {"K": 1.0})
        assert start.value("y")[0] == gain


def test_a_helper_that_was_edited_counts_in_the_next_fit(tmp_path: Path) -> None:
    path = study(tmp_path / "one", 2.0)
    assert es.fit(es.read_study(path)).values == pytest.approx([3.0], rel=1e-6)
    helper = path.with_name("helper.py")
    helper.write_text(helper.read_text().replace("2.0", "4.0"))
    assert es.fit(es.read_study(path)).values == pytest.approx([1.5], rel=1e-6)


def test_a_model_takes_its_helper_to_another_process(tmp_path: Path) -> None:
    path = study(tmp_path / "one", 2.0)
    content = tmp_path / "model.pickle"
    content.write_bytes(pickle.dumps(es.read_study(path).model))
    shutil.rmtree(path.parent)
    code = (
        "import pickle, sys; m = pickle.loads(open(sys.argv[1], 'rb').read());"
        "print(m.simulate([1.0], {'u': 1.0}, {'K': 1.0}).value('y')[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(content)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) == 2.0
