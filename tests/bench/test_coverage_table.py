"""The coverage table: cells are measured as asked, and only once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "bench" / "coverage" / "run.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, timeout=900
    )


def cells(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    kept = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {(m, s, w): c for m, by in kept.items() for s, of in by.items() for w, c in of.items()}


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    done = run("--only", "circit")
    assert done.returncode != 0
    assert "there is no 'circit'; did you mean 'circuit'" in done.stderr


def test_a_cell_is_not_measured_twice(tmp_path: Path) -> None:
    arguments = ("--only", "decay,balanced,plain,profile", "--experiments", "3", "--workers", "1")
    kept = tmp_path / "figures.json"
    first = run(*arguments, "--out", str(kept))
    assert first.returncode == 0, first.stderr
    assert "decay balanced: plain" in first.stderr
    found = cells(kept)
    assert {k[2] for k in found} == {"plain", "profile"}
    assert all(c["experiments"] == 3 and not c["failed"] for c in found.values())
    again = run(*arguments, "--out", str(kept))
    assert again.returncode == 0, again.stderr
    assert "decay" not in again.stderr
    assert cells(kept) == found
