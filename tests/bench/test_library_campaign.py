"""The campaign over a library: what counts as agreement, and what becomes of each kind of class."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench" / "library_campaign.py"

TIMES = np.linspace(0.0, 10.0, 1001)  # an output every 0.01
INTERVAL = 0.01


@pytest.fixture
def rule(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import campaign.comparison as comparison

    return comparison


@pytest.fixture
def outcomes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import campaign.outcome as outcome
    import campaign.page as page
    import campaign.summary as summary

    return outcome, summary, page


def step(at: float, times: np.ndarray = TIMES) -> np.ndarray:
    return np.where(times >= at, 1.0, 0.0)


def share(rule, reference, ours, *, times=TIMES, late_events=True) -> float:
    curve = rule.Curve.of(times, reference)
    interval = rule.output_interval(times)
    sampled = ours(curve.times) if callable(ours) else ours
    return rule.distance("y", curve, sampled, interval, late_events=late_events).share


def with_event(at: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a step as tools write them: the time of the event stands there twice."""
    times = np.sort(np.append(TIMES, [at, at]))
    values = step(at, times)
    values[np.searchsorted(times, at)] = 0.0
    return times, values


# -- the rule ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shift", "agrees"), [(0.0, True), (0.0099, True), (-0.0099, True), (0.021, False), (-0.021, False)])  # fmt: skip
def test_a_step_may_be_off_by_one_interval_and_not_more(rule, shift, agrees):
    assert (share(rule, step(5.0), step(5.0 + shift)) <= 1) is agrees


@pytest.mark.parametrize(("shift", "agrees"), [(0.008, True), (0.018, True), (-0.018, True), (0.035, False), (-0.035, False)])  # fmt: skip
def test_a_jump_that_the_table_marks_may_be_off_by_a_share_of_the_run(rule, shift, agrees):
    times, values = with_event(5.0033)  # 1/500 of the run is 0.02
    found = share(rule, values, lambda t: step(5.0033 + shift, t), times=times)
    assert (found <= 1) is agrees


def test_late_jumps_can_be_told_from_others(rule):
    times, values = with_event(5.0033)
    late = lambda t: step(5.0213, t)  # noqa: E731
    assert share(rule, values, late, times=times) <= 1
    assert share(rule, values, late, times=times, late_events=False) > 1


@pytest.mark.parametrize(("factor", "agrees"), [(1.009, True), (0.991, True), (1.011, False), (0.989, False)])  # fmt: skip
def test_the_amplitude_may_be_off_by_one_per_cent_of_the_range(rule, factor, agrees):
    # a slope, where neighbours differ by a thousandth of the range; seen at its end
    ramp = np.clip(TIMES / 5, 0, 1)
    assert (share(rule, ramp, factor * ramp) <= 1) is agrees


def test_an_offset_is_measured_by_the_range_not_by_the_value(rule):
    hot = 300.0 + np.sin(TIMES)  # a range of 2
    assert share(rule, hot, hot + 0.019) <= 1
    # 0.03 is 1.5 % of the range, and at the crests no neighbour is nearer
    assert share(rule, hot, hot + 0.03) == pytest.approx(1.5, rel=0.01)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_deviates(rule, bad):
    ours = np.sin(TIMES)
    ours[700] = bad
    found = rule.distance("y", rule.Curve.of(TIMES, np.sin(TIMES)), ours, INTERVAL)
    assert not found.agrees
    assert found.time == pytest.approx(7.0)


def test_a_curve_that_stands_still_is_not_one_that_goes_to_and_fro(rule):
    fast = np.resize([0.0, 1.0], len(TIMES))  # every window of it holds 0 and 1
    assert share(rule, fast, np.zeros_like(TIMES)) > 1
    assert share(rule, fast, np.full_like(TIMES, 0.5)) > 1
    assert share(rule, fast, 1 - fast) <= 1  # late by one interval


