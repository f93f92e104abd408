"""The coverage table: it repeats, the page shows its figures, and 95 % is true or doubted aloud."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "bench" / "interval_coverage" / "run.py"
STORED = ROOT / "docs" / "assets" / "coverage_table.json"
MODELS = ("decay", "circuit", "enzyme", "growth", "room", "tank")
SITUATIONS = ("balanced", "unbalanced", "coloured", "small N", "at a bound", "known σ")
METHODS = ("plain", "hac", "bootstrap", "profile")
FEW = 12  # experiments of the slow test in each cell
CHANCE = 1e-5  # that a cell of the slow test falls outside its limits though all is as stored


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(RUN), *arguments], capture_output=True, text=True, timeout=900
    )


def cells(path: Path = STORED) -> dict[tuple[str, str, str], dict[str, Any]]:
    kept = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {(m, s, w): c for m, by in kept.items() for s, of in by.items() for w, c in of.items()}


def test_figures_are_there_for_every_cell() -> None:
    assert set(cells()) == {(m, s, w) for m in MODELS for s in SITUATIONS for w in METHODS}


def test_every_cell_holds_or_its_results_say_why_not() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stderr
    for (_, _, method), one in cells().items():
        # refits cost the most: fewer experiments of them, with limits as much wider
        assert one["experiments"] >= (400 if method in ("plain", "hac") else 100)


def test_page_shows_the_stored_figures(tmp_path: Path) -> None:
    done = run("--page", str(tmp_path / "page.md"))
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert written == (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    done = run("--only", "circit")
    assert done.returncode != 0
    assert "there is no 'circit'; did you mean 'circuit'" in done.stderr


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_few_experiments_of_every_cell_agree_with_the_stored_figures(
    model: str, tmp_path: Path
) -> None:
    from scipy.stats import binom

    kept = tmp_path / "figures.json"
    done = run("--only", model, "--experiments", str(FEW), "--out", str(kept), "--workers", "1")
    assert done.returncode == 0, done.stderr
    stored, found = cells(), cells(kept)
    assert len(found) == len(SITUATIONS) * len(METHODS)
    for key, one in found.items():
        # the share of several unknowns together scatters less than that of one
        share = min(stored[key]["coverage"] / 100, 0.995)
        least, most = binom.ppf([CHANCE, 1 - CHANCE], FEW, share)
        assert least <= FEW * one["coverage"] / 100 <= most, (key, one, stored[key])
