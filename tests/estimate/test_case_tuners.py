"""Tuners of single cases: expressions in `fix`, against plain fits and differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.estimate.test_output_formulas import DECAY, STAMPS, TIGHT, jacobian_error, table

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.data.table import Data
from estimica.simulate.linear.constructors import model_of_text
from estimica.study.case import OutputColumn
from estimica.study.check.run import check_file


def curve(k: float, start: float, seed: int) -> np.ndarray:
    noise = 0.005 * np.random.default_rng(seed).standard_normal(len(STAMPS))
    return start * np.exp(-k * STAMPS) + noise


def case(name: str, rate: float, start: float, seed: int, **fix: float | str) -> es.Case:
    return es.Case(
        name, table(x=curve(rate, start, seed)), time="t", outputs={"x": "x"}, fix=dict(fix)
    )


TUNERS = [
    es.Tuner("k_wild", 0.5, scale="log"),
    es.Tuner("ratio", 1.0),
    es.Tuner("amount", 1.5),
]


def two_strains() -> es.Study:
    return es.Study(
        es.load_model(DECAY),
        TUNERS,
        [
            case("wild", 0.7, 2.0, 1, k="k_wild", x="amount"),
            case("mutant", 1.4, 4.0, 2, k="k_wild*ratio", x="2*amount"),
        ],
        solver=TIGHT,
    )


def test_cases_have_tuners_of_their_own_as_an_independent_solver_finds() -> None:
    from scipy.optimize import least_squares

    def residual(p: np.ndarray) -> np.ndarray:
        k, ratio, amount = p
        first = amount * np.exp(-k * STAMPS) - curve(0.7, 2.0, 1)
        second = 2 * amount * np.exp(-k * ratio * STAMPS) - curve(1.4, 4.0, 2)
        rms = [np.sqrt(np.mean(c**2)) for c in (curve(0.7, 2.0, 1), curve(1.4, 4.0, 2))]
        return np.concatenate([first, second]) / np.sqrt(np.mean(np.square(rms)))

    expected = least_squares(residual, [0.5, 1, 1.5], xtol=1e-14, ftol=1e-14).x
    assert np.allclose(es.fit(two_strains()).values, expected, rtol=1e-6)


def test_the_chain_rule_of_a_case_is_exact() -> None:
    assert jacobian_error(two_strains()) < 2e-6


@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_every_transcription_follows_the_expressions(transcription: str) -> None:
    study = two_strains()
    way = es.Estimation(transcription=transcription)  # type: ignore[arg-type]
    found = es.fit(study.with_(estimation=way)).values
    assert np.allclose(found, es.fit(study).values, rtol=1e-3)


def test_expressions_of_a_linear_model_and_of_a_frequency_response() -> None:
    omega = np.logspace(-1, 1, 12)
    data = {"w": omega}
    for name, k in (("a", 1.0), ("b", 3.0)):
        G = 1 / (1 + k * 1j * omega)
        data |= {f"Re({name})": G.real, f"Im({name})": G.imag}
    table = Data("test", data)
    cases = [
        es.Case(n, table, angular_frequency="w", outputs={"y": n}, fix={"k": text})
        for n, text in (("a", "tau"), ("b", "tau*more"))
    ]
    study = es.Study(
        model_of_text("1/(1 + k*s)"), [es.Tuner("tau", 0.5), es.Tuner("more", 1.0)], cases
    )
    assert np.allclose(es.fit(study).values, [1, 3], rtol=1e-6)


def test_a_validating_case_takes_its_own_expression() -> None:
    study = es.Study(
        es.load_model(DECAY),
        TUNERS[:1],
        [
            case("wild", 0.7, 1.0, 1, k="k_wild"),
            es.Case(
                "twice",
                table(x=curve(1.4, 1.0, 3)),
                time="t",
                outputs={"x": "x"},
                fix={"k": "2*k_wild"},
                role="validate",
            ),
        ],
    )
    quality = es.fit(study).to_dict()["quality"]["twice"]["x"]
    assert quality["rmse"] == pytest.approx(0.005, rel=0.3)


def test_a_formula_of_an_output_may_have_a_scale_of_each_case() -> None:
    def measured(name: str, gain: float) -> es.Case:
        return es.Case(
            name,
            table(y=gain * curve(0.7, 1.0, 1)),
            time="t",
            outputs={"obs": OutputColumn("y", expression="gain*x")},
            fix={"gain": f"gain_{name}"},
        )

    tuners = [es.Tuner("k", 0.5), es.Tuner("gain_a", 1.0), es.Tuner("gain_b", 1.0)]
    study = es.Study(es.load_model(DECAY), tuners, [measured("a", 2), measured("b", 5)])
    assert jacobian_error(study) < 1e-5
    assert es.fit(study).values[2] / es.fit(study).values[1] == pytest.approx(2.5, rel=1e-5)


def test_a_tuner_that_nothing_uses_is_refused_as_before() -> None:
    study = es.Study(es.load_model(DECAY), [es.Tuner("k_wlid", 0.5)], [case("a", 0.7, 1, 1)])
    with pytest.raises(EstimicaError, match="has no parameter 'k_wlid'"):
        es.fit(study)


@pytest.mark.parametrize(
    ("fix", "said"),
    [
        ("{ k = 'k_wlid' }", "did you mean 'k_wild'"),
        ("{ k = '2*(k_wild' }", "fix 'k'"),
        ("{ kk = 'k_wild' }", "'kk'"),
    ],
)
def test_mistakes_in_fix_are_told(fix: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "Decay.mo").write_text(DECAY)
    rows = "\n".join(f"{t},{y}" for t, y in zip(STAMPS, curve(0.7, 1, 1), strict=True))
    (tmp_path / "d.csv").write_text(f"t,x\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Decay.mo"\n[tune]\nk_wild = 0.5\n[[case]]\nname = "a"\n'
        f'data = "d.csv"\ntime = "t"\noutputs = {{ x = "x" }}\nfix = {fix}\n'
    )
    problems = check_file(tmp_path / "s.toml")
    assert any(said in f"{p.message} {p.suggestion}" for p in problems), problems


def test_a_study_file_with_case_tuners_is_fitted_after_its_check(tmp_path: Path) -> None:
    (tmp_path / "Decay.mo").write_text(DECAY)
    rows = "\n".join(f"{t},{y}" for t, y in zip(STAMPS, curve(0.7, 1, 1), strict=True))
    (tmp_path / "d.csv").write_text(f"t,x\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        '[model]\nsource = "Decay.mo"\n[tune]\nk_wild = 0.5\n[[case]]\nname = "a"\n'
        'data = "d.csv"\ntime = "t"\noutputs = { x = "x" }\nfix = { k = "k_wild" }\n'
    )
    assert [p for p in check_file(tmp_path / "s.toml") if not p.warning] == []
    assert es.fit(es.read_study(tmp_path / "s.toml")).values[0] == pytest.approx(0.7, rel=0.01)
