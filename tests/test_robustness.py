"""Nothing a user can type makes a traceback, a hang or a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FEW, CASES = 60, 200


def _run(first: int, last: int) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz_worker", str(first), str(last)],
        capture_output=True, text=True, cwd=ROOT, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"the process died: {done.stderr[-2000:]}"
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_two_hundred_mutated_models_end_in_a_result_or_a_clear_error():
    _require_clear(CASES)


def test_mutated_models_end_in_a_result_or_a_clear_error():
    _require_clear(FEW)


def _require_clear(count: int) -> None:
    halves = [(0, count // 2), (count // 2, count)]
    with ThreadPoolExecutor(2) as pool:
        reports = [r for part in pool.map(lambda h: _run(*h), halves) for r in part]
    assert len(reports) == count
    outcomes = Counter(r["outcome"] for r in reports)
    wrong = [r for r in reports if r["outcome"] in ("traceback", "silent NaN")]
    assert not wrong, wrong[:3]
    assert outcomes["result"] >= count // 4, outcomes
    for r in reports:
        if r["outcome"] == "error":
            assert len(str(r["message"])) > 20, r
            assert "Traceback" not in str(r["message"]), r
