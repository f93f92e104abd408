"""Gaps where they meet delays and FMUs: the truth is known in closed form, or by a Modelica twin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.fmus.build import builder, built
from tests.fmus.test_fmu_fits import UNITS, data
from tests.room import without

import estimica as es
from estimica.study.check.run import check
from estimica.study.record.stretches import in_stretches

TRUE = {"K": 2.0, "tau": 5000.0, "T": 7200.0}
STEP = 600.0
HOLES = ((24.0, 30.0), (48.0, 58.0), (80.0, 90.0))
PIPE = """model Pipe
  parameter Real K = 1.5;
  parameter Real tau = 3000;
  parameter Real T = 5000;
  input Real u;
  output Real y(start = 0);
equation
  tau*der(y) = K*delay(u, {late}, 40000) - y;
end Pipe;
"""


def pipe(y0: float = 0.5) -> pd.DataFrame:
    """A lag behind a transport delay of twelve samples, exact between them, with noise."""
    random, count = np.random.default_rng(3), 720
    u = np.repeat(random.integers(0, 2, count // 9 + 1).astype(float), 9)[:count]
    y, late, kept = np.full(count, y0), round(TRUE["T"] / STEP), np.exp(-STEP / TRUE["tau"])
    for k in range(count - 1):
        driven = TRUE["K"] * u[max(k - late, 0)]
        y[k + 1] = driven + (y[k] - driven) * kept
    noisy = y + 0.01 * random.standard_normal(count)
    return pd.DataFrame({"time": np.arange(count) * STEP, "u": u, "y": noisy})


def study(model: es.Model, table: pd.DataFrame, **more: object) -> es.Study:
    tuners = [
        es.Tuner("K", start=1.5),
        es.Tuner("tau", start=3000, min=100, max=1e5),
        es.Tuner("T", start=6500, min=0, max=2e4),
    ]
    case = es.Case("pipe", table, inputs={"u": "u"}, outputs={"y": "y"}, **more)  # type: ignore[arg-type]
    return es.Study(model, tuners, [case])


def off(fit: es.Fit) -> float:
    errors = fit.parameters["stderr"]
    return float(max(abs(fit[n] - v) / errors[n] for n, v in TRUE.items()))


def test_what_delays_remember_from_within_a_gap_does_not_count() -> None:
    model = es.load_model(PIPE.replace("{late}", "T"))
    fit = es.fit(study(model, without(pipe(), *HOLES), free_start=["y"]))
    assert fit.outcome.ok
    assert off(fit) < 2  # 4 where samples right behind the gaps count
    words = " ".join(fit.remarks)
    assert "the samples of the first 2.71 h behind a gap are left out" in words
    behind = fit.case("pipe/2")["y"].time[0]
    assert behind >= 30 * 3600 + 1.5 * 6500


def test_delays_of_transfer_functions_too() -> None:
    model = es.transfer_function("K*exp(-T*s)/(1 + tau*s)")
    fit = es.fit(study(model, without(pipe(y0=0.0), *HOLES)))
    assert fit.outcome.ok
    assert off(fit) < 2


def test_a_delay_that_nobody_tunes_is_taken_as_it_is() -> None:
    model = es.load_model(PIPE.replace("{late}", "7200"))
    table = without(pipe(), *HOLES)
    case = es.Case("pipe", table, inputs={"u": "u"}, outputs={"y": "y"}, free_start=["y"])
    parts = in_stretches(es.Study(model, [es.Tuner("K", start=1.5)], [case]))
    assert [c.from_ for c in parts.cases] == [None, 115200.0, 216000.0, 331200.0]


def test_a_delay_that_a_variable_sets_is_bridged_and_said() -> None:
    model = es.load_model(PIPE.replace("{late}", "1000*(2 + y)"))
    table = without(pipe(), *HOLES)
    case = es.Case("pipe", table, inputs={"u": "u"}, outputs={"y": "y"}, free_start=["y"])
    told = [
        p for p in check(es.Study(model, [es.Tuner("K", start=1.5)], [case])) if "gap" in p.text
    ]
    assert [p.code for p in told] == ["C111"]
    assert "nobody knows before a simulation how long the model's delays are" in told[0].text


@pytest.mark.skipif(not builder.compiler(), reason="no C compiler")
@pytest.mark.parametrize(
    ("kind", "sealed", "code"), [("me", False, "C110"), ("cs", False, "C110"), ("cs", True, "C111")]
)
def test_an_fmu_with_a_gap(
    kind: str, sealed: bool, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose states cannot be set is bridged with a warning; all others are split."""
    pytest.importorskip("fmpy")
    from estimica.simulate.fmu.model import FmuModel

    if sealed:
        monkeypatch.setattr(FmuModel, "_early", lambda self, name: False)
    unit = UNITS["rcThermal"]
    table = pd.DataFrame({"time": unit.times} | {n: v for n, (_, v) in data("rcThermal").items()})
    table = without(table, (8.0, 12.0))
    case = es.Case(
        "room",
        table,
        inputs={n: n for n in unit.inputs},
        outputs={n: es.OutputColumn(n, weight=1 / s) for n, s in unit.noise.items()},
        begin=0.0,
    )
    model = es.load_model(built("rcThermal", fmi=2, kinds=(kind,)))
    tuners = [es.Tuner(n, start=v) for n, v in unit.start.items()]
    fmu = es.Study(model, tuners, [case], "oe")
    assert [p.code for p in check(fmu) if "gap" in p.text] == [code]
    fit = es.fit(fmu)
    assert fit.outcome.ok, fit.outcome.message
    words = " ".join(fit.remarks)
    if sealed:
        assert "the simulation goes on through it" in words
        assert "the model cannot be begun elsewhere" in words
    else:
        assert "its 2 stretches are simulated apart" in words
        errors = fit.parameters["stderr"]
        assert max(abs(fit[n] - v) / errors[n] for n, v in unit.truth.items()) < 3
