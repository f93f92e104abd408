"""Gaps in records: what is one, what is none, and how a study is divided by them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.room import room_data, without

import estimica as es
from estimica.base.text import duration
from estimica.study.record.gaps import find_gaps
from estimica.study.record.stretches import in_stretches

HOUR = 3600.0


def case(data: object, **more: object) -> es.Case:
    inputs = more.pop("inputs", {"Q": "heat", "To": "outside"})
    return es.Case("room", data, inputs=inputs, outputs={"Ta": "air"}, **more)  # type: ignore[arg-type]


def found(data: pd.DataFrame, **more: object) -> list[tuple[float, float]]:
    return [(g.begin / HOUR, g.end / HOUR) for g in find_gaps(case(data, **more))]


def test_missing_rows_are_a_gap_from_the_last_sample_before_to_the_first_behind() -> None:
    assert found(without(room_data(), (48, 58))) == [(48, 58)]


def test_a_record_without_holes_has_no_gaps() -> None:
    assert found(room_data()) == []


def test_rows_of_nothing_are_missing_rows() -> None:
    data = room_data()
    data.loc[(data.time > 48 * HOUR) & (data.time < 58 * HOUR), ["heat", "outside", "air"]] = np.nan
    assert found(data) == [(48, 58)]


def test_a_missing_input_is_a_gap_after_its_last_value_was_held_for_a_step() -> None:
    data = room_data()
    data.loc[(data.time > 48 * HOUR) & (data.time < 58 * HOUR), "heat"] = np.nan
    (gap,) = find_gaps(case(data))
    assert (gap.begin, gap.end) == (48 * HOUR + 600, 58 * HOUR)
    assert gap.missing == ("Q",)


def test_a_missing_output_is_no_gap() -> None:
    data = room_data()
    data.loc[(data.time > 48 * HOUR) & (data.time < 58 * HOUR), "air"] = np.nan
    assert found(data) == []


def test_some_lost_samples_are_no_gap() -> None:
    assert found(without(room_data(), (48, 48.7))) == []  # four of ten minutes


def test_nights_without_data_are_gaps_each() -> None:
    nights = [(24 * d + 20, 24 * d + 30) for d in range(4)]
    assert found(without(room_data(), *nights)) == nights


def test_inputs_that_are_numbers_know_no_gaps() -> None:
    data = without(room_data(), (48, 58))
    assert found(data, inputs={"Q": 0.0, "To": 5.0}) == []


def test_a_slower_rate_is_no_gap() -> None:
    data = room_data()
    kept = data[(data.time < 4 * 24 * HOUR) | (data.time % (2 * HOUR) == 0)]
    assert found(kept.reset_index(drop=True)) == []


def test_an_input_with_a_rate_of_its_own_has_gaps_by_that_rate() -> None:
    data = room_data()
    data.loc[data.time % HOUR != 0, "outside"] = np.nan
    assert found(data) == []
    data.loc[(data.time > 48 * HOUR) & (data.time < 58 * HOUR), "outside"] = np.nan
    assert found(data) == [(49, 58)]


def test_an_input_that_is_written_when_it_changes_has_no_gaps_of_its_own() -> None:
    data = room_data()
    data.loc[1:, "heat"] = data["heat"].where(data["heat"].diff() != 0)[1:]
    assert found(data) == []


def test_samples_at_random_times_have_a_gap_only_where_it_is_out_of_all_proportion() -> None:
    random = np.random.default_rng(5)
    data = room_data()
    kept = data[random.random(len(data)) < 0.3]
    assert found(kept.reset_index(drop=True)) == []
    holes = found(without(kept, (40, 65)))
    assert len(holes) == 1
    assert holes[0][0] <= 40.2
    assert holes[0][1] >= 65


def test_a_study_is_divided_once() -> None:
    model = es.state_space(
        [[-1e-4, 1e-4], [1e-5, -1.5e-5]], [[5e-7, 0], [0, 5e-6]], [[1, 0]], [[0, 0]]
    )
    names = {"u1": "heat", "u2": "outside"}
    data = without(room_data(), (48, 58), (80, 90))
    one = es.Case(
        "a", data, inputs=names, outputs={"y": "air"}, free_start={"x1": es.StartValue(min=0)},
        fix={"x2": 18.0},
    )  # fmt: skip
    study = in_stretches(es.Study(model, [], [one]))
    assert [c.name for c in study.cases] == ["a", "a/2", "a/3"]
    first, second, _ = study.cases
    assert (first.begin, first.to, list(first.start_values)) == (None, 48 * HOUR, ["x1"])
    assert (second.begin, second.from_, second.to) == (58 * HOUR, 58 * HOUR, 80 * HOUR)
    assert {n: s.min for n, s in second.start_values.items()} == {"x1": 0, "x2": -np.inf}
    assert second.fix == {}, "what was known at the beginning is not known here"
    assert in_stretches(study) is study
    assert [c.name for c in study.written_cases] == ["a"]


def test_a_stretch_with_too_few_samples_is_left_out_and_said_so() -> None:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1, "tau": 9e3})
    data = without(room_data(), (48, 58), (58.2, 70))
    one = es.Case("a", data, inputs={"u": "heat"}, outputs={"y": "air"})
    study = in_stretches(es.Study(model, [], [one]))
    assert [(c.begin, c.to) for c in study.cases] == [(None, 48 * HOUR), (70 * HOUR, 431400.0)]
    assert "1 stretch has too few samples and is left out" in study.partition.notes[0]


def test_another_case_of_the_name_of_a_stretch_keeps_it() -> None:
    model = es.transfer_function("K/(1 + tau*s)", parameters={"K": 1, "tau": 9e3})
    data = without(room_data(), (48, 58))
    cases = [
        es.Case(n, data, inputs={"u": "heat"}, outputs={"y": "air"}, gaps=g)
        for n, g in (("a", None), ("a/2", "bridge"))
    ]
    study = in_stretches(es.Study(model, [], cases))
    assert [c.name for c in study.cases] == ["a", "a/3", "a/2"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90.0, "90 s"), (600.0, "10 min"), (36000.0, "10 h"), (259200.0, "3 days")],
)
def test_durations_have_a_unit_that_suits_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
