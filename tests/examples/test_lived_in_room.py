"""A room whose model lacks the sun: what noise in the states tells, against the known truth."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.estimate.fit.result import Fit

FOLDER = Path(__file__).parents[2] / "examples" / "lived_in_room"
TRUE = runpy.run_path(str(FOLDER / "make_data.py"))["TRUE"]


def found(fit: Fit) -> dict[str, tuple[float, float]]:
    """Estimates and standard errors."""
    errors = np.sqrt(np.diag(fit.covariance))
    return {
        u.name: (float(v), float(e))
        for u, v, e in zip(fit.unknowns.items, fit.values, errors, strict=True)
        if u.kind == "tuner"
    }


@pytest.fixture(scope="module")
def without_sun() -> Fit:
    return es.fit(es.read_study(FOLDER / "room.toml"), progress=False)


def test_the_data_are_what_their_script_makes(tmp_path: Path) -> None:
    runpy.run_path(str(FOLDER / "make_data.py"))["main"](tmp_path)
    assert (tmp_path / "room.csv").read_text() == (FOLDER / "room.csv").read_text()


def test_noise_points_at_the_walls(without_sun: Fit) -> None:
    values = found(without_sun)
    air, walls = values["noise_air"], values["noise_walls"]
    assert walls[0] > 10 * walls[1]  # far from zero
    lower = next(u.min for u in without_sun.unknowns.items if u.name == "noise_air")
    assert air[0] == pytest.approx(lower)
    assert values["sigma_Ti"][0] == pytest.approx(0.05, abs=3 * values["sigma_Ti"][1])
    for name in ("Ci", "Ri"):  # of the air
        assert abs(values[name][0] - TRUE[name]) < 4 * values[name][1], name


def test_maximum_likelihood_is_sure_of_the_wrong_thing(without_sun: Fit) -> None:
    study = without_sun.study
    plain = es.fit(
        study.with_(
            estimation=replace(study.estimation, criterion="ml"),
            tuners=[t for t in study.tuners if t.name in TRUE],
            process_noise={},
        ),
        progress=False,
    )
    values = found(plain)
    off = {n: abs(values[n][0] - TRUE[n]) / values[n][1] for n in values}
    assert min(off["Cw"], off["Ro"], off["Ri"]) > 3
    assert off["Ro"] > 50
    assert plain.cost > without_sun.cost + 5000


def test_with_the_sun_nothing_is_missing(without_sun: Fit) -> None:
    fit = es.fit(es.read_study(FOLDER / "sunny.toml"), progress=False)
    values = found(fit)
    for name, true in TRUE.items():
        assert abs(values[name][0] - true) < 2.5 * values[name][1], name
    for name in ("noise_air", "noise_walls"):
        lower = next(u.min for u in fit.unknowns.items if u.name == name)
        assert values[name][0] == pytest.approx(lower)
    assert fit.cost < without_sun.cost - 1000
