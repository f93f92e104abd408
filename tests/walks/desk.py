"""A user's desk for walks: a folder, and commands in the order in which a user types them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from estimica.apps.cli.commands.app import app


class Desk:
    """Commands typed in one folder, and what they say."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "160")  # tables do not break their lines

    def write(self, name: str, text: str) -> Path:
        """A file as an editor saves it."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def edit(self, name: str, /, **changes: str) -> None:
        """Lines that begin with a word (after `# `) are replaced; the word is there once."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        for word, line in changes.items():
            text, count = re.subn(rf"(?m)^(# )?{word} = .*$", lambda _, new=line: new, text)  # type: ignore[misc]
            assert count == 1, f"{word}: {count} lines in\n{text}"
        path.write_text(text, encoding="utf-8")

    def type(self, *command: str, code: int = 0) -> str:
        """What a command prints, spaces as one; it ends with this exit code and no traceback."""
        done = CliRunner().invoke(app, list(command))
        assert done.exit_code == code, f"{command}: exit code {done.exit_code}\n{done.output}"
        assert "Traceback" not in done.output
        assert "Z001" not in done.output
        return re.sub(r"\s+", " ", done.output)
