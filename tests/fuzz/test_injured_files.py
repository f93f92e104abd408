"""Injured studies, data and models end in a result or a clear error: no traceback, no hang."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fuzz.data_files import injured_data
from tests.fuzz.modelica_files import injured_model
from tests.fuzz.study_files import injured_study, lay_out
from tests.fuzz.warm_cli import MOST_MEMORY, Ended, run_command

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="commands run in forks")
Injured = Callable[[int, Path], tuple[Path, list[str]]]
DOCUMENTED = (0, 1, 2)  # exit codes of docs/command-line.md for what a file can be to blame for
_CODE = re.compile(r"\b[A-Z]\d{3}\b")
#: how a search that did not converge says so; that is a result and has no code
_ENDED = re.compile(r"\b(stalled|failed|limit|interrupted|unbounded|not converged)\b")


def trouble(ended: Ended) -> list[str]:
    """What a command may not do, whatever its files are; empty where it did none of it."""
    said = ended.out + ended.err
    found = {
        "it hangs": ended.hung,
        f"it needs {ended.memory / 1e9:.1f} GB": ended.memory > MOST_MEMORY,
        f"exit code {ended.code}": ended.code not in DOCUMENTED and not ended.hung,
        "a traceback": "Traceback" in said,
        "a warning of Python": "Warning: " in ended.err,
        "a fault": "this is a fault of Estimica" in said,
        "no code": bool(ended.code) and not (_CODE.search(said) or _ENDED.search(said)),
        "no strict JSON": "--json" in ended.args and not _is_strict_object(ended.out),
    }
    return [what for what, is_so in found.items() if is_so]


def _is_strict_object(text: str) -> bool:
    def refused(constant: str) -> None:
        raise ValueError(constant)

    try:
        return isinstance(json.loads(text, parse_constant=refused), dict)
    except ValueError:
        return False


def _require_clear(injured: Injured, place: Path, seeds: range) -> None:
    wrong = []
    succeeded = 0
    for seed in seeds:
        folder, args = injured(seed, place)
        ended = run_command(args, folder, ESTIMICA_TRUST="all")
        succeeded += ended.code == 0
        wrong += [(seed, args, what, ended.err[-600:]) for what in trouble(ended)]
    assert not wrong, wrong[:5]
    assert 0 < succeeded < len(seeds), "the injuries are too small or too large to show anything"


def test_injured_studies_end_in_a_result_or_a_clear_error(tmp_path: Path) -> None:
    lay_out(tmp_path)
    _require_clear(injured_study, tmp_path, range(30))


def test_injured_data_end_in_a_result_or_a_clear_error(tmp_path: Path) -> None:
    _require_clear(injured_data, tmp_path, range(15))


def test_injured_models_end_in_a_result_or_a_clear_error(tmp_path: Path) -> None:
    _require_clear(injured_model, tmp_path, range(15))


@pytest.mark.slow
def test_300_injured_studies_end_in_a_result_or_a_clear_error(tmp_path: Path) -> None:
    lay_out(tmp_path)
    _require_clear(injured_study, tmp_path, range(300))


@pytest.mark.slow
def test_150_injured_data_files_end_in_a_result_or_a_clear_error(tmp_path: Path) -> None:
    _require_clear(injured_data, tmp_path, range(150))


@pytest.mark.slow
def test_150_injured_models_end_in_a_result_or_a_clear_error(tmp_path: Path) -> None:
    _require_clear(injured_model, tmp_path, range(150))
