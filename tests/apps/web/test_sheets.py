"""Tables like a spreadsheet: what is typed or pasted becomes one edit of the study file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.apps.web.test_desk import desk_of

pytest.importorskip("nicegui", reason="the workbench needs estimica[web]")

from estimica.apps.web.session.study import StudySession
from estimica.apps.web.sheets.cases import CaseValues
from estimica.apps.web.sheets.criteria import CriteriaByCase
from estimica.apps.web.sheets.spreadsheet import Draft, SheetContent, number_of, truth_of
from estimica.apps.web.sheets.starts import FreeStarts
from estimica.base.errors import WebError

TEXT = """# of the drive
[[case]]
name = "high"   # with its load
stop = 3
fix = { m = 15, phi = 90 }

[[case]]
name = "low"
stop = 3

[[criterion]]
name = "overshoot"
of = "phi"
kind = "peak"
demand = 0.003

[[criterion]]
name = "time"
of = "w"
kind = "settling-time"
reference = 0
demand = { high = 0.3, low = 0.2 }
cases = ["high", "low"]
"""
KNOWN: dict[str, dict[str, Any]] = {
    "m": {"role": "parameter", "value": 1.5, "unit": "kg", "description": "load"},
    "x": {"role": "state", "value": 0.25, "unit": "m"},
    "v": {"role": "state", "value": None, "unit": "1"},
}


def filled(content: SheetContent, *rows: tuple[int, dict[int, str]]) -> Draft:
    """Texts of cells by row and column, written as one edit."""
    draft = Draft(content.desk)
    for row, cells in rows:
        content.write(draft, row, cells)
    content.desk.set_all(draft.values.items())
    return draft


def shown(content: SheetContent) -> list[list[str]]:
    return [[c.text or f"({c.placeholder})" for c in row.cells] for row in content.rows()]


@pytest.fixture
def desk(tmp_path: Path) -> StudySession:
    return desk_of(tmp_path, TEXT)


def test_cases_and_their_values_are_a_table(desk: StudySession) -> None:
    sheet = CaseValues(desk, KNOWN)
    assert [c.label for c in sheet.columns()] == ["active", "case", "stop", "m", "phi"]
    assert sheet.columns()[3].unit == "kg"
    assert shown(sheet) == [
        ["true", "high", "3", "15", "90"],
        ["true", "low", "3", "(1.5)", "()"],  # what the model has
    ]


def test_a_pasted_block_fills_cells_and_makes_cases_in_one_step(desk: StudySession) -> None:
    sheet = CaseValues(desk, KNOWN)
    rows = [(1, {3: "0,5", 4: "-1e1"}), (2, {1: "next", 2: "4", 3: "2*k"}), (3, {3: "7"})]
    assert not filled(sheet, *rows).rejected
    cases = desk.entries(("case",))
    assert cases[1]["fix"] == {"m": 0.5, "phi": -10}
    assert cases[2] == {"name": "next", "stop": 4, "fix": {"m": "2*k"}}
    assert cases[3] == {"name": "case 1", "stop": 3, "fix": {"m": 7}}  # as long as the one before
    assert "# with its load" in desk.text
    desk.undo()
    assert desk.text == TEXT


@pytest.mark.parametrize(
    ("column", "text", "why"),
    [
        (2, "3 s", "'3 s' is not a number"),
        (2, "nan", "'nan' is not a finite number"),
        (3, "1,000", "'1,000' may mean thousands or a decimal comma; write it with a point"),
        (0, "perhaps", "'perhaps' is neither true nor false"),
        (1, "", "a case needs a name; the × behind the row removes it"),
        (1, "low", "there is a case 'low' already"),
    ],
)
def test_what_does_not_fit_is_told_at_its_cell_and_not_written(
    desk: StudySession, column: int, text: str, why: str
) -> None:
    draft = filled(CaseValues(desk, KNOWN), (0, {column: text}))
    assert draft.rejected == {(0, column): (text, why)}
    assert desk.text == TEXT


def test_a_renamed_case_is_renamed_wherever_it_is_spoken_of(desk: StudySession) -> None:
    filled(CaseValues(desk, KNOWN), (0, {1: "loaded"}))
    time = desk.entries(("criterion",))[1]
    assert time["demand"] == {"loaded": 0.3, "low": 0.2}
    assert time["cases"] == ["loaded", "low"]


def test_cleared_cells_and_columns_leave_nothing_behind(desk: StudySession) -> None:
    sheet = CaseValues(desk, KNOWN)
    sheet.add_parameter("x")
    assert [c.label for c in sheet.columns()][3:] == ["m", "phi", "x"]
    filled(sheet, (0, {3: ""}))
    for column in (5, 4, 3):
        sheet.remove_column(column)
    assert "fix" not in desk.text
    with pytest.raises(WebError, match="cannot be removed"):
        sheet.remove_column(1)
    sheet.remove_row(0)
    assert [c["name"] for c in desk.entries(("case",))] == ["low"]


def test_demands_are_one_number_where_they_are_alike(desk: StudySession) -> None:
    sheet = CriteriaByCase(desk, "demand")
    assert [c.label for c in sheet.columns()][-2:] == ["high", "low"]
    assert [row[-2:] for row in shown(sheet)] == [["0.003", "0.003"], ["0.3", "0.2"]]
    filled(sheet, (0, {7: "0.004"}), (1, {6: "0.2"}))
    assert desk.value(("criterion", 0, "demand")) == {"high": 0.003, "low": 0.004}
    assert desk.value(("criterion", 1, "demand")) == 0.2
    filled(sheet, (0, {6: "", 7: ""}))
    assert desk.value(("criterion", 0, "demand")) is None
    assert shown(sheet)[0][-2:] == ["(1)", "(1)"]


def test_a_dash_leaves_a_criterion_out_of_a_case_but_not_of_all(desk: StudySession) -> None:
    sheet = CriteriaByCase(desk, "demand")
    filled(sheet, (0, {6: "–"}))
    assert desk.value(("criterion", 0, "cases")) == ["low"]
    assert shown(sheet)[0][-2:] == ["–", "0.003"]
    draft = filled(sheet, (0, {7: "off"}))
    assert "taken in no case" in draft.rejected[0, 7][1]
    filled(sheet, (0, {6: "0.005"}))
    assert desk.value(("criterion", 0, "cases")) is None
    assert desk.value(("criterion", 0, "demand")) == {"low": 0.003, "high": 0.005}


def test_criteria_are_typed_in_and_their_choices_checked(desk: StudySession) -> None:
    sheet = CriteriaByCase(desk, "demand", ("phi", "w"))
    new = {1: "effort", 2: "energy", 3: "u", 4: "0.5", 5: "watch", 7: "2"}
    draft = filled(sheet, (2, new), (1, {2: "slow", 1: "overshoot", 6: "0"}))
    assert desk.value(("criterion", 2)) == {
        "name": "effort", "kind": "energy", "of": "u", "reference": 0.5, "role": "watch",
        "demand": {"low": 2},
    }  # fmt: skip
    assert [draft.rejected[1, c][1].split(" is none")[0] for c in (2, 1, 6)] == [
        "'slow'", "there is a criterion 'overshoot' already", "a demand is positive, not 0",
    ]  # fmt: skip


def test_weights_are_of_what_is_made_small(desk: StudySession) -> None:
    filled(CriteriaByCase(desk, "demand"), (1, {5: "at-most"}))
    sheet = CriteriaByCase(desk, "weight")
    assert shown(sheet) == [["overshoot", "minimise", "(1)", "(1)"], ["time", "at-most", "–", "–"]]
    assert sheet.rows()[1].cells[2].locked
    filled(sheet, (0, {2: "3", 3: "3"}))
    assert desk.value(("criterion", 0, "weight")) == 3
    assert desk.value(("criterion", 0, "demand")) == 0.003


def test_a_study_without_cases_has_one_column(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, '[[criterion]]\nname = "a"\nof = "x"\n')
    sheet = CriteriaByCase(desk, "demand")
    assert [c.label for c in sheet.columns()][-1] == "design"
    filled(sheet, (0, {6: "3"}))
    assert desk.value(("criterion", 0, "demand")) == 3


def test_free_starts_begin_with_the_values_of_the_model(desk: StudySession) -> None:
    sheet = FreeStarts(desk, KNOWN)
    desk.set(("case", 1, "fix", "x"), 0.5)
    sheet.add([0, 1], ["x", "v"])
    assert [row[:5] for row in shown(sheet)] == [
        ["high", "x", "0.25", "()", "()"],
        ["high", "v", "(the model's)", "()", "()"],
        ["low", "x", "0.5", "()", "()"],  # as the case fixes it
        ["low", "v", "(the model's)", "()", "()"],
    ]
    draft = filled(sheet, (0, {3: "0", 4: "1"}), (1, {2: "2", 3: "low"}))
    assert draft.rejected == {(1, 3): ("low", "'low' is not a number")}
    assert desk.value(("case", 0, "free_start")) == {
        "x": {"start": 0.25, "min": 0, "max": 1},
        "v": {"start": 2},
    }
    sheet.remove_row(3)
    sheet.remove_row(2)
    assert desk.value(("case", 1, "free_start")) is None


def test_numbers_and_truths_as_spreadsheets_write_them() -> None:
    assert [number_of(t) for t in ("", "3", "-2.5e-3", "0,003", "-1,5E2")] == [
        None, 3, -0.0025, 0.003, -150,
    ]  # fmt: skip
    assert [truth_of(t) for t in ("TRUE", "x", "1", "false", "0", "")] == [True] * 3 + [False] * 3
