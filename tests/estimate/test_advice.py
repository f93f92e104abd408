"""What is said of a fit beyond its numbers: alarms that are true, and none that are not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import curve

from estimica.estimate.run.fit import fit
from estimica.estimate.run.multistart import _noted, _search
from estimica.estimate.setup import prepare
from estimica.simulate.load import load_model
from estimica.study.case import Case
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

DECAY = """model Decay
  parameter Real k = 1; parameter Real level = 1;
  output Real x(start = 1, fixed = true); output Real y;
equation
  der(x) = -k*x;
  y = level;
end Decay;"""
TIME = np.linspace(0, 3, 31)


def table(**columns: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"time": TIME, **columns})


def noisy(seed: int = 0) -> np.ndarray:
    return np.exp(-TIME) + 0.01 * np.random.default_rng(seed).standard_normal(len(TIME))


@pytest.mark.parametrize("samples", [1, 3])
def test_little_is_explained_is_not_said_of_one_sample_or_of_equal_ones(samples: int) -> None:
    # 0.1 + 0.1 + 0.1 is not 0.3: the mean of equal numbers may differ from them
    few = np.where(np.arange(len(TIME)) < samples, 0.1, np.nan)
    case = Case("run", table(x=noisy(), y=few), outputs={"x": "x", "y": "y"})
    found = fit(Study(load_model(DECAY), [Tuner("k", start=0.7)], [case]))
    assert found.outcome.ok
    assert abs(found.case("run")["y"].residual[0]) > 0.5  # level stays at 1
    assert "explained" not in found.outcome.message
    assert found.case("run")["y"].fit_percent == -np.inf


def test_little_is_explained_is_said_of_a_signal_that_varies() -> None:
    case = Case("run", table(x=np.sin(9 * TIME)), outputs={"x": "x"})
    found = fit(Study(load_model(DECAY), [Tuner("k", start=0.7)], [case]))
    assert "little of 'x' in 'run' is explained" in found.outcome.message


def test_a_search_that_still_gains_goes_on_along_a_valley() -> None:
    x = np.linspace(1, 2, 30)
    settings = Estimation(method="steepest-descent")
    found = fit(curve("a*x^b", x, 3 * x**1.5, {"a": 1.0, "b": 1.0}, settings))
    assert found.outcome.ok
    assert len(found.iterations) > 200
    assert found.values == pytest.approx([3, 1.5], rel=1e-5)


GUARDED = """model Guarded
  parameter Real k = 1; parameter Real g = 1;
  output Real x(start = 1, fixed = true);
equation
  der(x) = -k*g*x;
  assert(g < 1.5, "g is too large");
end Guarded;"""


def guarded(starts: int, least: float = 0.0) -> Study:
    """Of ten starts between 0 and 10 about eight cannot be simulated."""
    model = load_model(GUARDED)
    case = Case("run", table(x=noisy()), outputs={"x": "x"}, fix={"k": 1.0})
    tuner = Tuner("g", start=max(1.2, least), min=least, max=10)
    return Study(model, [tuner], [case], estimation=Estimation(starts=starts))


def test_starts_that_cannot_be_simulated_are_drawn_again() -> None:
    found = fit(guarded(12))
    again = [s for s in found.starts if s.drawn_again]
    assert len(again) > 5
    done = [s for s in again if s.status != "failed"]
    assert len(done) > 0.7 * len(again)  # each of ten draws succeeds in 15 of 100
    assert all(s.start["g"] < 1.5 and 1 <= s.drawn_again <= 10 for s in done)
    assert f"{len(again)} starts that cannot be simulated were drawn again" in found.outcome.message
    first = next(s for s in found.starts if s.number == 1)
    assert first.start["g"] == 1.2
    told = found.to_dict()["starts"]
    assert isinstance(told, list)
    assert sorted(s["drawn_again"] for s in told) == sorted(s.drawn_again for s in found.starts)


@pytest.mark.slow
def test_draws_are_the_same_with_any_number_of_workers() -> None:
    one, two = (fit(guarded(6), workers=n) for n in (1, 2))
    assert [(s.number, dict(s.start), s.cost) for s in one.starts] == [
        (s.number, dict(s.start), s.cost) for s in two.starts
    ]
    assert one.outcome.message == two.outcome.message


def test_draws_come_to_an_end_where_nothing_can_be_simulated() -> None:
    found = fit(guarded(3, least=2.0))
    assert not found.outcome.ok
    assert found.outcome.message.startswith("none of 3 starts led anywhere")
    assert [s.drawn_again for s in sorted(found.starts, key=lambda s: s.number)] == [0, 10, 10]


def test_draws_come_back_from_their_note_to_the_last_bit() -> None:
    setup = prepare(guarded(4))
    cases = setup.calibration()
    note = _search((setup, cases), (3, np.array([9.0])))
    kept = _noted(json.loads(json.dumps(note)))
    assert 1 <= len(kept.drawn) <= 10
    assert [q.tolist() for q in kept.drawn] == note["drawn"]
    assert kept.point is not None


FRICTION = """model Friction
  parameter Real mu = 0.5;
  output Real s(start = 1, fixed = true); Real v(start = 0, fixed = true);
equation
  der(s) = v;
  der(v) = -4*s - mu*sign(v);
end Friction;"""


def test_advice_on_a_model_that_chatters_is_to_write_its_friction_otherwise() -> None:
    # two half swings of mu = 0.5; with the mu of the start it comes to rest after the first
    first, second = 0.125 + 0.875 * np.cos(2 * TIME), -0.125 + 0.625 * np.cos(2 * TIME)
    swings = table(s=np.where(np.pi / 2 > TIME, first, second))
    case = Case("run", swings, outputs={"s": "s"})
    found = fit(Study(load_model(FRICTION), [Tuner("mu", start=1.5)], [case]))
    assert not found.outcome.ok
    assert "chatters at rest: write tanh(v/v0)" in found.outcome.message
    assert "multiple-shooting" not in found.outcome.message
    smooth = load_model(FRICTION.replace("sign(v)", "tanh(v/1e-6)"))
    found = fit(Study(smooth, [Tuner("mu", start=0.7)], [case]))
    assert found["mu"] == pytest.approx(0.5, abs=1e-3)
