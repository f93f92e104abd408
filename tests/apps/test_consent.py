"""Consent: wherever a study can hold a text, and however it spells code, nothing runs unasked.

The places come from the schema, not from a list. Code that runs leaves a mark.
"""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))
from study_texts import NAME, Place, study_with, text_places, written

from estimica.apps.cli.commands.app import app
from estimica.apps.web.worker.main import answer
from estimica.base.code.consent import NamedCode
from estimica.study.file.trust import Trust, untrusted_code

PLAIN = "model plain parameter Real k = 1; Real x(start = 1, fixed = true);"
PLAIN += " equation der(x) = -k*x; end plain;"
FUNCTION = "def f(x, t=0, k=1.0):\n    return k*x\n"
#: places whose text is code today; the others may become so tomorrow
LIVE: tuple[Place, ...] = (
    ("model", "source"),
    ("model", "functions", "entry"),
    ("estimate", "criterion"),
    ("criterion", 0, "function"),
)
SPELLINGS = (
    "evil.py:f", "evil.py", "evil.py:f\n", "\nevil.py:f", "evil.py\n", "evil.py\n:f", "evil.py:\nf",
    " evil.py:f", "evil.py:f ", "evil.py :f", "evil.py: f", "evil.py:f\t", "evil.py:f\r\n",
    "evil.py:f\x0c", "evil.py\x00:f", "evil.py:f\x00", "evil.py\u200b:f", "evil.py\u2028",
    "\ufeffevil.py:f", "evil.py::f", "evil.py:f:f", "evil.py:", "evil.py/", "evil.py/:f",
    "evil.py/.", "./evil.py:f", ".//evil.py:f", "sub/../evil.py:f", "sub/evil.py:f", "EVIL.PY:f",
    "evil.PY:f", "evil\uff0epy:f", "evil.\uff50\uff59:f", "evil.pyc:f", "evil.pyw:f", "evil:f",
    "evil.f", "file:evil.py:f", "~/evil.py:f", "$PWD/evil.py:f", "evil.py;f", "evil.py#:f",
    "evil.py?x:f", "link.py:f", "loop.py:f", "pipe.py:f", "dir.py", "dir.py:f",
    "dir.py/__main__.py:f", "pack/__init__.py:f", "pack.py:f", "pack:f", "pack", "gone.py:f",
    "gone.pyc:f", "gone", "zipped.py:f", "zipped.py", "evil.py:__import__('evil')",
    "HERE/evil.py:f", "HERE/../study/evil.py:f", "evil.fmu", "evil.fmu\n", " evil.fmu", "evil.fmu/",
    "EVIL.FMU", "evil.fmu:f", "HERE/evil.fmu",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study's folder full of code that nobody has agreed to."""
    monkeypatch.delenv("ESTIMICA_TRUST")
    monkeypatch.setenv("ESTIMICA_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ESTIMICA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "study"
    for name in ("dir.py", "pack", "sub"):
        (place / name).mkdir(parents=True)
    evil = f"import pathlib\npathlib.Path({str(mark(place))!r}).touch()\n{FUNCTION}"
    for name in ("evil.py", "dir.py/__main__.py", "pack/__init__.py", "sub/evil.py", "gone.py"):
        (place / name).write_text(evil)
    py_compile.compile(str(place / "gone.py"), cfile=str(place / "gone.pyc"))
    py_compile.compile(str(place / "gone.py"))
    (place / "gone.py").unlink()
    with zipfile.ZipFile(place / "zipped.py", "w") as archive:
        archive.writestr("__main__.py", evil)
    with zipfile.ZipFile(place / "evil.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", "<fmiModelDescription/>")
    if hasattr(os, "mkfifo"):
        os.mkfifo(place / "pipe.py")
    (place / "link.py").symlink_to("evil.py")
    (place / "loop.py").symlink_to("loop.py")
    (place / "plain.mo").write_text(PLAIN)
    (place / "points.csv").write_text("time,x,y\n0,0,0\n1,1,2.1\n2,2,3.9\n3,3,6\n")
    return place


def mark(folder: Path) -> Path:
    return folder.parent / "ran"


def by_command(*command: str) -> Callable[[Path], str]:
    def run(study: Path) -> str:
        done = CliRunner().invoke(app, [*command, str(study)])
        return done.output + done.stderr

    return run


def by_task(task: str, **arguments: Any) -> Callable[[Path], str]:
    def run(study: Path) -> str:
        return json.dumps(answer(study, {"task": task, "args": arguments}, study.parent))

    return run


CHECK = by_command("check")
FIT = by_command("fit", "--no-store", "--quiet")
WAYS: tuple[Callable[[Path], str], ...] = (
    CHECK,
    FIT,
    by_task("model"),
    by_task("check"),
    by_task("match", data="points.csv"),
    by_task("by_hand"),
)


def ran(folder: Path) -> bool:
    """Whether Python code ran, or an FMU was unpacked so that it could."""
    return mark(folder).exists() or (folder.parent / "cache" / "fmu").exists()


def tried(
    folder: Path, place: Place, spelling: str, ways: Sequence[Callable[[Path], str]]
) -> Iterator[str]:
    """What ran of a spelling at a place."""
    study = folder / "study.toml"
    study.write_text(written(study_with(place, spelling.replace("HERE", str(folder)))))
    for k, way in enumerate(ways):
        way(study)
        if ran(folder):
            mark(folder).unlink(missing_ok=True)
            shutil.rmtree(folder.parent / "cache" / "fmu", ignore_errors=True)
            yield f"{place} = {spelling!r} ran by way {k}"


def agree_to_another_content(folder: Path) -> None:
    """The user knows these files, but with another content."""
    names = ("evil.py", "sub/evil.py", "pack/__init__.py", "dir.py/__main__.py")
    before = {name: (folder / name).read_text() for name in names}
    study = folder / "known.toml"
    for name in names:
        (folder / name).write_text(FUNCTION)
        study.write_text(f'[model]\nsource = "{name}:f"\n')
        Trust().add(untrusted_code(study))
    for name, text in before.items():
        (folder / name).write_text(text)


def test_the_schema_has_the_places_that_run_code() -> None:
    places = text_places()
    assert len(places) > 100
    assert set(LIVE) <= set(places)
    assert any(place[-1] == NAME for place in places)
    assert len(set(SPELLINGS)) >= 60


@pytest.mark.parametrize("place", LIVE, ids=str)
def test_with_consent_the_code_of_these_places_runs(folder: Path, place: Place) -> None:
    """Otherwise the tests below would show nothing."""
    study = folder / "study.toml"
    study.write_text(written(study_with(place, "evil.py:f")))
    Trust().add(untrusted_code(study))
    # a criterion of a fit is looked at by `check`, and run by `fit`
    (FIT if place == ("estimate", "criterion") else CHECK)(study)
    assert ran(folder)


def test_nothing_runs_unasked_at_any_place(folder: Path) -> None:
    """Every place with some of the spellings, and in each way to read a study some of the places."""
    found = []
    for k, place in enumerate(text_places()):
        spelling = SPELLINGS[k % len(SPELLINGS)]
        found += tried(folder, place, spelling, [WAYS[k % len(WAYS)]])
    assert found == []


@pytest.mark.parametrize("place", LIVE, ids=str)
def test_no_spelling_runs_unasked_where_code_is_named(folder: Path, place: Place) -> None:
    """Each spelling at one of the places; the slow test below has all at all."""
    agree_to_another_content(folder)
    spellings = SPELLINGS[LIVE.index(place) :: len(LIVE)]
    found = [m for spelling in spellings for m in tried(folder, place, spelling, [CHECK])]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "another content is known"])
