"""The JSON Schema says the same as the reader, and is valid itself."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.study.tables.schema import study_schema

ROOT = Path(__file__).resolve().parent.parent.parent
STUDIES = sorted(p for p in (ROOT / "examples").rglob("*.toml") if p.stem != "rcThermal")


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = study_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_a_study_is_valid(study: Callable[..., Path], validator: Draft202012Validator) -> None:
    validator.validate(tomllib.loads(study().read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", STUDIES, ids=lambda p: p.stem)
def test_example_studies_are_valid(path: Path, validator: Draft202012Validator) -> None:
    validator.validate(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("b = 1.5", 'b = "1.5"'),
        ("b = 1.5", "b = { strat = 1.5 }"),
        ("[tune]", "[tuners]"),
        ('data = "run1.csv"', "data = 3"),
        ('u = "current"', 'u = { column = "current", hold = "lin" }'),
    ],
)
def test_a_wrong_study_is_not_valid(
    old: str, new: str, study: Callable[..., Path], validator: Draft202012Validator
) -> None:
    with pytest.raises(ValidationError):
        validator.validate(tomllib.loads(study((old, new)).read_text(encoding="utf-8")))


def test_everything_has_a_description_and_the_keys_of_the_file() -> None:
    schema = study_schema()
    tables = {"": schema, **schema["$defs"]}
    for name, table in tables.items():
        for key, field in table.get("properties", {}).items():
            assert field.get("description"), f"{name}.{key}"
            assert not key.endswith("_")
    assert "from" in tables["Case"]["properties"]
    assert "class" in tables["ModelTable"]["properties"]
    assert "name" not in tables["Tuner"]["properties"]
    assert "null" not in json.dumps(schema)


def test_the_command_prints_or_writes_it(tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["schema"])
    assert json.loads(printed.stdout) == study_schema()
    written = CliRunner().invoke(app, ["schema", "--output", str(tmp_path / "s.json")])
    assert written.exit_code == 0
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8")) == study_schema()
    refused = CliRunner().invoke(app, ["schema", "--output", str(tmp_path / "no" / "s.json")])
    assert refused.exit_code == 2
    assert "cannot write" in refused.stderr
