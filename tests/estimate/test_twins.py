"""Twins: equal optima are told with all their values, and their symmetry is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import curve, rc_table

from estimica.base import view as show
from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit
from estimica.infer.bootstrap.run import bootstrap
from estimica.infer.fit_checkpoint import checkpoint_of, fit_from_checkpoint
from estimica.infer.identifiability.run import identifiability
from estimica.infer.profile.run import profile
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

T = np.linspace(0.1, 10, 80)
NOISE = 0.002 * np.random.default_rng(5).standard_normal(80)

# two lags in a row: their time constants can be exchanged (K. J. Åström, Bellman 1970: locally,
# not globally identifiable)
LAGS = "1 - (T1*exp(-x/T1) - T2*exp(-x/T2))/(T1 - T2)"
# H. Bateman (1910); flip-flop: ka and ke exchange while V becomes V·ke/ka
BATEMAN = "ka/(V*(ka - ke))*(exp(-ke*x) - exp(-ka*x))"


def lags(starts: int = 1, scale: str = "auto") -> Fit:
    y = 1 - (3 * np.exp(-T / 3) - 0.5 * np.exp(-T / 0.5)) / 2.5 + NOISE
    tuners = [
        Tuner("T1", start=2.0, min=0.05, max=20, scale=scale),  # type: ignore[arg-type]
        Tuner("T2", start=0.7, min=0.05, max=20, scale=scale),  # type: ignore[arg-type]
    ]
    return fit(curve(LAGS, T, y, tuners, Estimation(starts=starts, seed=3)))


def bateman(starts: int = 1) -> Fit:
    y = 1.2 / (2 * (1.2 - 0.3)) * (np.exp(-0.3 * T) - np.exp(-1.2 * T)) + 0.1 * NOISE
    tuners = [
        Tuner("ka", start=1.0, min=0.01, max=10),
        Tuner("ke", start=0.4, min=0.01, max=10),
        Tuner("V", start=1.5, min=0.01, max=50, unit="l"),
    ]
    return fit(curve(BATEMAN, T, y, tuners, Estimation(starts=starts, seed=1)))


@pytest.mark.parametrize("starts", [1, 12])
@pytest.mark.parametrize("scale", ["auto", "log"])
def test_two_time_constants_that_can_be_exchanged_are_told(starts: int, scale: str) -> None:
    found = lags(starts, scale)
    (twin,) = found.twins
    assert twin.values["T1"] == pytest.approx(found["T2"], rel=1e-3)
    assert twin.values["T2"] == pytest.approx(found["T1"], rel=1e-3)
    assert twin.symmetry == "'T1' and 'T2' exchanged"
    assert twin.cost == pytest.approx(found.cost, rel=1e-6)
    assert bool(twin.starts) is (starts > 1)
    assert found.remark(0) == f"fits as well with {twin.values['T1']:.4g}"


@pytest.mark.parametrize("starts", [1, 20])
def test_the_flip_flop_of_absorption_and_elimination_is_told(starts: int) -> None:
    found = bateman(starts)
    (twin,) = found.twins
    assert twin.symmetry == "'ka' and 'ke' exchanged and 'V' adapted"
    assert twin.values["ka"] == pytest.approx(found["ke"], rel=1e-3)
    assert twin.values["V"] == pytest.approx(found["V"] * found["ke"] / found["ka"], rel=1e-3)


def test_a_sign_that_does_not_show_is_told() -> None:
    x = np.linspace(0, 3, 60)
    y = np.cos(1.7 * x) * np.exp(-0.4 * x) + 0.01 * np.random.default_rng(0).standard_normal(60)
    tuners = [Tuner("w", start=1.5, min=-5, max=5), Tuner("d", start=0.5, min=0, max=5)]
    (twin,) = fit(curve("cos(w*x)*exp(-d*x)", x, y, tuners)).twins
    assert twin.symmetry == "'w' with the other sign"
    # bounds tell which is meant
    tuners[0] = Tuner("w", start=1.5, min=0, max=5)
    assert fit(curve("cos(w*x)*exp(-d*x)", x, y, tuners)).twins == ()


def test_two_signs_that_change_together_are_told() -> None:
    x = np.linspace(0, 3, 60)
    y = 2 * np.sin(1.7 * x) + 0.01 * np.random.default_rng(0).standard_normal(60)
    tuners = [Tuner("a", start=1.0, min=-5, max=5), Tuner("w", start=1.5, min=-5, max=5)]
    (twin,) = fit(curve("a*sin(w*x)", x, y, tuners)).twins
    assert twin.symmetry == "'a' with the other sign and 'w' with the other sign"


def test_two_pairs_that_exchange_together_are_found_by_starts() -> None:
    # a sum of two exponentials: amplitudes and rates go together
    y = 3 * np.exp(-0.3 * T) + 1.0 * np.exp(-2.0 * T) + NOISE
    tuners = [Tuner(n, start=v, min=0.01, max=10, scale="log") for n, v in
              {"A": 2.0, "a": 0.5, "B": 2.0, "b": 1.0}.items()]  # fmt: skip
    found = fit(curve("A*exp(-a*x) + B*exp(-b*x)", T, y, tuners, Estimation(starts=12)))
    assert any(t.symmetry == "'A' and 'B' exchanged and 'a' and 'b' exchanged" for t in found.twins)


def test_two_compartments_of_an_ode_model_are_told() -> None:
    model = load_model("""model Series
      parameter Real T1(min = 0) = 3; parameter Real T2(min = 0) = 0.5; input Real u;
      Real x(start = 0, fixed = true); output Real y(start = 0, fixed = true);
    equation
      T1*der(x) = u - x; T2*der(y) = x - y;
    end Series;""")
    time = np.linspace(0, 12, 60)
    u = (time % 4 < 2) * 1.0
    y = model.simulate(time, {"u": (time, u)}, outputs=["y"]).value("y")
    y = y + 0.002 * np.random.default_rng(0).standard_normal(60)
    table = pd.DataFrame({"time": time, "u": u, "y": y})
    case = Case("run", table, inputs={"u": "u"}, outputs={"y": "y"})
    study = Study(model, [Tuner("T1", start=2.0), Tuner("T2", start=0.8)], [case])
    found = fit(study)
    (twin,) = found.twins
    assert twin.symmetry == "'T1' and 'T2' exchanged"
    assert any("'T1' and 'T2' exchanged" in a for a in identifiability(found).advice)


def test_all_values_are_shown_wherever_the_fit_is(tmp_path: Path) -> None:
    found = lags()
    (twin,) = found.twins
    told = json.loads(json.dumps(found.to_dict()))
    assert told["twins"] == [
        {"values": dict(twin.values), "cost": twin.cost, "starts": 0, "symmetry": twin.symmetry}
    ]
    (words,) = found.advice
    assert words.startswith("other values fit the data as well: T1 = ")
    assert "standard errors and intervals hold for one of them alone" in words
    assert "fits as well with" in " ".join(show.text(found.table()).split())
    page = found.report(tmp_path / "fit.html").read_text()
    assert "Twins" in page
    assert f"{twin.values['T1']:.4g}" in page
    assert "Other values fit the data as well" in page


def test_profiles_and_bootstraps_say_that_they_hold_for_one_optimum() -> None:
    found = lags()
    words = "this holds for one optimum alone, other values fit as well: T1 = "
    assert words in profile(found, "T1").to_dict()["outcome"]["message"]  # type: ignore[index]
    assert words in bootstrap(found, replicates=3).to_dict()["outcome"]["message"]  # type: ignore[index]


def test_a_fit_that_is_taken_up_again_keeps_its_twins() -> None:
    found = lags(6)
    note = checkpoint_of(found)
    assert note is not None
    again = fit_from_checkpoint(found.study, json.loads(json.dumps(note)))
    assert again.twins == found.twins


def test_what_has_one_optimum_has_no_twins() -> None:
    x = np.linspace(0.1, 20, 40)
    y = 3 * x / (2 + x) + 0.01 * np.random.default_rng(0).standard_normal(40)
    found = fit(curve("V*x/(K + x)", x, y, {"V": 1.0, "K": 1.0}, Estimation(starts=6)))
    assert (found.twins, found.to_dict()["twins"], found.advice) == ((), [], ())


def test_a_valley_is_no_row_of_twins() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    tuners = [Tuner(n, start=1.0, min=0.1, max=5, scale="log") for n in ("R", "C")]
    found = fit(Study(model, tuners, [case], estimation=Estimation(starts=6)))
    assert found.identifiability.rank == 1
    assert found.twins == ()


def test_the_look_costs_little() -> None:
    found = lags()
    assert found.evaluations.sensitivities < 30  # what the look costs is not counted as search
