"""What is asked of a fit works for frequency responses too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import estimica as es

FREQUENCY = np.logspace(-2, 1, 60)
TRUTH = {"K": 2.0, "tau": 1.5, "T": 0.3}


@pytest.fixture(scope="module", params=["oe", "ml"])
def fit(request: pytest.FixtureRequest) -> Any:
    model = es.transfer_function("K*exp(-T*s)/(1 + tau*s)", parameters=TRUTH)
    rng = np.random.default_rng(4)
    noise = rng.standard_normal(60) + 1j * rng.standard_normal(60)
    c = np.linspace(1, 2, 60)
    G = model.frequency_response(2 * np.pi * FREQUENCY) + 0.02 * noise / c
    case = es.Case(
        "spectrum",
        {"f": FREQUENCY, "G": G, "c": c},
        frequency="f",
        outputs={"y": {"real": "Re(G)", "imag": "Im(G)", "weighting": "c"}},
    )
    tuners = [es.Tuner(n, start=s, min=0) for n, s in {"K": 1, "tau": 1, "T": 0.25}.items()]
    return es.fit(es.Study(model, tuners, [case], criterion=request.param))


def test_bootstrap_and_profile_agree_with_the_standard_errors(fit: Any) -> None:
    found = es.bootstrap(fit, 100, seed=1).to_dict()["parameters"]
    errors = [found[n]["stderr"] for n in TRUTH]
    assert errors == pytest.approx(list(fit.accuracy.stderr), rel=0.3)
    told = es.profile(fit, "T").to_dict()["parameters"]["T"]["ci95"]
    low, high = fit.parameters.loc["T", ["ci95_low", "ci95_high"]]
    assert told == pytest.approx([low, high], abs=0.15 * (high - low))


def test_residuals_are_judged_part_by_part_along_the_frequency(fit: Any, tmp_path: Path) -> None:
    found = es.residuals(fit)
    assert [o.name for o in found.outputs] == ["Re y/u", "Im y/u"]
    assert found.outputs[0].series.x == pytest.approx(FREQUENCY)
    assert "All residuals look like white Gaussian noise" in str(found)
    found.report(tmp_path / "a.html")


def test_bands_are_those_of_the_response_itself(fit: Any, tmp_path: Path) -> None:
    found = es.bands(fit)
    real = found.output("Re y/u")
    o = fit.case("spectrum")["y/u"]
    assert real.simulated == pytest.approx(o.simulated_response.real)
    # the noise falls with the weight of the frequency
    assert real.noise[0] / real.noise[-1] == pytest.approx(2)
    assert real.noise[0] == pytest.approx(0.02, rel=0.2)
    assert real.inside > 0.9
    # at low frequencies the response is K
    assert real.stderr[0] == pytest.approx(fit.parameters.loc["K", "stderr"], rel=0.05)
    found.report(tmp_path / "a.html")


def test_stretches_of_frequencies_are_left_out_with_both_parts(fit: Any, tmp_path: Path) -> None:
    found = es.crossvalidate(fit, by="time", folds=4)
    (one,) = found.outputs
    assert one.left_out is not None
    assert one.left_out.transfer is not None
    assert one.left_out.transfer.omega == pytest.approx(2 * np.pi * FREQUENCY)
    assert one.left_out.measured_response == pytest.approx(one.fitted.measured_response)
    assert 0.9 < one.ratio < 1.5
    found.report(tmp_path / "a.html")


def test_other_questions_are_answered(fit: Any) -> None:
    assert es.identifiability(fit).structural.ok
    assert es.measures(fit).to_dict()
    assert es.covariance(fit, kind="sandwich").stderr == pytest.approx(
        fit.accuracy.stderr, rel=0.35
    )
    released = es.release(fit.study).to_dict()["steps"]
    assert released


def test_what_no_frequency_tells_is_found() -> None:
    model = es.transfer_function("a*b/(1 + tau*s)", parameters={"a": 1, "b": 2, "tau": 1})
    G = model.frequency_response(2 * np.pi * FREQUENCY)
    case = es.Case("a", {"f": FREQUENCY, "G": G}, frequency="f", outputs={"y": "G"})
    fit = es.fit(es.Study(model, ["a", "b", "tau"], [case]))
    assert fit.identifiability.rank == 2
    found = es.identifiability(fit).structural
    assert found.rank == 2
    assert dict(found.identifiable) == {"a": False, "b": False, "tau": True}
