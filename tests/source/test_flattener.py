"""The compiler's process: kept alive, bounded in time, and not missed when it dies."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from estimica.base.errors import SourceError
from estimica.source.limits import LoadLimits
from estimica.source.load import load_flat
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
    if model == "Hang":
        time.sleep(60)
    if model == "Die":
        os._exit(139)
    if model == "Panic":
        send("crashed", b'{"message": "index out of bounds"}')
    send("flat", b'{"model": 1}')
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A worker that hangs, dies and panics on demand."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    monkeypatch.setattr(flattener, "_WORKER", script)
    monkeypatch.setattr(flattener, "_processes", {})
    yield
    flattener.stop_flatteners()


def test_a_warm_load_of_a_small_model_is_quick() -> None:
    load_flat(MODEL, cache=False)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        load_flat(MODEL, cache=False)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05


def test_a_hang_is_an_error_and_the_next_request_works(worker: None) -> None:
    with pytest.raises(SourceError, match=r"'Hang' was given up after 0\.3 s, while the Modelica"):
        flatten("", "Hang", [], 0.3)
    assert flatten("", "Fine", [], 5.0) == {"model": 1}


def test_a_death_is_an_error_and_the_next_request_works(worker: None) -> None:
    with pytest.raises(SourceError, match="died on 'Die'"):
        flatten("", "Die", [], 5.0)
    assert flatten("", "Fine", [], 5.0) == {"model": 1}


def test_a_panic_is_an_error(worker: None) -> None:
    with pytest.raises(SourceError, match="broke down on 'Panic': index out of bounds"):
        flatten("", "Panic", [], 5.0)


def test_a_refusal_carries_what_the_compiler_says() -> None:
    with pytest.raises(Refusal, match="unresolved component reference: 'y'"):
        flatten(MODEL.replace("-x", "-y"), "M", [], 10.0)


def test_another_version_of_the_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flattener, "RUMOCA_VERSION", "9.9.9")
    monkeypatch.setattr(flattener, "_processes", {})
    with pytest.raises(SourceError, match=r"pip install rumoca==9\.9\.9"):
        flatten(MODEL, "M", [], 10.0)


def test_threads_take_turns() -> None:
    found: list[int] = []

    def work(k: int) -> None:
        text = MODEL.replace("-x", f"-{k}*x").replace("M", f"M{k}")
        found.append(len(load_flat(text, cache=False).equations))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_processes_start_their_own_worker() -> None:
    code = f"""
import os, sys
from estimica.source.load import load_flat
text = {MODEL!r}
load_flat(text, cache=False)
child = os.fork()
system = load_flat(text, cache=False)
if child == 0:
    os._exit(0 if len(system.equations) == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
load_flat(text, cache=False)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60, check=False)
    assert done.returncode == 0


def test_parallel_processes_share_the_cache(tmp_path: Path) -> None:
    code = f"from estimica.source.load import load_flat; load_flat({MODEL!r})"
    environment = {**os.environ, "ESTIMICA_CACHE": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(3)]
    assert [p.wait(60) for p in running] == [0, 0, 0]
    assert len(list((tmp_path / "flat").glob("*"))) == 1


def test_a_worker_that_went_home_is_replaced(tmp_path: Path, monkeypatch) -> None:
    script = tmp_path / "worker.py"
    script.write_text(
        WORKER.replace("os._exit(139)", "os._exit(0) if not os.path.exists('x') else 0")
    )
    monkeypatch.setattr(flattener, "_WORKER", script)
    monkeypatch.setattr(flattener, "_processes", {})
    with pytest.raises(flattener._Retired):
        flattener._process_for(False).ask(
            {"text": "", "model": "Die", "roots": []}, LoadLimits("Die", 5.0)
        )
    assert flatten("", "Fine", [], 5.0) == {"model": 1}
    flattener.stop_flatteners()
