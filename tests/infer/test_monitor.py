"""Estimation while data arrive: estimates, changes, what becomes of rows, states on disk."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.errors import EstimicaError
from estimica.infer.monitor.charts import ChangeCharts, ChartDesign
from estimica.infer.monitor.run_length import average_run_length, scaled, shifted, threshold_for

MODEL = """model Room
  parameter Real R = 0.01; parameter Real C = 1e6;
  input Real Ta; input Real Q;
  Real T(start = 20, unit = "degC");
equation
  C*der(T) = (Ta - T)/R + Q;
end Room;"""
STEP = 300.0


def table(
    n: int,
    seed: int = 1,
    R: Callable[[int], float] = lambda k: 0.01,
    C: Callable[[int], float] = lambda k: 1e6,
    noise: float = 0.003,
) -> pd.DataFrame:
    """A room with noise in its state by the exact steps of a linear system; R, C by the sample."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) * STEP
    Ta, Q, T = 5 + 5 * np.sin(t / 1.3e4), 1000.0 * (np.floor(t / 7200) % 2), 20.0
    values = []
    for k in range(n):
        a = -1 / (R(k) * C(k))
        F, G = np.exp(a * STEP), (np.exp(a * STEP) - 1) / a
        spread = noise * np.sqrt((np.exp(2 * a * STEP) - 1) / (2 * a))
        values.append(T + 0.05 * rng.normal())
        T = F * T + G * (Ta[k] / R(k) + Q[k]) / C(k) + spread * rng.normal()
    return pd.DataFrame({"time": t, "T": values, "Ta": Ta, "Q": Q})


def study(frame: object, criterion: str = "prediction", **more: object) -> es.Study:
    noise = {"T": "s"} if criterion == "prediction" else {}
    case = es.Case("a", frame, inputs={"Ta": "Ta", "Q": "Q"}, outputs={"T": "T"}, **more)  # type: ignore[arg-type]
    return es.Study(es.load_model(MODEL), ["R", "C"], [case], criterion, process_noise=noise)


def rows(frame: pd.DataFrame) -> list[dict[str, object]]:
    return frame.to_dict("records")  # type: ignore[return-value]


@pytest.fixture(scope="module")
def fit() -> es.Fit:
    """Of the first 600 samples of a room that does not change."""
    return es.fit(study(table(5000).iloc[:600]), progress=False)


# --- charts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "length"), [(4.0, 335.4), (5.0, 930.9), (3.0, 117.6)])
def test_run_lengths_are_those_of_the_tables(threshold: float, length: float) -> None:
    """One-sided, reference value 1/2: Montgomery, Introduction to Statistical Quality Control;
    twice its two-sided 167.7, 465.4 and 58.8."""
    found = average_run_length(threshold, shifted(1.0))
    assert found == pytest.approx(length, rel=2e-3)
    assert threshold_for(length, shifted(1.0)) == pytest.approx(threshold, rel=1e-3)


@pytest.mark.parametrize("ratio", [1.5, 1 / 1.5])
def test_run_lengths_of_spreads_are_those_of_simulated_charts(ratio: float) -> None:
    rng = np.random.default_rng(1)
    a, b = (1 - 1 / ratio**2) / 2, np.log(ratio)
    threshold = threshold_for(100.0, scaled(ratio))
    charts, lengths = np.zeros(4000), []
    alive = np.ones(4000, bool)
    for k in range(1, 3000):
        charts = np.maximum(charts + a * rng.normal(size=4000) ** 2 - b, 0.0)
        alarm = alive & (charts > threshold)
        lengths += [k] * int(alarm.sum())
        alive &= ~alarm
    assert np.mean(lengths) == pytest.approx(100.0, rel=0.05)  # 1.6 % is its standard error


def test_a_chart_says_since_when_the_mean_has_moved() -> None:
    rng = np.random.default_rng(2)
    charts = ChangeCharts(ChartDesign.of(1.0, 1.5, 10_000, 1), ["y"])
    for k in range(400):
        alarms = charts.take(0, rng.normal() + (1.5 if k >= 300 else 0), float(k), k)
        if alarms:
            break
    assert alarms[0].kind == "higher"
    assert 300 <= alarms[0].time < 320
    assert abs(alarms[0].since - 300) <= 4


# --- estimates ------------------------------------------------------------------------------------


