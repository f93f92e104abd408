"""A large file costs what it must: one pass, and memory in proportion to its columns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from estimica.data.readers import read_data

PEAK = """
import sys
import pandas, pandas.api.types  # their own memory is not ours
from estimica.data.readers import read_data

def peak():  # getrusage would count what the parent process had
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

read_data(sys.argv[2])
before = peak()
data = read_data(sys.argv[1])
print((peak() - before) / sum(c.nbytes for c in data.columns.values()))
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.csv"
    block = "".join(f"{0.01 * k:.6g},{np.sin(k):.8f},{k % 7},{k}\n" for k in range(10_000))
    path.write_text("t,x,mode,n\n" + 30 * block)
    return path


def side_by_side(*works: Callable[[], object], repeats: int = 9) -> list[float]:
    """Least CPU time of each; they take turns, so that a busy machine disturbs all alike."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repeats):
        for work, own in zip(works, times, strict=True):
            start = time.process_time()
            work()
            own.append(time.process_time() - start)
    return [min(own) for own in times]


def test_reading_takes_about_as_long_as_plain_pandas(large: Path) -> None:
    plain, ours = side_by_side(lambda: pd.read_csv(large), lambda: read_data(large))
    assert ours < 2 * plain  # 1.0 measured; the bound leaves room for a busy machine


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts memory as Linux does")
def test_peak_memory_is_a_small_multiple_of_the_columns(large: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.csv"
    small.write_text("t,x,mode,n\n0,1,2,3\n1,2,3,4\n")
    command = [sys.executable, "-c", PEAK, str(large), str(small)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.5 < float(done.stdout) < 4


def test_columns_are_views_of_what_was_read(large: Path) -> None:
    data = read_data(large)
    assert all(c.dtype == np.float64 and not c.flags.owndata for c in data.columns.values())
    assert len(data) == 300_000
