"""What the pages promise is held by tests that they name, and options are those of the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from estimica.apps.cli.commands.app import app

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PROMISING = ("safety", "runs", "command-line")
HELD = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
#: every command that reads a study has the one, every command the other
EVERYWHERE = {"--help", "--trust"}


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return {name: command for name, command in group.commands.items() if not command.hidden}


def sections(page: str) -> Iterator[tuple[str, str]]:
    """Headings "`estimica X …`" and what follows them."""
    parts = re.split(r"^## `estimica ([\w-]+)[^\n]*\n", page, flags=re.MULTILINE)
    yield from zip(parts[1::2], parts[2::2], strict=True)


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))


def options_of(command: Any) -> set[str]:
    spelt = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    return {o for o in spelt if o.startswith("--")}


@pytest.mark.parametrize("page", PROMISING)
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = HELD.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    assert named, "a page of promises names the tests that hold them"
    for file, test in named:
        path = ROOT / file
        assert path.is_file(), f"{page}.md names {file}"
        assert f"def {test}(" in path.read_text(encoding="utf-8"), f"{page}.md names {file}::{test}"


SECTIONS = list(sections((DOCS / "command-line.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize(("name", "text"), SECTIONS, ids=[name for name, _ in SECTIONS])
def test_options_of_the_page_are_those_of_the_command(name: str, text: str) -> None:
    told = options_in(text)
    for other in re.findall(r"as `estimica ([\w-]+)`", text):
        told |= {o for o in options_in(dict(SECTIONS)[other]) if "all others" in text}
    assert options_in(text) <= options_of(commands()[name]), "the page names options that are not"
    assert options_of(commands()[name]) - EVERYWHERE <= told, "the page leaves options out"


def test_every_command_is_on_the_page() -> None:
    linked = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert [n for n in commands() if f"`estimica {n}" not in linked] == []


def test_every_point_of_the_safety_page_names_its_test() -> None:
    page = (DOCS / "safety.md").read_text(encoding="utf-8")
    points = re.findall(r"^(?:- |\*\*)(?:.+\n?)+?(?=\n|^- |^\*\*|\Z)", page, flags=re.MULTILINE)
    promises = [p for p in points if not p.startswith("**What is not done.**")]
    assert len(promises) > 20
    for promise in promises:
        introduces = promise.rstrip().endswith((":", "only"))  # the points that follow hold it
        assert introduces or HELD.search(promise), promise


def test_every_test_that_is_left_out_exists() -> None:
    lines = (ROOT / "tests" / "slow_tests.txt").read_text(encoding="utf-8").splitlines()
    listed = [line.partition(" but ")[0] for line in lines if line and not line.startswith("#")]
    assert listed == sorted(set(listed)), "one line a test, in order"
    for name in listed:
        file, _, test = name.partition("::")
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), name
