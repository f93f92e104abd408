"""The bar of long work: where it is seen, how often it is renewed, and what is left of it."""

from __future__ import annotations

import io
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest
from tests.results import every

import estimica as es
from estimica.base.public import bar as room
from estimica.base.public.bar import Bar, bar_for, duration
from estimica.base.result import Progress


class Terminal(io.StringIO):
    """Takes what is written for a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(room, "monotonic", clock)
    return clock


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    terminal = Terminal()  # not by sys itself, whose stream pytest sets anew
    monkeypatch.setattr(room, "sys", SimpleNamespace(stderr=terminal, modules=sys.modules))
    return terminal


def test_a_bar_is_renewed_a_few_times_a_second_and_disappears(
    clock: Clock, terminal: Terminal
) -> None:
    with bar_for("bootstrap", None) as tell:
        assert tell is not None
        for k in range(1, 501):
            clock.now = k / 50  # 500 replicates in 10 s
            tell(Progress(k, 500, k // 100, pieces="replicates"))
    lines = terminal.getvalue().split("\r\x1b[2K")[1:]
    assert lines[-1] == ""
    assert 30 <= len(lines) - 1 <= 40
    assert lines[0].endswith("bootstrap: 25 of 500 replicates, about 9 s left")
    assert lines[0].startswith("━" + "─" * 23)
    assert "4 failed, about 1 s" in lines[-6]  # as much of it as a line of 80 holds
    assert all("\n" not in line for line in lines)


def test_quick_work_has_no_bar(clock: Clock, terminal: Terminal) -> None:
    with bar_for("fit", None) as tell:
        assert tell is not None
        for k in range(20):
            clock.now = k * 0.02
            tell(Progress(k, 20))
    assert terminal.getvalue() == ""


def test_nobody_is_told_where_it_would_not_be_seen(
    monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    with bar_for("fit", False) as tell:
        assert tell is None
    monkeypatch.setattr(room.sys, "stderr", io.StringIO())
    with bar_for("fit", None) as tell:
        assert tell is None
    monkeypatch.setattr(room.sys, "stderr", None)  # a program without a console
    with bar_for("fit", True) as tell:
        assert tell is None


def test_a_function_of_the_users_is_told_instead(terminal: Terminal) -> None:
    told: list[object] = []
    with bar_for("bootstrap", told.append) as tell:
        assert tell is not None
        tell(Progress(1, 2))
    assert told == [Progress(1, 2)]
    assert terminal.getvalue() == ""


def test_a_bar_ends_with_work_that_fails(clock: Clock, terminal: Terminal) -> None:
    def work() -> None:
        with bar_for("fit", None) as tell:
            assert tell is not None
            clock.now = 1.0
            tell(Progress(1, 2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_names_cannot_steer_the_terminal(clock: Clock, terminal: Terminal) -> None:
    bar = Bar("fit", room.TerminalLine())
    clock.now = 1.0
    bar.tell(Progress(0, 0, text="\x1b[31mred"))
    assert "\x1b[31m" not in terminal.getvalue()


def test_nothing_gets_to_stdout(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "BEGIN", 0.0)
    monkeypatch.setattr(room, "EVERY", 0.0)
    monkeypatch.setattr(room, "visible_line", room.TerminalLine)
    es.bootstrap(every.fit(), 3)
    out, err = capsys.readouterr()
    assert out == ""
    assert "3 of 3 replicates" in err


def test_functions_called_by_others_show_no_bar_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "BEGIN", 0.0)
    monkeypatch.setattr(room, "EVERY", 0.0)
    monkeypatch.setattr(room, "visible_line", room.TerminalLine)
    es.crossvalidate(every.study(), 2)  # which fits first
    err = capsys.readouterr().err
    assert "2 of 2 folds" in err
    assert "iteration" not in err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (200, "3 min"), (7000, "2 h")]
)
def test_times_are_said_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_search_for_a_design_guesses_no_end_before_a_start_has_ended() -> None:
    told: list[Any] = []
    es.optimise(every.design(), starts=3, progress=told.append)
    first = [p.share for p in told if p.start == 1]
    assert first
    assert set(first) == {None}
    assert {p.share for p in told if p.start == 2} == {1 / 3}
    assert all("designs" in p.words for p in told)


def test_work_that_cannot_tell_how_far_it_is_says_how_long_it_lasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(room, "PATIENCE", 0.05)
    monkeypatch.setattr(room, "EVERY", 0.05)
    with room.waiting_for("load_model"):
        time.sleep(0.3)
    assert "load model: 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")
    quick = Terminal()
    monkeypatch.setattr(sys, "stderr", quick)
    monkeypatch.setattr(room, "PATIENCE", 60.0)
    assert es.load_model("model M Real x(start = 1); equation der(x) = -x; end M;").name == "M"
    assert "load model" not in quick.getvalue()