def test_pulses_have_to_overlap_though_jumps_may_be_late(rule):
    # pulses of 0.03 every 0.06: 1/500 of the run is 0.02, more than a quarter of a pulse
    edges = np.arange(1.0, 9.0, 0.03) + 0.0033
    times = np.sort(np.concatenate([TIMES, edges, edges]))
    up = lambda t, late: np.searchsorted(edges + late, t, side="right") % 2  # noqa: E731
    values = up(times, 0.0).astype(float)
    values[np.searchsorted(times, edges)] = 1 - values[np.searchsorted(times, edges) + 1]
    assert share(rule, values, lambda t: up(t, 0.007).astype(float), times=times) <= 1
    assert share(rule, values, lambda t: up(t, 0.03).astype(float), times=times) > 1


def test_constants_are_compared_by_their_own_size(rule):
    still = np.full_like(TIMES, 1e5)
    assert share(rule, still, still + 0.9) <= 1  # 1e-5 of it
    assert share(rule, still, still + 1.1) > 1
    nothing = np.zeros_like(TIMES)
    assert share(rule, nothing, nothing + 0.9e-8) <= 1
    assert share(rule, nothing, nothing + 1.1e-8) > 1


def test_an_instant_that_only_the_table_shows_is_no_deviation(rule):
    times = np.sort(np.append(TIMES, [5.0, 5.0]))  # three rows at 5, the middle one on
    values = np.zeros_like(times)
    values[np.searchsorted(times, 5.0) + 1] = 1.0
    assert share(rule, values, lambda t: np.zeros_like(t), times=times) <= 1


def test_windows_are_those_of_a_plain_loop(rule):
    random = np.random.default_rng(1)
    times = np.sort(random.uniform(0, 1, 300))
    values, reach = random.normal(size=300), random.uniform(0, 0.1, 300)
    windows = rule.Windows.around(times, reach)
    far = reach * (1 + rule.ROUNDED)
    expected = [values[np.abs(times - t) <= r].max() for t, r in zip(times, far, strict=True)]
    assert windows.highest(values).tolist() == expected
    assert windows.lowest(-values).tolist() == [-v for v in expected]


def test_the_interval_is_that_of_regular_rows(rule):
    assert rule.output_interval(with_event(5.0033)[0]) == pytest.approx(INTERVAL)
    assert rule.output_interval(np.zeros(3)) == 0.0


# -- summaries -----------------------------------------------------------------------------------


def test_messages_that_differ_in_names_numbers_and_places_are_one_cause(outcomes):
    outcome, summary, _ = outcomes
    first = outcome.Outcome("A.B", "refused", "S1", "equation 'x = 1' (in a, /tmp/l/M 4.1/A.mo:7): no 'x'; do")  # fmt: skip
    second = outcome.Outcome("A.C", "refused", "S1", "equation 'y = 2' (in a, /opt/A.mo:19): no 'zz'; try")  # fmt: skip
    assert summary.cause(first) == summary.cause(second)
    assert "/" not in summary.cause(first)
    clock = outcome.Outcome("A.D", "refused", "U1", "when 'a' (P.mo:12): the built-in 'Clock' is not supported; use")  # fmt: skip
    assert summary.cause(clock) == "refused U1: when '…': the built-in Clock is not supported"


def test_changes_show_first_what_agreed_before(outcomes):
    outcome, summary, _ = outcomes
    of = lambda **v: {n: outcome.Outcome(n, verdict) for n, verdict in v.items()}  # noqa: E731
    lines = list(summary.changes(of(a="agrees", b="refused", c="stops", d="agrees"), of(a="stops", b="agrees", c="refused", d="agrees")))  # fmt: skip
    assert lines[0] == "agreed before, not now: 1"
    assert "a: agrees → stops" in lines[1]
    assert lines[-1].startswith("1 of 4")


