"""The search where a device is, with the text for GPUs compiled for the CPU: the same estimates."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit
from tests.estimate.test_batch import LAG, context, fits_of, replicates, study
from tests.simulate.test_cuda_on_host import HostLauncher, needs_compiler

import estimica as es
from estimica.estimate.batch.device import DeviceSums
from estimica.estimate.batch.intervals import half_widths
from estimica.estimate.batch.search import MemberLimits, batch_search
from estimica.infer.refit import fit_context_of
from estimica.simulate.ensemble.cuda.build import program_of
from estimica.simulate.ensemble.cuda.program import Program


@needs_compiler
def test_fits_on_a_device_are_those_of_the_processor(tmp_path: Path) -> None:
    place = context(study(es.load_model(LAG), "ml"))
    fits = fits_of(place)
    (case,) = fits.cases
    assert case.is_direct
    program = program_of(case.ensemble.response)
    assert isinstance(program, Program)
    drawn = [np.stack(own) for own in zip(*replicates(place, 10), strict=True)]
    sums = DeviceSums(program, HostLauncher(tmp_path), case.measured(drawn), case.weight)
    here = fits.fit(np.tile(place.q, (10, 1)), drawn, near=True).found
    limits = MemberLimits(*(np.tile(a, (10, 1)) for a in _limits(fits)))
    there = batch_search(fits.problem, sums, np.tile(place.q, (10, 1)), limits, near=True)
    assert there.proven.all()
    assert there.values == pytest.approx(here.values, rel=1e-6)
    assert there.cost == pytest.approx(here.cost, rel=1e-8)


@needs_compiler
def test_intervals_on_a_device_are_those_of_the_fit(tmp_path: Path) -> None:
    fit = es.fit(study(es.load_model(LAG), "ml"))
    place = fit_context_of(fit)
    fits = fits_of(place)
    (case,) = fits.cases
    program = program_of(case.ensemble.response)
    assert isinstance(program, Program)
    data = case.measured([b.measured.value[None] for b in place.objective.blocks])
    sums = DeviceSums(program, HostLauncher(tmp_path), data, case.weight)
    limits = MemberLimits(*_limits(fits))
    found = batch_search(fits.problem, sums, place.q[None], limits, near=True)

    def quantile(freedom: Any) -> Any:
        return stdtrit(freedom, 0.975)

    at_end = sums(found.values, np.arange(1))
    error, width = half_widths(fits.problem, found, at_end, quantile)
    slope = fits.problem.coordinates.slopes(found.values)
    assert (error * slope)[0] == pytest.approx(fit.accuracy.stderr, rel=1e-4)
    low, high = fit.accuracy.interval.T
    assert (2 * width * slope)[0] == pytest.approx(high - low, rel=1e-4)


def _limits(fits: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    own = fits.limits_at_data()
    return own.low, own.high, own.resolution


def test_the_search_on_a_device_needs_numpy_only() -> None:
    others = ("casadi", "scipy", "pandas", "numba", "llvmlite", "pydantic", "cupy")
    script = (
        f"import sys\nfor name in {others}: sys.modules[name] = None\n"
        "import estimica.estimate.batch.device"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
