"""The examples of design optimisation, against references that were found in another way."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import estimica as es

EXAMPLES = Path(__file__).parents[2] / "examples"
#: `python bench/drive_reference.py`: differential evolution, 3000 designs, seed 1
REFERENCE = 1.090021


@pytest.mark.slow
def test_the_drive_is_as_good_as_a_global_search_with_several_times_the_designs() -> None:
    found = es.optimise(es.read_study(EXAMPLES / "drive" / "drive.toml"))
    assert found.start.tuners == pytest.approx([2.0, 1.0, 0.1])
    assert found.outcome.status == "converged"
    assert found.starts[0].evaluations <= 800  # most of them glances that verify it
    assert found.alpha <= 1.01 * REFERENCE
    assert not found.differenced


@pytest.mark.slow  # some hundred designs of four cases verify it
def test_a_limited_overshoot_costs_settling_time() -> None:
    found = es.optimise(es.read_study(EXAMPLES / "drive" / "drive_limited.toml"))
    assert found.outcome.ok
    rows = found.criteria.set_index(["criterion", "case"])["weighted"]
    assert rows["overshoot"].max() == pytest.approx(1.0, abs=1e-4)
    assert rows["settling time"].max() > 1.2 * REFERENCE


@pytest.mark.slow
def test_the_reference_of_the_drive_is_what_differential_evolution_finds() -> None:
    sys.path.insert(0, str(EXAMPLES.parent / "bench"))
    try:
        from drive_reference import reference  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    value, _ = reference()
    assert value == pytest.approx(REFERENCE, rel=1e-3)


@pytest.mark.slow
def test_the_drive_has_a_front_of_overshoot_and_settling_time() -> None:
    study = es.read_study(EXAMPLES / "drive" / "drive.toml")
    found = es.pareto(study, ["overshoot", "settling time"], points=6)
    overshoot, settling = found.weighted.T
    assert len(found.designs) >= 4
    assert (np.diff(overshoot) > 0).all()
    assert (np.diff(settling) < 0).all()
    assert found.weighted.max(axis=1).min() <= 1.01 * REFERENCE  # the min-max design is on it
    assert overshoot.min() < 1.03
    assert settling.min() < 0.6


def test_the_filter_hardly_rings_for_any_load() -> None:
    found = es.optimise(es.read_study(EXAMPLES / "filter" / "filter.toml"))
    assert found.satisfied
    assert len(found.scenarios) == 3
    C1, L2, C3 = found.best.tuners
    for load in (540.0, 600.0, 660.0):  # the poles of the ladder, by themselves
        A = np.array(
            [
                [-1 / (600 * C1), -1 / C1, 0],
                [1 / L2, -20 / L2, -1 / L2],
                [0, 1 / C3, -1 / (load * C3)],
            ]
        )
        assert (np.linalg.eigvals(A).real < 0).all()
    corner = (2 / 600 / (C1 * L2 * C3)) ** (1 / 3) / (2 * np.pi)
    assert corner <= 3000 * (1 + 0.05)


def test_the_heating_satisfies_comfort_and_energy() -> None:
    found = es.optimise(es.read_study(EXAMPLES / "heating" / "heating.toml"))
    assert found.satisfied
    assert found.alpha < 0.85
    assert found.start.largest > 3