def test_one_pass_gives_what_a_fit_of_all_data_gives(fit: es.Fit) -> None:
    frame = table(5000)
    monitor = es.Monitor(fit)
    result = monitor.take(rows(frame))
    whole = es.fit(study(frame), progress=False)
    errors = np.sqrt(np.diag(whole.covariance))
    assert np.abs((result.values - whole.values) / errors).max() < 0.25
    np.testing.assert_allclose(result.stderr, errors, rtol=0.1)
    assert result.counts["known"] == 600
    assert result.counts["taken"] == 4400
    assert not result.alarms


def test_from_guesses_it_comes_to_the_same(fit: es.Fit) -> None:
    frame = table(5000)
    tuners = [es.Tuner("R", start=0.015), es.Tuner("C", start=5e5)]
    own = study(frame.iloc[:50])
    monitor = es.Monitor(own.with_(tuners=tuners))
    result = monitor.take(rows(frame))
    errors = np.array([result.stderr[result.labels.index(n)] for n in ("R", "C")])
    assert (np.abs(np.array([result["R"] - 0.01, result["C"] - 1e6])) < 3 * errors).all()
    assert result["sigma_T"] == pytest.approx(0.05, rel=0.1)


def test_without_noise_in_the_states_start_values_are_found_too() -> None:
    frame = table(2000, noise=0.0)
    frame["T"] += 3.0 * np.exp(-frame["time"] / 1e4)  # it begins at 23
    own = study(frame, "ml", free_start=["T"])
    result = es.Monitor(own).take(rows(frame))
    whole = es.fit(own, progress=False)
    assert result["start of T in a"] == pytest.approx(23.0, abs=0.1)
    for name in ("R", "C"):
        error = float(whole.parameters.loc[name, "stderr"])
        assert abs(result[name] - whole[name]) < 0.5 * error
    assert es.Monitor(whole).values["sigma_T"] == pytest.approx(0.05, rel=0.1)


def test_a_slow_drift_is_tracked(fit: es.Fit) -> None:
    def drifting(k: int) -> float:
        return 1e6 * (1 + 0.3 * max(k - 600, 0) / 4400)

    frame = table(5000, C=drifting)
    still = es.Monitor(fit).take(rows(frame))
    for settings in ({"memory": 5e4}, {"drift": {"C": 500.0}}):
        result = es.Monitor(fit, **settings).take(rows(frame))  # type: ignore[arg-type]
        assert result["C"] == pytest.approx(1.3e6, rel=0.04)
        assert abs(still["C"] - 1.3e6) > 2 * abs(result["C"] - 1.3e6)
        course = result.course()["C"]
        middle = course.iloc[len(course) // 2]
        assert middle == pytest.approx(drifting(2800), rel=0.04)


@pytest.mark.parametrize(("name", "kind"), [("R", "larger"), ("C", "smaller")])
def test_a_step_of_a_parameter_is_seen_and_its_time_is_found(
    fit: es.Fit, name: str, kind: str
) -> None:
    """By 10 %, in a room whose innovations move by less than a third of their deviations."""
    true = {"R": 0.01, "C": 1e6}[name]
    after = true * (1.1 if kind == "larger" else 0.9)
    frame = table(4000, **{name: lambda k: true if k < 2500 else after})
    result = es.Monitor(fit, relearn=10.0).take(rows(frame))
    first, change = result.alarms[0], 2500 * STEP
    assert (first.name, first.kind) == (name, kind)
    assert change < first.time < change + 300 * STEP
    assert abs(first.since - change) <= 60 * STEP
    assert result[name] == pytest.approx(after, rel=0.03)


# --- rows -----------------------------------------------------------------------------------------


def test_rows_that_are_not_as_they_should_be_are_counted(fit: es.Fit) -> None:
    frame = table(1000).iloc[600:]
    sent = rows(frame)
    sent[10]["T"] = 1e4  # wild
    sent[20]["T"] = None
    sent[30]["Ta"] = float("nan")
    sent.insert(40, sent[35])  # late
    sent.insert(50, sent[49])  # a duplicate
    sent.insert(60, {"time": "noon", "T": 20.0})
    monitor = es.Monitor(fit)
    steps = [monitor.push(row) for row in sent]
    counts = monitor.counts
    expected = {"late": 1, "duplicate": 1, "wild": 1, "missing": 1, "missing_inputs": 1}
    assert {n: counts[n] for n in expected} == expected
    assert counts["unreadable"] == 1
    assert counts["taken"] == 400
    assert steps[40].status == "late"
    plain = es.Monitor(fit)
    plain.take(rows(frame.drop(index=[610, 620])))
    # a wild value and a missing one change as little as rows that are not there
    assert monitor.values["C"] == pytest.approx(plain.values["C"], rel=2e-3)
    assert not monitor.alarms


def test_several_wild_values_in_a_row_are_a_change(fit: es.Fit) -> None:
    frame = table(1000).iloc[600:]
    sent = rows(frame)
    for row in sent[200:]:
        row["T"] = float(row["T"]) + 5.0  # type: ignore[arg-type]
    monitor = es.Monitor(fit)
    monitor.take(sent)
    assert monitor.alarms[0].kind == "wild"
    assert monitor.alarms[0].since == sent[200]["time"]
    assert monitor.counts["wild"] == 2


def test_a_file_is_followed_as_it_grows_is_cut_and_replaced(fit: es.Fit, tmp_path: Path) -> None:
    frame = table(800)
    lines = frame.to_csv(index=False).splitlines(keepends=True)
    path = tmp_path / "live.csv"
    path.write_text("".join(lines[:50]) + lines[50][:9])
    rounds = 0

    def grow() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            with path.open("a") as file:
                file.write(lines[50][9:] + "".join(lines[51:650]) + "this is, no row\n")
        elif rounds == 2:
            path.write_text(lines[0] + "".join(lines[650:700]))  # truncated
        elif rounds == 3:
            new = tmp_path / "new.csv"
            new.write_text(lines[0] + "".join(lines[700:]))
            new.replace(path)
        return rounds > 3

    monitor = es.Monitor(fit)
    monitor.follow(path, poll=0.0, stop=grow)
    assert monitor.counts["taken"] == 200
    assert monitor.counts["known"] == 600
    assert monitor.counts["unreadable"] == 1
    assert monitor.counts["restarted"] == 2
    straight = es.Monitor(fit)
    straight.take(rows(pd.read_csv(_written(tmp_path / "all.csv", lines))))
    assert straight.values == monitor.values


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(lines))
    return path


