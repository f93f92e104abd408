"""Monitors over long streams: kills, false alarms, speed."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from tests.infer.test_monitor import killed_and_taken_up, rows, study, table

import estimica as es
from estimica.infer.monitor.charts import ChangeCharts, ChartDesign

pytestmark = pytest.mark.slow


def test_a_hundred_thousand_samples_killed_twenty_times_end_the_same(tmp_path: Path) -> None:
    file, state = tmp_path / "live.csv", tmp_path / "room.monitor"
    frame = table(100_000)
    frame.to_csv(file, index=False)
    fit = es.fit(study(frame.iloc[:600]), progress=False)
    straight = es.Monitor(fit)
    straight.follow(file, once=True)
    monitor = killed_and_taken_up(fit, file, state, 20, 1, longest=1.0)
    assert monitor.values == straight.values
    assert monitor.stderr == straight.stderr
    assert monitor.counts == straight.counts
    assert monitor.alarms == straight.alarms


def test_false_alarms_come_as_rarely_as_was_wished() -> None:
    rng = np.random.default_rng(1)
    design, lengths = ChartDesign.of(1.0, 1.5, 500.0, 1), []
    for _ in range(400):
        charts, k = ChangeCharts(design, ["y"]), 0
        while not charts.take(0, rng.normal(), float(k), k):
            k += 1
        lengths.append(k + 1)
    assert np.mean(lengths) == pytest.approx(500.0, rel=0.15)  # 5 % is its standard error


def test_monitors_of_a_room_that_does_not_change_are_quiet() -> None:
    """Charts of tuners and outputs together, on data of the model itself."""
    alarms, samples = 0, 0
    for seed in range(5):
        frame = table(6000, seed)
        fit = es.fit(study(frame.iloc[:2000]), progress=False)
        result = es.Monitor(fit, false_alarm=4000).take(rows(frame))
        alarms, samples = alarms + len(result.alarms), samples + result.counts["taken"]
    assert samples == 20_000
    assert alarms <= 10  # 5 expected; more than 10 come once in 70 times


def test_a_day_of_seconds_takes_less_than_a_thousandth_of_it() -> None:
    """On the processor's clock: what else runs on the machine does not count."""
    frame = table(86_400)
    frame["time"] /= 300.0
    fit = es.fit(study(frame.iloc[:600]), progress=False)
    monitor, sent = es.Monitor(fit, fresh=True), rows(frame)
    begun = time.process_time()
    monitor.take(sent)
    assert time.process_time() - begun < 86.4