def test_the_page_holds_every_class_once_and_no_place_of_this_machine(outcomes, tmp_path):
    outcome, _, page = outcomes
    found = {
        "L.P.Examples.A": outcome.Outcome("L.P.Examples.A", "agrees", load_seconds=0.5, equations=7),
        "L.P.Examples.B": outcome.Outcome("L.P.Examples.B", "refused", "S1", "class 'B' (/home/me/B.mo): no"),
        "L.P.Examples.C": outcome.Outcome("L.P.Examples.C", "deviates", message="x|y"),
    }  # fmt: skip
    page.write_page(tmp_path / "p.md", found, {}, {"L.P.Examples.C": "its start is not given"})
    text = (tmp_path / "p.md").read_text(encoding="utf-8")
    assert text.count("| Examples.") == 3
    assert "/home" not in text
    assert "its start is not given" in text
    assert "1 of 3 agree" in text


# -- the script ----------------------------------------------------------------------------------


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=600
    )


LIBRARY = """package L
  model Decay Real x(start=1, fixed=true); Real y = 2*x; equation der(x) = -x;
    annotation(experiment(StopTime=2)); end Decay;
  model Wrong Real x(start=1, fixed=true); equation der(x) = -1.1*x; end Wrong;
  model Poor Real x(start=1, fixed=true); equation der(x) = -x; end Poor;
  model Bad Real x; equation x = nothing; end Bad;
  model Ends Real x(start=1, fixed=true); equation der(x) = x^2; end Ends;
  model Without Real x = 1; end Without;
end L;
"""


def references(folder: Path, ends: float = 2.0) -> None:
    t = np.linspace(0, ends, 201)
    for name in ("Decay", "Wrong", "Poor", "Bad", "Ends", "Without"):
        place = folder / "L" / name
        place.mkdir(parents=True)
        (place / "comparisonSignals.txt").write_text("time\nx\n// x.not\ny\nz\n", encoding="utf-8")
        columns = {"time": t, "x": np.exp(-t)}
        if name in ("Decay", "Poor"):
            columns["y"] = 2 * np.exp(-t)
        if name != "Without":
            table = np.column_stack(list(columns.values()))
            head = ",".join(f'"{n}"' for n in columns)
            np.savetxt(place / f"{name}.csv", table, delimiter=",", header=head, comments="")


@pytest.mark.slow
def test_every_class_gets_its_verdict(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "L.mo").write_text(LIBRARY, encoding="utf-8")
    references(tmp_path / "references")
    out, table = tmp_path / "results.json", tmp_path / "page.md"
    common = (str(tmp_path / "references"), "--library", str(tmp_path / "library"), "--out", str(out))  # fmt: skip
    done = run(*common, "--table", str(table), "--jobs", "1")
    assert done.returncode == 0, done.stderr
    found = {o["name"]: o for o in json.loads(out.read_text(encoding="utf-8"))["outcomes"]}
    assert {n: o["verdict"] for n, o in found.items()} == {
        "L.Decay": "agrees",
        "L.Wrong": "deviates",
        "L.Poor": "missing signals",
        "L.Bad": "refused",
        "L.Ends": "stops",
        "L.Without": "no reference",
    }
    assert found["L.Decay"]["states"] == 1
    assert found["L.Poor"]["missing"] == ["y"]
    assert found["L.Wrong"]["worst"]["signal"] == "x"
    assert found["L.Ends"]["stopped_at"] == pytest.approx(1.0, abs=1e-3)  # x = 1/(1 - t)
    assert "| Decay |" in table.read_text(encoding="utf-8")
    # nothing is left to do, and nothing has changed
    done = run(*common, "--resume", "--against", str(out))
    assert done.returncode == 0, done.stderr
    assert "[1/" not in done.stdout
    assert "6 of 6 classes" in done.stdout
    # too little time is a verdict as well
    done = run(*common, "--resume", "--again", "agrees", "--load-limit", "0.0001", "--against", str(out))  # fmt: skip
    assert "time limit" in done.stdout


def test_a_folder_that_is_not_there_is_named(tmp_path):
    done = run(str(tmp_path / "none"), "--out", str(tmp_path / "o.json"))
    assert done.returncode == 2
    assert "none'; give one with reference results" in done.stderr
