"""Values of results in studies and their files: short forms, cases, bounds, fronts, laws."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import estimica as es
from estimica.study.carry.apply import carried_study
from estimica.study.carry.history import note_use, undo_use
from estimica.study.carry.values import FoundValue, RunValues, values_of_object
from estimica.study.carry.write import text_with_values, without_starts
from estimica.study.origin import ValueChange

TEXT = """# two records of one tank
[model]
source = "Tank.mo"
fix = { g = 9.81 }  # m/s2

[tune]
a = 0.5  # short
"b.c" = { min = 0, max = 0.123456789012 }

[[case]]
name = "first"
free_start = ["h1", "h2"]
outputs = { y = { column = "y", disturbance = true } }

[[case]]
name = "second"
free_start = { h1 = 3, h2 = { start = 1, min = 0 } }
"""


def changed(kind: str, name: str, new: float, case: str = "") -> ValueChange:
    return ValueChange(kind, name, case, None, new)


def test_every_form_of_an_entry_takes_its_value() -> None:
    written = text_with_values(
        TEXT,
        [
            changed("tuner", "a", 2 / 3),
            changed("tuner", "b.c", 0.123456789012),
            changed("start", "h2", 1.5, "first"),
            changed("start", "h1", 4.0, "second"),
            changed("start", "h2", 0.25, "second"),
            changed("disturbance", "y", 0.1, "first"),
            changed("parameter", "k", 7.0),
            changed("start", "h1", 2.0, "third"),
            changed("tuner", "gone", 1.0),
        ],
    )
    tables = tomllib.loads(written.text)
    assert tables["tune"]["a"] == 0.666666667
    assert tables["tune"]["b.c"]["start"] == 0.123456789  # still below its max
    assert tables["model"]["fix"] == {"g": 9.81, "k": 7.0}
    first, second = tables["case"]
    assert first["free_start"]["h2"] == 1.5
    assert "h1" in first["free_start"]
    assert first["outputs"]["y"]["disturbance"] == {"start": 0.1}
    assert second["free_start"] == {"h1": 4.0, "h2": {"start": 0.25, "min": 0}}
    for comment in ("# two records of one tank", "# short", "# m/s2"):
        assert comment in written.text
    assert len(written.changes) == 7
    assert written.remarks == (
        "start of h1 in third is not written: the file has no case 'third' of its own; "
        "the next fit finds it anew",
        "gone is not written: [tune] has no entry 'gone'",
    )
    # what a result depends on has not changed but for the value that is held
    held = text_with_values(
        TEXT, [changed("tuner", "a", 2.0), changed("start", "h1", 2.0, "first")]
    )
    assert without_starts(held.text) == without_starts(TEXT)
    assert without_starts(written.text) != without_starts(TEXT)


def test_a_value_that_stands_there_already_changes_nothing() -> None:
    written = text_with_values(TEXT, [changed("tuner", "a", 0.5)])
    assert written.text == TEXT
    assert written.changes == ()


def test_values_of_a_release_a_front_and_a_back_calculation() -> None:
    fit = {"parameters": {"a": {"value": 1.5, "unit": "m"}, "b": {"value": None}}}
    release = values_of_object({"command": "release", "study": "s", "run": "r", "fit": fit})
    assert release.tuners == {"a": FoundValue(1.5, "m")}  # what is not finite is left out
    front = {"command": "optimise", "study": "s", "run": "r", "knee": 1}
    front["front"] = [{"tuners": {"a": 1.0}}, {"tuners": {"a": 2.0}}]
    assert values_of_object(front, 2).tuners == {"a": FoundValue(2.0)}
    assert values_of_object(front, 2).run == "r.2"
    with pytest.raises(es.StudyError, match=r"say which, as r\.1; the knee is r\.2"):
        values_of_object(front)
    laws = [
        {"of": "k", "rank": 1, "kind": "constant", "parameters": {"c": {"value": 3.0}}},
        {"of": "z", "rank": 1, "kind": "line", "parameters": {"c": {"value": 4.0}}},
        {"of": "z", "rank": 2, "kind": "constant", "parameters": {"c": {"value": 5.0}}},
    ]
    back = {"command": "backcalculate", "study": "s", "laws": laws, "units": {"k": "bar"}}
    assert values_of_object(back).tuners == {"k": FoundValue(3.0, "bar")}
    before = {"from": {"values": {"R": {"value": 2.0, "unit": "Ohm"}, "a": {"value": 9.0}}}}
    design = {"command": "optimise", "study": "s", "tuners": {"a": {"value": 1.0}}, **before}
    assert values_of_object(design).tuners == {"R": FoundValue(2.0, "Ohm"), "a": FoundValue(1.0)}


def test_starts_of_cases_and_parameters_that_cases_fix() -> None:
    model = es.transfer_function("K/(1 + tau*s)")
    case = es.Case("run", fix={"K": 3.0})
    other = es.Case("other")
    study = es.Study(model, [es.Tuner("tau", start=1, min=0.5, max=2, scale="log")], [case, other])
    found = RunValues("r", "fit", "s", {"tau": FoundValue(5.0), "K": FoundValue(4.0)})
    carried = carried_study(study, found).study
    assert carried.tuners[0].start == 2
    assert [c.fix["K"] for c in carried.cases] == [3.0, 4.0]
    assert carried.origin is not None
    remarks = " ".join(carried.origin.remarks)
    assert "the value found, 5, is above its max 2" in remarks
    assert "case 'run' sets 'K' itself" in remarks
    negative = carried_study(study.with_(tuners=[es.Tuner("tau", start=1, scale="log")]),
                             RunValues("r", "fit", "s", {"tau": FoundValue(-1.0)}))  # fmt: skip
    assert negative.study.tuners[0].start == 1
    assert "-1 has no logarithm" in " ".join(negative.study.origin.remarks)  # type: ignore[union-attr]


def test_the_history_of_a_file_is_one_step_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    for k in range(25):
        path.write_text(f"x = {k + 1}\n", encoding="utf-8")
        assert note_use(path, f"run{k}", f"x = {k}\n", f"x = {k + 1}\n")
    assert undo_use(path).run == "run24"
    assert path.read_text(encoding="utf-8") == "x = 24\n"
    assert undo_use(path).run == "run23"
    (tmp_path / ".estimica" / "used-values.json").write_text("[3", encoding="utf-8")
    with pytest.raises(es.StudyError, match="no values were written"):
        undo_use(path)


def test_a_history_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / ".estimica").symlink_to(tmp_path / "elsewhere")
    path = tmp_path / "here" / "s.toml"
    path.write_text("x = 2\n", encoding="utf-8")
    assert not note_use(path, "r", "x = 1\n", "x = 2\n")
    assert not list((tmp_path / "elsewhere").iterdir())
