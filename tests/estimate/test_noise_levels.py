"""Noise levels of predictions: where their search begins, and which of them data can tell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.estimate.test_prediction import MODEL, TRUE, case, exact_cost, study, table

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.estimate.setup import prepare


def starts(own: es.Study) -> dict[str, float | None]:
    return {t.name: t.start for t in prepare(own).study.tuners}


@pytest.mark.parametrize("factor", [1.0, 1e6, 1e-6])
def test_a_factor_in_a_formula_changes_nothing_but_the_unit(factor: float) -> None:
    """Its size is what counts: a lower bound in the unit of the state would lie above the noise."""
    frame = table(120, 1)
    plain = es.fit(study([case(frame)]), progress=False)
    scaled = es.fit(study([case(frame)], process_noise={"T": f"{factor}*s"}), progress=False)
    assert scaled.cost == pytest.approx(plain.cost, abs=1e-4)
    assert scaled["s"] * factor == pytest.approx(plain["s"], rel=1e-3)


def test_noise_of_measuring_in_a_unit_of_its_own() -> None:
    frame = table(120, 1)
    plain = es.fit(study([case(frame)]), progress=False)
    outputs = {"T": es.OutputColumn("T", sigma="1e7*b")}
    scaled = es.fit(study([case(frame, outputs=outputs)]), progress=False)
    assert scaled["b"] * 1e7 == pytest.approx(plain["sigma_T"], rel=1e-3)


def test_sums_and_products_begin_at_the_size_of_the_noise() -> None:
    frame = table(120, 1)
    plain = starts(study([case(frame)]))["s"]
    assert plain is not None
    found = starts(study([case(frame)], process_noise={"T": "a + b*Q"}))
    rms = float(np.sqrt(np.mean(frame["Q"] ** 2)))
    assert found["a"] == pytest.approx(plain)
    assert found["b"] == pytest.approx(plain / rms, rel=1e-9)
    found = starts(study([case(frame)], process_noise={"T": "a*b"}))
    assert found["a"] == found["b"] == pytest.approx(np.sqrt(plain))


def test_parameters_of_the_model_in_a_formula_of_noise_keep_their_start() -> None:
    frame = table(120, 1)
    own = study([case(frame)], process_noise={"T": "0.14*R"})
    assert starts(own)["R"] is None  # that is, the value of the model
    found = es.fit(own, progress=False)
    p = {u.name: float(v) for u, v in zip(found.unknowns.items, found.values, strict=True)}
    assert found.cost == pytest.approx(exact_cost(frame, {**p, "s": 0.14 * p["R"]}), abs=1e-4)


def test_a_tuner_that_drives_a_parameter_and_noise() -> None:
    frame = table(120, 1)
    tuners = [es.Tuner("k", start=1.0, drives={"R": "0.01*k"}, scale="log"), es.Tuner("C")]
    own = es.Study(
        es.load_model(MODEL), tuners, [case(frame)], "prediction", process_noise={"T": "1e-9*k"}
    )
    assert starts(own)["k"] == 1.0
    found = es.fit(own, progress=False)
    assert found["k"] == pytest.approx(1.0, abs=0.01)


def test_levels_that_are_numbers() -> None:
    frame = table(120, 1)
    outputs = {"T": es.OutputColumn("T", sigma=TRUE["sigma_T"])}
    own = study([case(frame, outputs=outputs)], process_noise={"T": TRUE["s"]})
    found = es.fit(own, progress=False)
    p = {u.name: float(v) for u, v in zip(found.unknowns.items, found.values, strict=True)}
    assert set(p) == {"R", "C"}
    assert found.cost == pytest.approx(exact_cost(frame, {**TRUE, **p}), abs=1e-6)


def test_noise_is_told_by_cases_that_are_fitted() -> None:
    """A level of an output of idle or validating cases is no unknown."""
    model = """model M
      parameter Real a = 1; Real x(start = 1); output Real y = 2*x;
    equation der(x) = -a*x; end M;"""
    t = np.arange(30) * 0.1
    x = np.exp(-t) + 0.01 * np.random.default_rng(1).normal(size=30)
    data = {"time": t, "x": x, "y": 2 * x}
    first = es.Case("one", data, outputs={"x": "x"})

    def with_other(**more: object) -> es.Study:
        outputs: dict[str, object] = {"x": "x", "y": more.pop("y", "y")}
        other = es.Case("two", data, outputs=outputs, **more)  # type: ignore[arg-type]
        return es.Study(
            es.load_model(model), ["a"], [first, other], "prediction", process_noise={"x": "s"}
        )

    assert set(starts(with_other())) == {"a", "s", "sigma_x", "sigma_y"}
    assert set(starts(with_other(active=False))) == {"a", "s", "sigma_x"}
    with pytest.raises(EstimicaError) as error:
        prepare(with_other(role="validate"))
    assert error.value.code == "C162"
    assert "sigma_y" in error.value.message
    given = with_other(role="validate", y=es.OutputColumn("y", sigma=0.02))
    assert set(starts(given)) == {"a", "s", "sigma_x"}


def test_free_starts_do_not_reward_noise_of_measuring_that_vanishes() -> None:
    """A first value that is met exactly would gain without limit as its variance goes to zero."""
    frame = table(12, 3)
    own = study([case(frame, free_start=["T"])])
    held = [es.Tuner("R", active=False, start=0.01), es.Tuner("C", active=False, start=1e5)]
    costs = []
    for sigma in (0.05, 1e-4, 1e-8):
        tuners = [*held, es.Tuner("sigma_T", active=False, start=sigma), es.Tuner("s", start=3e-3)]
        costs.append(es.fit(own.with_(tuners=tuners), progress=False).cost)
    assert costs[2] > costs[0] - 3.0  # one log σ² of eight decades would be 30
    assert costs[2] == pytest.approx(costs[1], abs=0.1)
