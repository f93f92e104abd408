"""Loading in one process, in threads, in forked processes and in several at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from estimica.source.load import load_flat

MODEL = "model M\n  Real x(start=1);\nequation\n  der(x) = -x;\nend M;"


def test_a_warm_load_of_a_small_model_is_quick() -> None:
    load_flat(MODEL, cache=False)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        load_flat(MODEL, cache=False)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05


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
def test_forked_processes_load() -> None:
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
