"""Broken studies: each file holds one mistake; test_messages.py pins how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app
from estimica.study.check.run import check_file

BROKEN = sorted((Path(__file__).parent / "broken").glob("*.toml"))


def test_there_are_enough_of_them() -> None:
    assert len(BROKEN) >= 30


@pytest.mark.parametrize("path", BROKEN, ids=lambda p: p.stem)
def test_the_mistake_is_named(path: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(path)])
    assert result.exit_code == 2, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    errors = [line for line in result.stdout.splitlines() if line.startswith("error ")]
    assert len(errors) == 1, result.stdout
    (problem,) = [p for p in check_file(path) if not p.warning]
    assert f"error {problem.code}: {problem.text}" in result.stdout
