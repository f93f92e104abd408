"""Loading is bounded in time and memory, says so, and tells who waits what it is at."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.source import limits
from estimica.source.limits import LoadLimits, check_limits, load_limits, resident_bytes
from estimica.source.load import load_flat
from estimica.source.rumoca import load as load_module
from estimica.source.rumoca import process as flattener
from estimica.source.rumoca.process import Refusal, flatten

MODEL = "model M\n  Real x(start=1);\nequation\n  der(x) = -x;\nend M;"
WORKER = """
import json, os, sys, time
out = os.fdopen(os.dup(1), "wb")
def send(kind, content):
    out.write(f"{kind} {len(content)}\\n".encode() + content); out.flush()
send("ready", b"0")
for line in sys.stdin.buffer:
    model = json.loads(line)["model"]
    if model == "Greedy":
        kept = []
        while True:
            kept.append(bytearray(b"x" * 10_000_000)); time.sleep(0.02)
    if model == "Slow":
        time.sleep(1.0)
    send("flat", b'{"model": 1}')
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    monkeypatch.setattr(flattener, "_WORKER", script)
    monkeypatch.setattr(flattener, "_processes", {})
    yield
    flattener.stop_flatteners()


@pytest.mark.skipif(resident_bytes(1) == 0, reason="the system does not tell memory")
def test_a_greedy_compiler_is_stopped(worker):
    with pytest.raises(
        SourceError,
        match=r"S260.*'Greedy' was given up after \d+ s: the Modelica compiler has 0\.\d GB of memory, "
        r"and 0\.1 GB are allowed; allow more with ESTIMICA_LOAD_MEMORY=0\.2 \(in GB\)",
    ):
        flatten("", "Greedy", [], LoadLimits("Greedy", 20.0, 0.1e9))
    assert flatten("", "Fine", [], 5.0) == {"model": 1}


def test_who_waits_is_told(worker, monkeypatch, capsys):
    flatten("", "Fine", [], 20.0)  # its start is not part of the wait
    capsys.readouterr()
    monkeypatch.setattr(limits, "_TOLD_AFTER", (0.3, 0.7))
    flatten("", "Slow", [], LoadLimits("Slow", 20.0))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) in (1, 2)  # one where the machine is busy
    assert lines[0].startswith("loading 'Slow': ")
    assert lines[0].endswith("the Modelica compiler is at work")


def test_a_quick_load_says_nothing(capsys):
    load_flat(MODEL, cache=False)
    assert capsys.readouterr().err == ""


def test_the_limit_is_for_all_attempts_together(monkeypatch):
    def refusing(text, model, roots, watch):
        time.sleep(0.15)
        watch.look()
        raise Refusal("failed in ToDae: unbalanced model: x (balance = 1)", ())

    monkeypatch.setattr(load_module, "flatten", refusing)
    with pytest.raises(SourceError, match=r"'M' was given up after 0\.4 s, while the Modelica"):
        load_flat(MODEL, cache=False, time_limit=0.4)


def test_reading_the_equations_is_bounded_too():
    loop = (
        "function f input Real x; output Real y; algorithm y := x; "
        "for i in 1:100000 loop y := y*0.5 + sin(y); end for; end f;"
    )
    text = f"model Long {loop} Real x(start=1); equation der(x) = -f(x); end Long;"
    with pytest.raises(
        SourceError,
        match=r"S005.*'Long' was given up after \S+ s, while .*; "
        r"allow more with ESTIMICA_LOAD_SECONDS=\S+, or load a smaller class",
    ):
        load_flat(text, cache=False, time_limit=0.6)


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
