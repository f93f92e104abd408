"""Study files: what they hold, and that all their mistakes are told at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import CaseError
from estimica.study.file.read import examine_file
from estimica.study.record.samples import record

Write = Callable[..., Path]


def test_everything_of_a_study_file_arrives(study: Write) -> None:
    found = es.read_study(
        study(
            ("[tune]", "fix = { n = 3 }\n[tune]"),
            ('u = "current"', 'u = { column = "current", hold = "linear", scale = 2, offset = 1 }'),
            ('y = "level"', 'y = { column = "level", weight = 2, sigma = 0.3 }'),
            (
                'free_start = ["x"]',
                "free_start = { x = 1, z = { start = 2, min = 0 } }\nfix = { idle = 4 }\n"
                "from = 1\nto = 9\nexclude = [[3, 4]]\nrole = 'validate'\n"
                '[estimate]\ncriterion = "ml"\nstarts = 3\n[solver]\nrtol = 1e-7\n'
                "[release]\nnoise = { y = 1 }\n[[indicator]]\nname = 'x'\nshow = ['y']",
            ),
        )
    )
    a, b = found.tuners
    assert (a.name, a.start, a.min, a.max) == ("a", 0.4, 0.0, 5.0)
    assert (b.name, b.start) == ("b", 1.5)
    (case,) = found.cases
    assert (case.name, case.role, case.from_, case.to) == ("run 1", "validate", 1.0, 9.0)
    assert case.exclude == ((3.0, 4.0),)
    assert case.start_values["z"].min == 0.0
    assert case.fix == {"idle": 4.0}
    assert found.estimation.criterion == "ml"
    assert found.estimation.starts == 3
    assert found.solver.rtol == 1e-7
    assert found.name == "study"
    assert "copies[3]" in found.model.variables.index
    assert found.tables["release"] == {"noise": {"y": 1}}
    rec = record(case)
    np.testing.assert_allclose(rec.inputs["u"].value[:2], [3.0, 3.0])
    (y,) = rec.outputs
    assert y.sigma == 0.3
    assert y.time[0] == 1.0
    assert not ((y.time >= 3) & (y.time <= 4)).any()


def test_a_file_used_by_two_cases_is_read_once(study: Write) -> None:
    second = '[[case]]\nname = "run 2"\ndata = "./run1.csv"\noutputs = { y = "level" }\n'
    found = es.read_study(study(('free_start = ["x"]\n', 'free_start = ["x"]\n' + second)))
    one, two = (case.data for case in found.cases)
    assert one is two


def test_a_case_that_is_not_active_needs_no_data(study: Write) -> None:
    found = es.read_study(study(('"run1.csv"', '"missing.csv"\nactive = false')))
    assert found.active_cases == ()


def test_a_case_without_data_has_nothing_to_fit(study: Write) -> None:
    found = es.read_study(study(('data = "run1.csv"\n', "")))  # a design needs none
    with pytest.raises(CaseError, match="C095"):
        es.fit(found)


def test_a_static_study_needs_no_model(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("x,y\n1,2\n2,3\n3,5\n", encoding="utf-8")
    path = tmp_path / "line.toml"
    path.write_text(
        '[static]\nexpression = "p*x + q"\n[tune]\np = 1\nq = 0\n'
        '[[case]]\nname = "points"\ndata = "points.csv"\n'
        'inputs = { x = "x" }\noutputs = { y = "y" }\n',
        encoding="utf-8",
    )
    found = es.read_study(path)
    assert not found.model.has_time
    assert list(found.model.parameters.index) == ["p", "q"]


def test_all_mistakes_of_a_file_are_told_at_once(study: Write) -> None:
    path = study(
        ('source = "Tank.mo"', 'sorce = "Tank.mo"'),
        ("start = 0.4", 'start = "abc"'),
        ("b = 1.5", "b = { strat = 1.5 }"),
        ('u = "current"', 'u = { colum = "current" }'),
        ('free_start = ["x"]', "[estimate]\nloss = 'hubert'\nstarts = 0"),
    )
    codes = [p.code for p in examine_file(path).problems]
    assert codes == ["Q002", "T001", "T001", "C001", "Q002", "Q002"]
    with pytest.raises(es.StudyError, match="Q001: 6 things to fix"):
        es.read_study(path)
