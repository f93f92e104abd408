"""The desk of a study: odd files do not upset it, edits elsewhere are taken over, undo goes back."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the workbench needs estimica[web]")

from estimica.apps.web.files.folder import ServedFolder
from estimica.apps.web.files.recent_runs import compare_address, runs_in
from estimica.apps.web.pages.overview import in_words
from estimica.apps.web.pages.run import is_modelica
from estimica.apps.web.parts.form import turned
from estimica.apps.web.parts.frame import study_address, tree_of
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.worker.client import ModelWorkers
from estimica.base.errors import StudyError
from estimica.study.form.tables import form_of

TEXT = """# of the boiler
[tune]
a = { start = 1, prior = { mean = 2 } }  # kept
[[case]]
name = "x"
free_start = ["s"]
"""


def desk_of(folder: Path, text: str) -> StudySession:
    (folder / "s.toml").write_text(text, encoding="utf-8")
    served = ServedFolder(folder)
    return StudySession("s.toml", folder / "s.toml", served, ModelWorkers(folder))


def test_the_last_entry_takes_its_table_along_in_one_step(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, TEXT)
    desk.set(("tune", "a", "prior", "mean"), None, tables={("tune", "a", "prior")})
    assert desk.value(("tune", "a", "prior")) is None
    desk.set(("case", 0, "free_start", "s"), None, tables={("case", 0, "free_start")})
    assert "free_start" not in desk.text
    desk.undo()
    desk.undo()
    assert desk.text == TEXT == (tmp_path / "s.toml").read_text()


def test_an_empty_entry_stays_where_it_says_something(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, TEXT.replace('["s"]', "{ s = { start = 1 }, t = 2 }"))
    desk.set(("case", 0, "free_start", "s", "start"), None)
    assert set(desk.table(("case", 0, "free_start"))) == {"s", "t"}


@pytest.mark.parametrize(
    "text",
    [
        "", "# only a comment\n", "[broken", "tune = 3\ncase = 4\ncriterion = 6\nmodel = 5\n",
        "[tune]\na = [1, 2]\n[case]\nname = 1\n", "case = [1, 2]\nindicator = 'x'\n",
    ],
)  # fmt: skip
def test_odd_studies_have_a_tree_and_a_sentence(tmp_path: Path, text: str) -> None:
    desk = desk_of(tmp_path, text)
    assert desk.is_broken == (text == "[broken")
    assert next(heading for heading, _ in tree_of(desk)) == "Study"
    assert in_words(desk.tables)
    assert desk.table(("tune", "a", "prior")) == {}


def test_a_study_that_was_moved_is_not_written_anew(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, TEXT)
    (tmp_path / "s.toml").rename(tmp_path / "t.toml")
    assert desk.is_gone
    assert not desk.look()
    with pytest.raises(StudyError, match="deleted since it was read"):
        desk.set(("tune", "a", "start"), 3.0)
    assert not (tmp_path / "s.toml").exists()
    (tmp_path / "t.toml").rename(tmp_path / "s.toml")
    desk.set(("tune", "a", "start"), 3.0)
    assert desk.value(("tune", "a", "start")) == 3.0


def test_an_option_of_words_begins_with_a_word() -> None:
    scale = form_of(("tune", "*")).field("scale")
    words = next(o for o in scale.options if o.field.choices)
    assert turned(5.0, words) == "auto"
    assert turned("log", words) == "log"


def test_addresses_hold_any_name() -> None:
    runs = [("a, b/ä&c#d", "r1"), ("", "r2")]
    address = compare_address(runs)
    assert all(c not in address for c in " &#ä")
    from urllib.parse import parse_qs, urlsplit

    assert runs_in(parse_qs(urlsplit(address).query)["runs"][0]) == runs
    assert study_address("a b.toml", "tune/'x y'&z") == "/study/a%20b.toml?at=tune/%27x%20y%27%26z"


@pytest.mark.parametrize(
    ("source", "is_one"),
    [
        ("Boiler.mo", True), ("Modelica.Blocks.Examples.PID", True), ("model.fmu", False),
        ("laws.py:f", False), ("R0 + R1/(1 + s)", False), (None, False),
        ("Modelica.Fluid.Valves.ValveLinear(dp_nominal=1e5, m_flow_nominal=2)", True),
    ],
)  # fmt: skip
def test_only_modelica_is_offered_as_modelica(source: object, is_one: bool) -> None:
    assert is_modelica(source) is is_one


@pytest.mark.parametrize("tuner", [{"start": 1, "min": 1, "max": 1}, {"start": 1, "min": 2, "max": 1},
                                   {"start": 1, "min": 1, "max": 1, "scale": "log"}])  # fmt: skip
def test_bounds_that_leave_no_room_do_not_end_the_page_of_sliders(tuner: dict[str, object]) -> None:
    pytest.importorskip("nicegui", reason="the workbench needs estimica[web]")
    from estimica.apps.web.pages.by_hand import Scale

    assert Scale.of(tuner, {}).position(1.0) == 0.0
