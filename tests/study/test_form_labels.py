"""A team's file changes labels and leaves fields out; what it names must exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from estimica.base.errors import StudyError
from estimica.study.form.labels import (
    FILE_NAME,
    FormLabels,
    apply_labels,
    labels_of_text,
    read_labels,
)
from estimica.study.form.tables import form_of

TEXT = """
[labels]
"tune.*.start" = "Initial guess"
"tune.*" = "Parameter to be found"
"case.*.unwrap" = "Period"            # wherever it stands below a case

[hide]
fields = ["case.*.sheet", "static"]

[show]
only = ["tune.*.start", "tune.*.min", "tune.*.max"]

[order]
"tune.*" = ["max", "min"]
"""


def names(*place: str) -> list[str]:
    return [f.name for f in apply_labels(form_of(place), labels_of_text(TEXT)).fields]


def test_labels_are_the_teams_own() -> None:
    labels = labels_of_text(TEXT)
    form = apply_labels(form_of(("tune", "*")), labels)
    assert form.title == "Parameter to be found"
    assert form.field("start").label == "Initial guess"
    assert form.field("start").description == form_of(("tune", "*")).field("start").description
    inputs = apply_labels(form_of(("case", 0, "inputs", "u")), labels)
    assert inputs.field("unwrap").label == "Period"
    assert inputs.options[1].fields[5].label == "Period"
    inner = apply_labels(form_of(("case", "*")), labels).field("outputs").item
    assert inner is not None
    assert "Period" in [f.label for f in inner.options[0].fields]


def test_fields_are_hidden_shown_alone_and_ordered() -> None:
    assert names("tune", "*") == ["max", "min", "start"]
    assert "sheet" not in names("case", "*")
    assert "data" in names("case", "*")
    assert "static" not in names()
    assert "tune" in names()


def test_what_must_be_given_is_always_shown() -> None:
    labels = labels_of_text('[show]\nonly = ["case.*.data"]\n')
    assert [f.name for f in apply_labels(form_of(("case", 0)), labels).fields] == ["name", "data"]
    with pytest.raises(StudyError, match="Q081"):
        labels_of_text('[hide]\nfields = ["case.*.name"]\n')


def test_without_a_file_forms_stay_as_they_are(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == FormLabels()
    assert apply_labels(form_of(("case", "*")), FormLabels()) == form_of(("case", "*"))
    (tmp_path / FILE_NAME).write_text(TEXT, encoding="utf-8")
    assert read_labels(tmp_path) == labels_of_text(TEXT)
    (tmp_path / FILE_NAME).write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="Q081"):
        read_labels(tmp_path)