@pytest.mark.parametrize("place", LIVE, ids=str)
def test_no_spelling_runs_unasked_in_any_way(folder: Path, place: Place, known: bool) -> None:
    if known:
        agree_to_another_content(folder)
    found = [m for spelling in SPELLINGS for m in tried(folder, place, spelling, WAYS)]
    assert found == []


@pytest.mark.slow
def test_nothing_runs_unasked_at_any_place_in_20_spellings(folder: Path) -> None:
    found = []
    for k, place in enumerate(text_places()):
        spellings = SPELLINGS[k % 3 :: 3]  # 22 at each place, all of them at three neighbours
        assert len(spellings) >= 20
        found += [m for spelling in spellings for m in tried(folder, place, spelling, [CHECK])]
    assert found == []


@pytest.mark.parametrize(
    ("spelling", "why"),
    [
        ("evil.py:f\n", "control characters, or spaces at its ends"),
        (" evil.py:f", "control characters, or spaces at its ends"),
        ("evil.py\u200b:f", "control characters, or spaces at its ends"),
        ("dir.py", "'dir.py' is a folder, which is not run; name a file"),
        ("evil.py::f", "is not written as file.py:function"),
        ("evil.py/", "is not written as file.py:function"),
        ("EVIL.PY:f", "is not written as file.py:function"),
        ("evil\uff0epy:f", "is not written as file.py:function"),
        ("gone.pyc:f", "is not written as file.py:function"),
        ("loop.py:f", "'loop.py' cannot be read"),
        ("pipe.py:f", "'pipe.py' cannot be read: it is not a regular file"),
        ("gone.py:f", "there is no file '"),
    ],
)
@pytest.mark.parametrize("place", LIVE, ids=str)
def test_what_cannot_be_resolved_is_refused_with_the_reason(
    folder: Path, place: Place, spelling: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESTIMICA_TRUST", "all")
    study = folder / "study.toml"
    study.write_text(written(study_with(place, spelling)))
    said = " ".join(CHECK(study).split())
    assert why in said
    assert "Traceback" not in said
    assert not ran(folder)


def test_code_is_a_plain_value() -> None:
    code = NamedCode("", "a.py", Path("a.py"), "Python", "0" * 64)
    assert code.text == "Python 'a.py' (sha256 000000000000…)"
