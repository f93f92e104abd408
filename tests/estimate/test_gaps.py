"""Fits of records with gaps: a room whose truth is known from its closed form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.room import SOURCE, TRUE, room_data, without

import estimica as es
from estimica.study.check.run import check

HOUR = 3600.0
HOLE = (48.0, 58.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> es.Model:
    path = tmp_path_factory.mktemp("room") / "Room.mo"
    path.write_text(SOURCE)
    return es.load_model(path, "Room")


def tuners() -> list[es.Tuner]:
    return [
        es.Tuner(n, start=1.5 * v, min=v / 20, max=20 * v, scale="log") for n, v in TRUE.items()
    ]


def study(model: es.Model, data: object, criterion: str = "oe", **more: object) -> es.Study:
    estimation = es.Estimation(criterion=criterion, **more.pop("estimation", {}))  # type: ignore[arg-type]
    case = es.Case(
        "room", data, inputs={"Q": "heat", "To": "outside"}, outputs={"Ta": "air"},
        free_start=["Ta", "Tw"], **more,  # type: ignore[arg-type]
    )  # fmt: skip
    return es.Study(model, tuners(), [case], estimation=estimation)


@pytest.fixture(scope="module")
def fit(model: es.Model) -> es.Fit:
    return es.fit(study(model, without(room_data(), HOLE)))


def off(fit: es.Fit) -> np.ndarray:
    """How many standard errors each tuner is from the truth."""
    errors = fit.parameters["stderr"]
    return np.array([(fit[n] - v) / errors[n] for n, v in TRUE.items()])


def test_ten_hours_without_data_leave_every_tuner_within_two_standard_errors(fit: es.Fit) -> None:
    assert fit.outcome.ok
    assert np.abs(off(fit)).max() < 2


def test_bridging_them_leads_astray(model: es.Model) -> None:
    bridged = es.fit(study(model, without(room_data(), HOLE), gaps="bridge"))
    assert np.abs(off(bridged)).max() > 8
    assert len(bridged.start_values) == 2
    assert "the simulation goes on through it" in " ".join(bridged.remarks)


def test_states_behind_the_gap_are_found(fit: es.Fit) -> None:
    data = room_data()
    row = data[data.time == HOLE[1] * HOUR].iloc[0]
    found = fit.start_values.loc["room/2"]
    exact = np.array([row["exact air"], row["exact wall"]])
    assert np.abs((found["value"] - exact) / found["stderr"]).max() < 3


def test_the_user_sees_one_case_with_a_shaded_gap(fit: es.Fit) -> None:
    assert [c.name for c in fit.cases] == ["room"]
    assert [c.name for c in fit.stretches] == ["room", "room/2"]
    assert len(fit.case("room")["Ta"].time) == fit.n_samples == 661
    assert len(fit.case("room/2")["Ta"].time) == 372
    assert "a gap of 10 h from 172800 s to 208800 s" in " ".join(repr(fit).split())
    assert "room/2" not in str(fit.quality())
    panel = fit.picture().panels[0]  # type: ignore[attr-defined]
    assert panel.gaps == ((172800.0, 208800.0),)
    time, value = panel.broken(panel.curves[1])
    assert np.isnan(value[(time > 172800) & (time < 208800)]).all()
    headings = [s.heading for s in fit.page().sections]
    assert "Gaps in the data" in headings
    shapes = fit.plot().layout.shapes
    assert [(s.x0, s.x1) for s in shapes if s.yref == "y domain"] == [(48.0, 58.0)]  # h


def test_json_has_the_gap_and_its_stretches(fit: es.Fit) -> None:
    told = json.loads(json.dumps(fit.to_dict()))
    assert told["gaps"] == {
        "room": {
            "gaps": [{"begin": 172800.0, "end": 208800.0, "missing": []}],
            "stretches": [
                {"name": "room", "begin": 0.0, "end": 172800.0},
                {"name": "room/2", "begin": 208800.0, "end": 431400.0},
            ],
        }
    }
    assert list(told["quality"]) == ["room"]
    assert list(told["start_values"]) == ["room", "room/2"]


def test_the_fitted_class_begins_as_the_first_stretch(fit: es.Fit, tmp_path: Path) -> None:
    text = fit.write_modelica(tmp_path / "Fitted.mo").read_text()
    start = float(fit.start_values.loc[("room", "Tw"), "value"])
    assert f"Tw(start = {start!r}, fixed = true)" in text
    assert "Start values behind gaps of the data are left out below." in text


def test_residuals_are_tested_as_one_series_on_their_grid(fit: es.Fit) -> None:
    (one,) = es.residuals(fit).outputs
    assert one.series.n == 661
    assert one.series.spacing.missing == 59  # ten hours of ten minutes, ends not included


def test_check_tells_of_the_gap(model: es.Model) -> None:
    problems = check(study(model, without(room_data(), HOLE)))
    assert [(p.code, p.warning) for p in problems] == [("C110", True)]
    assert 'gaps = "bridge"' in problems[0].text


def test_maximum_likelihood_has_one_noise_level_for_all_stretches(model: es.Model) -> None:
    found = es.fit(study(model, without(room_data(), HOLE), "ml"))
    assert list(found.noise) == ["Ta"]
    assert found.noise["Ta"].variance == pytest.approx(0.05**2, rel=0.15)
    assert np.abs(off(found)).max() < 2


@pytest.mark.parametrize("transcription", ["multiple-shooting", "collocation"])
def test_transcriptions_agree(model: es.Model, fit: es.Fit, transcription: str) -> None:
    data = without(room_data(), HOLE)
    other = es.fit(study(model, data, estimation={"transcription": transcription}))
    assert other.outcome.ok
    for name in TRUE:
        assert other[name] == pytest.approx(fit[name], rel=2e-4)


def test_samples_while_an_input_is_missing_do_not_count(model: es.Model) -> None:
    data = room_data()
    data.loc[(data.time > 48 * HOUR) & (data.time < 58 * HOUR), "heat"] = np.nan
    found = es.fit(study(model, data))
    assert np.abs(off(found)).max() < 2
    time = found.case("room")["Ta"].time / HOUR
    assert not ((time > 48 + 1 / 6) & (time < 58)).any()


def test_a_known_start_is_known_at_the_begin_only(model: es.Model) -> None:
    case = es.Case(
        "room", without(room_data(), HOLE), inputs={"Q": "heat", "To": "outside"},
        outputs={"Ta": "air"}, fix={"Ta": 20.0, "Tw": 18.0},
    )  # fmt: skip
    found = es.fit(es.Study(model, tuners(), [case]))
    assert [u.label for u in found.unknowns.items][4:] == [
        "start of Ta in room/2",
        "start of Tw in room/2",
    ]
    assert np.abs(off(found)).max() < 2


def test_a_validating_case_with_a_gap_finds_its_start_values_in_each_stretch(
    model: es.Model, fit: es.Fit
) -> None:
    names = {"Q": "heat", "To": "outside"}
    cases = [
        es.Case(n, without(room_data(seed=s), HOLE), inputs=names, outputs={"Ta": "air"},
                free_start=["Ta", "Tw"], role=role)  # type: ignore[arg-type]
        for n, s, role in (("fitted", 3, "calibrate"), ("other", 4, "validate"))
    ]  # fmt: skip
    found = es.fit(es.Study(model, tuners(), cases))
    assert [c.name for c in found.cases] == ["fitted", "other"]
    assert found.case("other")["Ta"].rmse == pytest.approx(0.05, rel=0.1)
    assert [u.label for u in found.case("other").unknowns][2:] == [
        "start of Ta in other/2",
        "start of Tw in other/2",
    ]
    (_, other) = es.residuals(found).outputs
    assert other.series.n == 661


def test_cross_validation_and_bands_show_one_case(fit: es.Fit) -> None:
    result = es.crossvalidate(fit)
    (one,) = result.outputs
    assert one.left_out is not None
    assert len(one.left_out.time) == 661
    assert one.ratio == pytest.approx(1, abs=0.1)
    (band,) = es.bands(fit).outputs
    assert len(band.time) == 661
    assert 0.9 < band.inside < 0.99


def test_a_bootstrap_of_blocks_keeps_within_stretches(fit: es.Fit) -> None:
    result = es.bootstrap(fit, 8, kind="block", seed=2)
    assert result.failed == 0
    assert {u.case for u in result.fit.unknowns.items} == {"", "room", "room/2"}


def test_by_hand_a_stretch_has_sliders_of_its_own(model: es.Model) -> None:
    hand = es.by_hand(study(model, without(room_data(), HOLE)))
    assert "start of Tw in room/2" in [u.label for u in hand.unknowns]
    assert list(hand.at(dict(TRUE)).errn) == ["room"]


def test_a_function_is_bridged_and_that_is_said() -> None:
    def gain(u: np.ndarray, t: np.ndarray, K: float) -> np.ndarray:
        return K * u

    model = es.function_model(gain, inputs=["u"], outputs=["y"], parameters={"K": 1.0})
    data = without(room_data(), HOLE)
    case = es.Case("a", data, inputs={"u": "outside"}, outputs={"y": "air"})
    found = es.fit(es.Study(model, ["K"], [case]))
    assert "the model cannot be begun elsewhere" in " ".join(found.remarks)
    assert [c.name for c in found.stretches] == ["a"]


def test_outputs_are_drawn_against_a_variable_in_all_stretches(fit: es.Fit) -> None:
    panel = fit.picture("residuals", against="Ta").panels[0]  # type: ignore[attr-defined]
    assert len(panel.curves[-1].time) == 661
    assert np.isfinite(panel.curves[-1].time).all()


def test_a_fit_with_gaps_is_saved_and_loaded(fit: es.Fit, tmp_path: Path) -> None:
    again = es.load_result(fit.save(tmp_path / "fit.estimica"))
    assert isinstance(again, es.Fit)
    assert again.estimates == fit.estimates
    assert [c.name for c in again.cases] == ["room"]
    assert [c.name for c in again.stretches] == ["room", "room/2"]


def test_many_starts_behind_gaps_have_a_table_of_their_own(model: es.Model) -> None:
    nights = [(12 * k + 8.0, 12 * k + 10.0) for k in range(8)]
    found = es.fit(study(model, without(room_data(), *nights)))
    assert np.abs(off(found)).max() < 3
    assert len(found.start_values) == 18
    assert "16 start values behind gaps are not listed here" in " ".join(repr(found).split())
    section = next(s for s in found.page().sections if s.heading == "Gaps in the data")
    assert len(section.shown[1].rows) == 16  # type: ignore[union-attr]


def test_several_starts_and_workers_find_the_same(model: es.Model, fit: es.Fit) -> None:
    data = without(room_data(), HOLE)
    found = es.fit(study(model, data, estimation={"starts": 2}), workers=2)
    assert found.cost == pytest.approx(fit.cost, rel=1e-6)
