"""What the command line prints: no name, message or value of a file steers the terminal."""

from __future__ import annotations

import ast
import json
import logging
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

import estimica.apps.cli as cli
from estimica.apps.cli.commands.app import app
from estimica.apps.cli.console import VisibleConsole, VisibleStream, print_json, print_text, say
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store

ESC = "\x1b[2J\x1b]8;;http://evil.example\x07"
NAMES = (f"a{ESC}b", "a\0b", "a\u202eb", "a\x9bb", "a\u200bb", "a\rb", "a\x07\x08b")
RAW = set("\x1b\x00\x07\x08\r\u202e\u200b\x9b")


def estimica(*arguments: object) -> tuple[str, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.stdout, result.stderr


def raw(text: str) -> set[str]:
    return RAW & set(text.replace("\r\n", "\n"))


@pytest.mark.parametrize("name", NAMES)
def test_lines_texts_and_tables_are_visible(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(title=Text(name))
    table.add_column(Text(name))
    table.add_row(Text(name))
    say(name)
    print_text(name)
    console = VisibleConsole(force_terminal=True, width=120)
    console.print(table)
    captured = capsys.readouterr()
    assert raw(captured.err) == set()
    # what is left are the console's own codes
    assert name not in captured.out
    assert captured.out.replace("\x1b[", "").count("\x1b") == 0
    assert "\\u" in captured.err
    assert "\\u" in captured.out


def test_what_libraries_of_the_server_log_is_visible(capsys: pytest.CaptureFixture[str]) -> None:
    stream = VisibleStream(sys.stderr)
    handler = logging.StreamHandler(stream)  # type: ignore[type-var]
    handler.emit(logging.LogRecord("x", 40, "", 1, f"failed: a{ESC}", None, None))
    assert raw(capsys.readouterr().err) == set()
    assert stream.encoding == sys.stderr.encoding


def test_colours_of_our_own_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    VisibleConsole(force_terminal=True, color_system="standard").print("[red]a[/red]")
    assert "\x1b[31ma" in capsys.readouterr().out


def test_marks_of_rich_are_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("[link=http://evil.example]click[/link] [red]red[/red] [bold")
    assert "[link=http://evil.example]click[/link] [red]red[/red] [bold" in capsys.readouterr().out


def test_json_is_json_whatever_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({name: [name] for name in NAMES})
    text = capsys.readouterr().out
    assert raw(text) == set()
    assert json.loads(text) == {name: [name] for name in NAMES}  # programs get what there is


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A study, its data and a store whose names try to steer the terminal."""
    study = tmp_path / "study.toml"
    odd = "[red]x[/red] \\u001b[2J\\u0000\\u202e"
    study.write_text(
        f'[static]\nexpression = "a*x + {odd}"\n[tune."{odd}"]\nstart = 1\nmin = "{odd}"\n'
        f'[[case]]\nname = "{odd}"\ndata = "points.csv"\n'
        f'inputs = {{ x = "{odd}" }}\noutputs = {{ y = "y" }}\n[{json.dumps(odd)}]\n'
    )
    (tmp_path / "points.csv").write_text("time,x,\x1b[2J\x00\u202e\n0,0,0\n1,1,2\n")
    store = Store.beside(tmp_path)
    run = store.begin("fit", name=f"n{ESC}\0", study={}, settings={"criterion": f"c{ESC}"})
    run.finish(Status.FAILED, f"m{ESC}\u202e", {"parameters": {f"p{ESC}": {"value": 1.0}}})
    connection = sqlite3.connect(store.path)
    connection.execute("UPDATE run SET command = ?", (f"c{ESC}",))
    connection.commit()
    connection.close()
    return study


def test_hostile_names_do_not_reach_the_terminal(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.parent)
    for command in (
        ("check", hostile),
        ("fit", hostile),
        ("runs",),
        ("runs", "show", "last"),
        ("runs", "compare", "last", "last"),
        ("report", "last"),
        ("signal", f"x{ESC}"),
        ("inspect", f"x{ESC}.mo"),
        ("check", f"x{ESC}.toml"),
    ):
        out, err = estimica(*command)
        assert raw(out + err) == set(), command
        assert out + err


def test_nothing_else_prints() -> None:
    """One exit: whoever prints past it is found here."""
    folder = Path(cli.__file__).parent
    found = [
        f"{path.name}:{line}"
        for path in sorted(folder.rglob("*.py"))
        if path.name != "console.py"
        for line in _printing(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def _printing(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        constant = all(isinstance(a, ast.Constant) for a in node.args)
        if name in ("Console", "Status", "rich.print", "typer.echo", "typer.secho"):
            yield from () if _is_version(node) else (node.lineno,)
        if name in ("print", "sys.stdout.write", "sys.stderr.write") and not constant:
            yield node.lineno


def _is_version(node: ast.Call) -> bool:
    return "version(" in ast.unparse(node)
