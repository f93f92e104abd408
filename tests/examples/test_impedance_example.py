"""The example of an impedance: its data are those of its script, and the fit finds the truth."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.study.check.run import check_file


def test_the_cell_is_found_from_its_spectrum(examples: Path) -> None:
    folder = examples / "impedance"
    made = runpy.run_path(str(folder / "make_data.py"))
    data = es.read_data(folder / "spectrum.csv")
    frequency, Z = made["spectrum"]()
    assert data.column("f") == pytest.approx(frequency, rel=1e-5)
    assert data.column("Re") + 1j * data.column("Im") == pytest.approx(Z, rel=1e-6)
    assert check_file(folder / "cell.toml") == []
    fit = es.fit(es.read_study(folder / "cell.toml"))
    for name, truth in made["TRUTH"].items():
        row = fit.parameters.loc[name]
        assert abs(row["value"] - truth) < 3 * row["stderr"]
    assert fit.noise["y/u"].variance == pytest.approx(0.005**2, rel=0.35)
    assert np.isfinite(fit.aic)


def test_the_script_fits_an_analysers_file(examples: Path, cases: Path) -> None:
    script = runpy.run_path(str(examples / "impedance" / "fit.py"))
    file = cases / "impedance_eis" / "Circuit2_EIS_1.z"
    fit = es.fit(script["circuit"](str(file), [100, 400, 1e-5]))
    assert fit["R1"] == pytest.approx(502.481, rel=1e-5)
