"""From a study file, a Modelica file and a CSV file to a fit, in processes of their own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fit_cases import FitCase

SCRIPT = """
import sys
from estimica.estimate.run.fit import fit
from estimica.study.file.read import read_study
found = fit(read_study(sys.argv[1]))
assert found.outcome.ok, found.outcome.message
"""


def whole_process(case: FitCase, folder: Path, repeat: int) -> tuple[float, float]:
    """Seconds on the clock from starting Python to the fit: (warm, cold).

    Warm is the median with the caches on disk filled by a run before; cold is one run with none,
    where the engine itself is compiled, which happens once ever.
    """
    study = case.write_study(folder)
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        cold = _run(study, {"ESTIMICA_CACHE": empty, "NUMBA_CACHE_DIR": empty})
    _run(study, {})
    return statistics.median(_run(study, {}) for _ in range(repeat)), cold


def _run(study: Path, environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(study)], capture_output=True, text=True,
        env=os.environ | environment,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(f"{study.name}: {done.stderr.strip()[-500:]}")
    return seconds