# --- states on disk -------------------------------------------------------------------------------


def test_what_was_pushed_is_there_after_a_kill(fit: es.Fit, tmp_path: Path) -> None:
    sent = rows(table(1000).iloc[600:])
    straight = es.Monitor(fit)
    straight.take(sent)
    path = tmp_path / "room.monitor"
    monitor = es.Monitor(fit, state=path)
    for k, row in enumerate(sent):
        if k in (7, 150, 333):  # nothing is written at the end of a process that is killed
            assert monitor._journal is not None
            monitor._journal.close()
            monitor = es.Monitor(fit, state=path)
        monitor.push(row)
    assert monitor.values == straight.values
    assert monitor.stderr == straight.stderr
    assert monitor.counts == straight.counts


#: in a process of its own: forks of one that has loaded JAX may lock up
KILLING = """
import os, pickle, signal, sys, time
from pathlib import Path
import numpy as np
import estimica as es

given, file, state, kills, seed, longest = pickle.loads(Path(sys.argv[1]).read_bytes())
rng = np.random.default_rng(seed)
for _ in range(kills):
    child = os.fork()
    if child == 0:
        try:
            es.Monitor(given, state=state).follow(file)
        finally:
            os._exit(1)
    time.sleep(0.02 + longest * rng.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def killed_and_taken_up(
    given: es.Fit | es.Study,
    file: Path,
    state: Path,
    kills: int,
    seed: int,
    longest: float = 0.25,
) -> es.Monitor:
    """Follow a file in processes that are killed at random moments, and then to its end."""
    task = file.with_suffix(".task")
    task.write_bytes(pickle.dumps((given, file, state, kills, seed, longest)))
    subprocess.run([sys.executable, "-c", KILLING, str(task)], check=True)
    monitor = es.Monitor(given, state=state)
    monitor.follow(file, once=True)
    return monitor


def test_killed_three_times_the_estimates_are_the_same_bit_for_bit(
    fit: es.Fit, tmp_path: Path
) -> None:
    file, state = tmp_path / "live.csv", tmp_path / "room.monitor"
    table(4000).to_csv(file, index=False)
    straight = es.Monitor(fit)
    straight.follow(file, once=True)
    monitor = killed_and_taken_up(fit, file, state, 3, 1)
    assert monitor.values == straight.values
    assert monitor.stderr == straight.stderr
    assert monitor.counts == straight.counts
    np.testing.assert_array_equal(monitor.result().rows, straight.result().rows)


def test_a_study_whose_own_data_grow_is_taken_up(tmp_path: Path) -> None:
    """What was worked out from the data at first must not change as they grow."""
    file, state = tmp_path / "live.csv", tmp_path / "room.monitor"
    lines = table(900).to_csv(index=False).splitlines(keepends=True)
    file.write_text("".join(lines[:300]))
    straight = es.Monitor(study(str(file)))
    with es.Monitor(study(str(file)), state=state) as monitor:
        monitor.follow(file, once=True)
    file.write_text("".join(lines))
    with es.Monitor(study(str(file)), state=state) as monitor:
        assert monitor.counts["taken"] == 299
        monitor.follow(file, once=True)
        straight.follow(file, once=True)
        assert monitor.values == straight.values


def test_a_state_of_another_study_is_refused(fit: es.Fit, tmp_path: Path) -> None:
    state = tmp_path / "room.monitor"
    es.Monitor(fit, state=state).close()
    with pytest.raises(EstimicaError, match=r"wild was 6\.0 and is 7\.0"):
        es.Monitor(fit, state=state, wild=7.0)
    other = es.fit(study(table(300)), progress=False)
    with pytest.raises(EstimicaError, match="cannot be taken up"):
        es.Monitor(other, state=state)
    es.Monitor(other, state=state, restart=True).close()
    with es.Monitor(other, state=state), pytest.raises(EstimicaError, match="another monitor"):
        es.Monitor(other, state=state)
    state.write_bytes(b"something else")
    with pytest.raises(EstimicaError, match="not the state of a monitor"):
        es.Monitor(other, state=state)


# --- what it shows --------------------------------------------------------------------------------


def test_a_result_shows_itself_and_is_saved(fit: es.Fit, tmp_path: Path) -> None:
    result = es.Monitor(fit).take(rows(table(900)))
    again = es.load_result(result.save(tmp_path / "room.json"))
    assert again.to_dict() == result.to_dict()
    assert "estimates while data arrive" in repr(result)
    assert list(result.to_frame()["tuner"]) == ["R", "C", "sigma_T", "s"]
    assert len(result.course()) == 300
    low, high = result.band(1)
    assert (low < result.course()["C"]).all()
    assert (high > result.course()["C"]).all()
    assert "Courses" in result.report(tmp_path / "room.html").read_text()
    assert result.plot().data
    assert set(es.Monitor(fit).states()) == {"T"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"memory": 0.0}, "memory 0 is not above 0"),
        ({"wild": 0.5}, "wild 0.5 is not above 1"),
        ({"relearn": 0.5}, "relearn 0.5 is below 1"),
        ({"false_alarm": 1}, "false_alarm 1"),
        ({"drift": {"R": -1.0}}, "drift of 'R'"),
        ({"drift": {"r": 1.0}}, "'r' is not a tuner"),
        ({"wild_run": 0}, "wild_run 0"),
        ({"case": "b"}, "no case 'b'"),
    ],
)
def test_wrong_settings_are_told(fit: es.Fit, settings: dict[str, object], words: str) -> None:
    with pytest.raises(EstimicaError, match=words):
        es.Monitor(fit, **settings)  # type: ignore[arg-type]


def test_a_file_that_is_not_there_yet_is_waited_for(fit: es.Fit, tmp_path: Path) -> None:
    """And said so, as is a file without rows, and one that begins anew."""
    path, told, whole = tmp_path / "live.csv", [], table(660)
    header = "time,T,Ta,Q\n"
    texts = iter(
        [
            header,
            header + whole.iloc[600:630].to_csv(index=False, header=False),
            header + whole.iloc[630:645].to_csv(index=False, header=False),
        ]
    )

    def stop() -> bool:
        text = next(texts, None)
        if text is not None:
            path.write_text(text)
        return text is None

    monitor = es.Monitor(fit)
    monitor.follow(path, poll=0.0, on_news=told.append, stop=stop)
    assert [t.split("' ")[-1].removesuffix("'") for t in told] == [
        "is not there yet",
        "has no rows yet",
        f"reads '{path}",
        "is shorter or another file than before: read from its beginning",
    ]
    assert monitor.counts["taken"] == 45
    path.write_text("time,temperature\n0,1\n1,2\n")
    with pytest.raises(EstimicaError) as error:
        es.Monitor(fit).follow(path, stop=lambda: True)
    assert error.value.code == "I811"
    with pytest.raises(EstimicaError, match="there is no file"):
        es.Monitor(fit).follow(tmp_path / "liv.csv", once=True)
    with pytest.raises(EstimicaError) as error:
        es.Monitor(fit).follow(tmp_path)
    assert error.value.code == "D002"
