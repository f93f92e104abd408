"""Loading is bounded in time and memory, says so, and tells who waits what it is at."""

from __future__ import annotations

import sys
import time

import pytest

from estimica.base.errors import SourceError
from estimica.source import limits
from estimica.source.limits import check_limits, load_limits, resident_bytes
from estimica.source.load import load_flat

MODEL = "model M\n  Real x(start=1);\nequation\n  der(x) = -x;\nend M;"
LONG = """
model Long
  Real x(start=1);
equation
  der(x) = -sum(sin(i*x + j) for i in 1:900, j in 1:900);
end Long;
"""


@pytest.mark.skipif(resident_bytes(1) == 0, reason="the system does not tell memory")
def test_a_greedy_model_is_given_up(monkeypatch):
    monkeypatch.setenv("ESTIMICA_LOAD_MEMORY", "0.01")
    with pytest.raises(
        SourceError,
        match=r"S260.*'Long' was given up after \d+ s, while its equations are read: it takes 0\.\d GB "
        r"of memory, and 0\.01 GB are allowed; allow more with ESTIMICA_LOAD_MEMORY=0\.02 \(in GB\)",
    ):
        load_flat(LONG, cache=False, time_limit=60.0)


def test_who_waits_is_told(monkeypatch, capsys):
    monkeypatch.setattr(limits, "_TOLD_AFTER", (0.3, 0.7))
    with pytest.raises(SourceError, match="S005"):
        load_flat(LONG, cache=False, time_limit=4.0)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) in (1, 2)  # one where the machine is busy
    assert lines[0].startswith("loading 'Long': ")
    assert lines[0].endswith("its equations are read")


def test_a_quick_load_says_nothing(capsys):
    load_flat(MODEL, cache=False)
    assert capsys.readouterr().err == ""


def test_reading_the_equations_is_bounded_too():
    with pytest.raises(
        SourceError,
        match=r"S005.*'Long' was given up after \S+ s, while .*; "
        r"allow more with ESTIMICA_LOAD_SECONDS=\S+, or load a smaller class",
    ):
        load_flat(LONG, cache=False, time_limit=0.6)


def test_the_limit_is_looked_at_while_equations_are_read():
    with load_limits("M", 0.05):
        time.sleep(0.06)
        with pytest.raises(SourceError, match=r"given up after 0\.05 s"):
            check_limits()
    check_limits()  # nothing is being loaded any more


def test_the_limits_are_settings(monkeypatch):
    monkeypatch.setenv("ESTIMICA_LOAD_SECONDS", "7")
    monkeypatch.setenv("ESTIMICA_LOAD_MEMORY", "0.5")
    with load_limits("M") as watch:
        assert (watch.seconds, watch.memory) == (7.0, 0.5e9)


@pytest.mark.parametrize("name", ["ESTIMICA_LOAD_SECONDS", "ESTIMICA_LOAD_MEMORY"])
@pytest.mark.parametrize("given", ["much", "-1", "0"])
def test_a_limit_that_is_no_number_is_an_error(name, given, monkeypatch):
    monkeypatch.setenv(name, given)
    with pytest.raises(SourceError, match=f"S261.*{name}={given}: give a number above 0"):
        load_flat(MODEL, cache=False)


def test_recursion_has_its_usual_limit_again_whichever_thread_leaves_last() -> None:
    usual = sys.getrecursionlimit()
    first, second = limits.deep_recursion(), limits.deep_recursion()
    first.__enter__()
    second.__enter__()
    assert sys.getrecursionlimit() > usual
    first.__exit__(None, None, None)
    assert sys.getrecursionlimit() > usual
    second.__exit__(None, None, None)
    assert sys.getrecursionlimit() == usual
