"""Agreement: only who reads the server's terminal lets code run, and only what was shown."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from pathlib import Path

import pytest

from estimica.apps.web.files.containment import SETTLED, CodeListing
from estimica.apps.web.session import agreement
from estimica.apps.web.session.agreement import ASKED, LASTS, TRIES, WRONG, TerminalApprovals
from estimica.apps.web.worker import client as bench
from estimica.apps.web.worker.client import ModelWorker
from estimica.base.errors import WebError
from estimica.study.file.trust import NamedCode, Trust


@pytest.fixture(autouse=True)
def asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is trusted yet."""
    monkeypatch.delenv("ESTIMICA_TRUST")
    monkeypatch.setenv("ESTIMICA_STATE", str(tmp_path / "state"))


class Terminal:
    """What was printed, and a clock that is turned by hand."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.now = 0.0
        self.agreements = TerminalApprovals(self.said.append, lambda: self.now)

    @property
    def code(self) -> str:
        return re.findall(r"  (\w{3}-\w{3})\n", "".join(self.said))[-1]


def a_code(name: str = "own.py", sha: str = "a" * 64) -> NamedCode:
    return NamedCode("[model] source", name, Path("/x") / name, "Python", sha)


def error(terminal: Terminal, token: str, typed: str, *now: NamedCode) -> str:
    with pytest.raises(WebError) as told:
        terminal.agreements.answer(token, typed, now or (a_code(),))
    return told.value.code


def test_the_code_of_the_terminal_lets_the_shown_files_run_once() -> None:
    terminal = Terminal()
    token = terminal.agreements.ask("s.toml", [a_code()])
    assert "own.py" in terminal.said[0]
    assert "aaaaaaaaaaaa" in terminal.said[0]  # what it is about stands there, too
    assert token not in "".join(terminal.said)
    code = terminal.code
    terminal.agreements.answer(token, f" {code.lower()} ", [a_code()])
    assert Trust().holds(a_code())
    assert "agreed in the workbench" in terminal.said[-1]
    assert error(terminal, token, code) == "G023"


def test_a_file_that_changed_since_is_asked_about_again() -> None:
    terminal = Terminal()
    for now in ((a_code(sha="b" * 64),), (a_code(), a_code("more.py")), (a_code("other.py"),)):
        token = terminal.agreements.ask("s.toml", [a_code()])
        assert error(terminal, token, terminal.code, *now) == "G025"
        assert error(terminal, token, terminal.code) == "G023"
    assert not Trust().holds(a_code())


def test_codes_do_not_last_and_are_not_guessed() -> None:
    terminal = Terminal()
    token = terminal.agreements.ask("s.toml", [a_code()])
    terminal.now += LASTS
    assert error(terminal, token, terminal.code) == "G023"
    token = terminal.agreements.ask("s.toml", [a_code()])
    for typed in ("", "ABC-DEF", "é" * 6, "x" * 10_000)[: TRIES - 1]:
        assert error(terminal, token, typed) == "G024"
    assert error(terminal, token, "") == "G023"
    assert error(terminal, token, terminal.code) == "G023"  # the right one comes too late
    assert sum("a wrong code was typed" in line for line in terminal.said) == TRIES


def test_a_code_is_for_its_own_question() -> None:
    terminal = Terminal()
    first = terminal.agreements.ask("s.toml", [a_code()])
    early = terminal.code
    second = terminal.agreements.ask("t.toml", [a_code("t.py")])
    assert error(terminal, second, early, a_code("t.py")) == "G024"
    terminal.agreements.withdraw(first)
    assert error(terminal, first, early) == "G023"


def test_a_script_cannot_go_on_guessing_or_fill_the_terminal() -> None:
    terminal = Terminal()
    for _ in range(WRONG // TRIES):
        token = terminal.agreements.ask("s.toml", [a_code()])
        for _ in range(TRIES):
            error(terminal, token, "x")
    with pytest.raises(WebError, match="too many wrong codes: agree at a terminal"):
        terminal.agreements.ask("s.toml", [a_code()])
    quiet = Terminal()
    for _ in range(ASKED):
        quiet.agreements.ask("s.toml", [a_code()])
    with pytest.raises(WebError, match="too many questions"):
        quiet.agreements.ask("s.toml", [a_code()])
    quiet.now += LASTS
    assert quiet.agreements.ask("s.toml", [a_code()])


def test_codes_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        seen.append((one, other))
        return False

    monkeypatch.setattr(agreement.hmac, "compare_digest", compare)
    terminal = Terminal()
    assert error(terminal, terminal.agreements.ask("s.toml", [a_code()]), "x") == "G024"
    assert len(seen) == 1


# --- the list of what would run ------------------------------------------------------------------


class Counting:
    """How often the programs of a study were hashed."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self.listing = CodeListing(self.look)

    def look(self, study: Path) -> tuple[NamedCode, ...]:
        self.count += 1
        return (NamedCode("", "a.fmu", self.path, "FMU", self.path.read_text()),)


def test_a_large_model_is_hashed_once_while_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, model = tmp_path / "s.toml", tmp_path / "a.fmu"
    study.write_text("")
    model.write_text("one")
    counting = Counting(model)
    assert counting.listing.all(study)[0].sha256 == "one"
    counting.listing.all(study)
    assert counting.count == 2  # just written: the clock of the disk may not tell a second change
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + SETTLED + 1)
    for _ in range(5):
        counting.listing.all(study)
    assert counting.count == 3
    before = model.stat()
    model.write_text("two")
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))  # as if nothing had happened
    assert counting.listing.all(study)[0].sha256 == "two"
    other = tmp_path / "b.fmu"
    other.write_text("new")
    os.replace(other, model)
    assert counting.listing.all(study)[0].sha256 == "new"
    model.unlink()
    with pytest.raises(FileNotFoundError):
        counting.listing.all(study)


def test_pages_go_on_while_a_model_is_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.toml").write_text('[static]\nexpression = "a*x"\n')
    ended, ticks = threading.Event(), 0

    def slow(*_: object) -> None:
        ended.wait(10.0)
        raise WebError("G021", "agree first")

    monkeypatch.setattr(bench, "require_safe", slow)

    async def asked() -> None:
        nonlocal ticks
        question = asyncio.ensure_future(ModelWorker(tmp_path / "s.toml", tmp_path).ask("check"))
        for _ in range(20):
            await asyncio.sleep(0.005)
            ticks += 1
        ended.set()
        with pytest.raises(WebError, match="agree first"):
            await question

    asyncio.run(asked())
    assert ticks == 20
