"""The page of error codes has every code of the source, none that is gone, and advice that holds."""

from __future__ import annotations

import importlib.util
import re
import sys
import typing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

from estimica.apps.cli.commands.app import app
from estimica.base import errors

DOCS = Path(__file__).resolve().parent.parent / "docs"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("error_codes_page", DOCS / "error_code_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


PAGE: Any = _script()
CODES = PAGE.codes()
ROOMS = PAGE.rooms()
CURES = {code: cure for room in ROOMS for code, cure in room.codes.items()}


def test_every_code_of_the_source_has_a_cure() -> None:
    missing = sorted(set(CODES) - set(CURES))
    assert not missing, f"say in docs/error-codes.toml what to do about {', '.join(missing)}"


def test_no_code_is_listed_that_is_gone() -> None:
    gone = sorted(set(CURES) - set(CODES))
    assert not gone, f"remove from docs/error-codes.toml: {', '.join(gone)}"


def test_every_code_has_a_cause() -> None:
    told = {code for room in ROOMS for code in room.cause}
    silent = [code for code, found in CODES.items() if not found.messages and code not in told]
    assert not silent, f"docs/error-codes.toml: the cause of {', '.join(silent)} is missing"


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.letter)
def test_codes_stand_under_their_letter_in_order(room: Any) -> None:
    assert [*room.codes] == sorted(room.codes)
    assert {code[0] for code in (*room.codes, *room.cause)} == {room.letter}
    assert set(room.cause) <= set(room.codes)
    assert all(cure.endswith((".", "?")) for cure in room.codes.values())


def test_every_letter_is_that_of_an_error_class() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type)]
    letters = {m[1] for k in kinds if (m := re.match(r"([A-Z])…:", k.__doc__ or ""))}
    own = {"Z"}  # faults of our own, which have no class
    assert {room.letter for room in ROOMS} - own <= letters


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("T003", "min … is above max …; swap them"),
        ("C007", "time '…' of '…' goes back from … to … in row …; "),
        ("O034", "criterion '…': … … is outside of case '…', which runs from … to …"),
        ("P004", "cannot write to stdout"),
    ],
)
def test_messages_are_those_of_the_source(code: str, message: str) -> None:
    assert CODES[code].messages[0].startswith(message)


def test_the_page_has_a_heading_for_each_code_and_a_link_to_each_letter() -> None:
    text = (DOCS / "error-codes.md").read_text(encoding="utf-8")
    page = PAGE.with_codes(text)
    headings = re.findall(r"^### (\w+) ", page, flags=re.MULTILINE)
    assert headings == sorted(CURES)
    for room in ROOMS:
        slug = f"{room.letter}: {room.title}".lower().replace(":", "").replace(" ", "-")
        assert f"](#{slug})" in text


def test_commands_and_options_of_the_advice_exist() -> None:
    group: Any = typer.main.get_command(app)
    options = {o for c in _all_commands(group) for p in c.params for o in p.opts}
    for code, cure in CURES.items():
        for literal in re.findall(r"`([^`]+)`", cure):
            if not literal.startswith(("omc", "dask", "pip", "fmpy")):
                for option in re.findall(r"(?<!\S)--[a-z][\w-]*", literal):
                    assert option in options | {"--help"}, f"{code} names {option}"
            command = re.match(r"(?:ESTIMICA_\w+=1 )?estimica ([a-z][\w-]*)", literal)
            if command:
                assert command[1] in group.commands, f"{code} names estimica {command[1]}"


def _all_commands(group: Any) -> typing.Iterator[Any]:
    for command in group.commands.values():
        yield command
        yield from _all_commands(command) if hasattr(command, "commands") else ()
