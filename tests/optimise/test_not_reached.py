"""What a window ends too early to show is told as such, and never as the penalty of a search.

x = 1 - exp(-k·t) settles within ±0.05 of 1 at ln(20)/k, and rises from 10 to 90 % in ln(9)/k; in a
window of 2 s it settles for k ≥ ln(20)/2 = 1.498 and reaches 90 % for k ≥ ln(10)/2 = 1.151.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import DesignError
from estimica.base.view import Curves, text
from estimica.execute.runs.writer import NoRunWriter
from estimica.optimise.assess.pictures import distributions, maps, parallel, picture, scatter
from estimica.optimise.assess.present import local_table, sensitivity_table
from estimica.optimise.batch import point_from_dict, point_to_dict
from estimica.optimise.criteria.score import CensoredColumn, CriterionInCase, DesignPoint
from estimica.optimise.design import prepare_design
from estimica.optimise.optimum.present import progress_curves, scenario_table
from estimica.optimise.robust import combined
from estimica.study.tables.optimisation import RobustTable

LAG = """model Lag
  parameter Real k = 2;
  parameter Real g = 1;
  Real x(start = 0, fixed = true);
equation
  der(x) = k*(g - x);
end Lag;"""
WINDOW = 2.0
SETTLES, RISES = math.log(20) / WINDOW, math.log(10) / WINDOW


def lag(
    role: str = "minimise", start: float = 2.0, demand: float = 1.0, **settling: Any
) -> es.Study:
    criteria = [
        es.Criterion("settling", "x", kind="settling-time", reference=1.0, band=0.05,
                     demand=demand, unit="s", role=role, **settling),
        es.Criterion("rise", "x", kind="rise-time", reference=1.0, demand=2.0, unit="s"),
        es.Criterion("end", "x", kind="final", demand=2.0, role="watch"),
    ]  # fmt: skip
    return es.Study(
        es.load_model(LAG),
        [es.Tuner("k", start=start, min=0.2, max=8)],
        [es.Case("step", stop=WINDOW)],
        criteria=criteria,
        name="lag",
        solver=es.Solver(rtol=1e-9, atol=1e-11),
    )


def uniform(low: float, high: float) -> dict[str, object]:
    return {"kind": "uniform", "min": low, "max": high}


@pytest.fixture(scope="module")
def scattered() -> es.Assessment:
    return es.montecarlo(
        lag(), draw={"k": uniform(0.5, 3.5)}, samples=400, quantiles=[0.1, 0.5, 0.6, 0.9]
    )


def at(study: es.Study, k: float) -> DesignPoint:
    design = prepare_design(study)
    found = design.at(design.unknowns.coordinates(np.array([k])))
    assert isinstance(found, DesignPoint)
    return found


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def valid(told: dict[str, object]) -> dict[str, Any]:
    """As JSON has it, which knows no NaN and no Infinity."""
    found: dict[str, Any] = json.loads(json.dumps(told, allow_nan=False))
    return found


def test_no_number_of_a_monte_carlo_lies_beyond_the_window(scattered: es.Assessment) -> None:
    k = scattered.samples.values[:, 0]
    settling, rise = scattered.values[:, 0], scattered.values[:, 1]
    assert np.nanmax(settling) <= WINDOW
    assert (np.isnan(settling) == (k < SETTLES)).all()
    assert settling[k > SETTLES] == pytest.approx(math.log(20) / k[k > SETTLES], rel=1e-6)
    assert (np.isnan(rise) == (k < RISES)).all()
    # the rise began at ln(10/9)/k: longer than the rest of the window it is in any case
    late = np.isnan(rise)
    assert scattered.at_least[late, 1] == pytest.approx(WINDOW - math.log(10 / 9) / k[late])
    assert scattered.good.all()
    assert scattered.outcome() == ("done", "400 of 400 samples")


def test_quantiles_count_what_is_not_settled_as_longer_than_all_that_is(
    scattered: es.Assessment,
) -> None:
    k = scattered.samples.values[:, 0]
    exact = np.quantile(math.log(20) / k, [0.1, 0.5, 0.6])  # the censored 33 % lie above
    table = scattered.quantiles([0.1, 0.5, 0.6, 0.9])
    assert table.loc["settling in step"].to_numpy()[:3] == pytest.approx(exact, rel=1e-6)
    assert math.isnan(table.loc["settling in step", 0.9])
    told = valid(scattered.to_dict())
    assert told["quantiles"]["step"]["settling"]["0.5"] == pytest.approx(exact[1], rel=1e-6)
    assert told["quantiles"]["step"]["settling"]["0.9"] is None
    assert told["quantiles_at_least"]["step"] == {
        "settling": {"0.9": WINDOW},
        "rise": {"0.9": pytest.approx(1.9, abs=0.05)},
    }
    own = told["criteria"]["step"]["settling"]
    assert own["not_reached"] == int((k < SETTLES).sum())
    assert own["mean"] is own["sigma"] is None
    assert own["mean_at_least"] == pytest.approx(np.minimum(math.log(20) / k, WINDOW).mean())
    assert sum(v is None for v in own["values"]) == own["not_reached"]
    assert told["criteria"]["step"]["end"]["at_least"] is None


def test_the_probability_is_that_of_demands_which_were_seen_to_hold(
    scattered: es.Assessment,
) -> None:
    k = scattered.samples.values[:, 0]
    share, _ = scattered.probability_satisfied
    assert share == pytest.approx((k >= math.log(20)).mean())  # settling time at most 1 s


def test_the_tables_say_how_many_are_not_settled(scattered: es.Assessment) -> None:
    count = int((scattered.samples.values[:, 0] < SETTLES).sum())
    told = text(scattered.table())
    assert "not settled (> 2)" in " ".join(told.split())
    assert f"settling in step: not settled in {count} of 400 samples." in " ".join(told.split())
    swept = es.sweep(lag(), vary={"k": [0.5, 1.0, 2.0, 4.0]})
    row = swept.table().rows[0]
    assert row[3] == pytest.approx(math.log(20) / 4, rel=1e-6)
    assert row[5] == "not settled (> 2)"
    assert "not settled in 2 of 4 samples" in swept.table().note
    assert swept.best == 3
    none = es.sweep(lag(), vary={"k": [0.5, 0.6]})
    assert none.best is None
    assert "Best" not in none.table().note


def test_a_demand_longer_than_the_window_is_not_satisfied_by_what_does_not_settle() -> None:
    found = es.sweep(lag(demand=50.0), vary={"k": [0.5, 1.0, 2.0]})
    assert found.satisfied.tolist() == [False, False, True]
    assert not at(lag(demand=50.0), 0.5).satisfied()
    assert at(lag(demand=50.0), 2.0).satisfied()


def test_samples_in_a_file_have_an_empty_cell_and_what_is_known(
    scattered: es.Assessment, tmp_path: Path
) -> None:
    path = scattered.write(tmp_path / "samples.csv")
    rows = read(path)
    open_ = [r for r in rows if r["settling in step [s]"] == ""]
    assert len(open_) == int((scattered.samples.values[:, 0] < SETTLES).sum())
    assert {float(r["settling in step, at least [s]"]) for r in open_} == {WINDOW}
    assert all(r["settling in step, at least [s]"] == "" for r in rows if r not in open_)
    assert "end in step, at least" not in rows[0]


def test_pictures_do_not_draw_penalties(scattered: es.Assessment) -> None:
    swept = es.sweep(lag(), vary={"k": [0.5, 1.0, 2.0, 4.0]})
    grid = es.sweep(lag(), vary={"k": [0.5, 2.0, 4.0], "g": [0.98, 1.0, 1.02]})
    shown = [picture(swept, "curves"), scatter(scattered), distributions(scattered)]
    shown += [distributions(scattered, cumulative=True), scatter(scattered, ("settling",))]
    for figure in shown:
        assert isinstance(figure, Curves)
        for panel in figure.panels:
            for curve in panel.curves:
                ends = np.concatenate([curve.time, curve.value]) if figure in shown[2:4] else (
                    curve.value
                )  # fmt: skip
                tops = 400.0 if figure is shown[2] else 3.5
                assert np.nanmax(ends, initial=0.0) <= tops, (figure.title, curve.name)
    assert all(np.nanmax(m.value) <= WINDOW for m in maps(grid))
    assert np.isnan(maps(grid, ("settling",))[0].value[:, 0]).all()
    assert all(np.isfinite(axis.value).all() for axis in parallel(scattered).axes)
    names = {c.name for p in picture(swept, "curves").panels for c in p.curves}  # type: ignore[union-attr]
    assert "settling in step: not settled, above" in names
    share = distributions(scattered, ("settling",), cumulative=True).panels[0]
    assert share.curves[0].value[-1] == pytest.approx(1 - scattered.open[:, 0].mean())
    assert "not settled in" in share.group
    assert "not settled" in scattered.page().sections[1].text


def test_what_has_not_settled_stands_apart_in_clouds_and_lines(scattered: es.Assessment) -> None:
    open_ = scattered.open[:, 0]
    (panel,) = scatter(scattered, ("settling",)).panels
    clouds = {c.name: c.value for c in panel.curves}
    apart = clouds.pop("not reached: no value")
    assert len(apart) == open_.sum()
    assert len(set(apart)) == 1  # a place, no value
    assert apart[0] > 1.05 * max(v.max() for v in clouds.values())
    (axis,) = [a for a in parallel(scattered).axes if a.label.startswith("settling/demand")]
    assert axis.label == f"settling/demand (top: {open_.sum()} not settled)"
    assert len(set(axis.value[open_])) == 1
    assert axis.value[open_].min() > 1.05 * axis.value[~open_].max()


def test_effects_say_what_became_of_samples_that_do_not_settle(scattered: es.Assessment) -> None:
    correlations = scattered.effects_table()
    assert correlations.rows[0][2] == pytest.approx(-1, abs=0.1)
    # the regression is one over the samples that settle
    own = ~scattered.open[:, 0]
    k, t = scattered.samples.values[own, 0], scattered.values[own, 0]
    assert correlations.rows[0][4] == pytest.approx(np.corrcoef(k, t)[0, 1] ** 2)
    assert "what is not reached" in correlations.note
    single = es.sweep(lag(), vary={"k": [0.5, 4.0]}, design="one-at-a-time")
    row = single.effects_table().rows[0]
    assert row[2] == pytest.approx(math.log(20) / 4 - math.log(20) / 2, rel=1e-6)
    assert row[3] == f"> {WINDOW - math.log(20) / 2:.4g}"
    effects = valid(single.to_dict())["effects"]
    assert effects["largest"]["step"]["settling"]["k"] is None
    assert effects["largest_at_least"]["step"]["settling"]["k"] == pytest.approx(0.5021, abs=1e-4)
    grid = es.sweep(lag(), vary={"k": [0.5, 2.0], "g": [0.99, 1.0]})
    assert math.isnan(grid.effects_table().rows[0][2])  # type: ignore[arg-type]
    assert math.isfinite(grid.effects_table().rows[-1][2])  # type: ignore[arg-type]


def test_local_sensitivities_are_none_of_a_penalty() -> None:
    found = es.sweep(lag(start=1.0), vary={"k": [0.9, 1.0, 1.1]})
    assert found.local is not None
    assert np.isnan(found.local.derivatives[:2]).all()
    assert found.local.derivatives[2] == pytest.approx([2 * math.exp(-2)], rel=1e-6)
    assert "settling in step is not settled there" in local_table(found).note
    assert valid(found.to_dict())["local_sensitivity"]["relative"]["step"]["settling"]["k"] is None
    groups = [name for name, _ in picture(found, "local").groups]  # type: ignore[union-attr]
    assert groups == ["end in step"]


def test_global_indices_leave_out_what_does_not_settle_and_say_so() -> None:
    draw = {"k": uniform(1.3, 3.5), "g": uniform(0.99, 1.01)}
    found = es.montecarlo(lag(), draw=draw, samples=200, sensitivity="morris")
    own = found.sensitivity
    assert own is not None
    assert own.lost == 0
    assert own.open[0] > 0
    assert own.open[2] == 0
    # an effect is a difference of settling times within the window, for a move through the range
    assert own.index("mu_star").value[0].max() <= 1.5 * WINDOW
    told = text(sensitivity_table(found))
    assert f"not settled in a sample of {own.open[0]} of them" in " ".join(told.split())
    assert valid(found.to_dict())["sensitivity"]["not_reached"]["settling in step"] == own.open[0]
    seldom = es.montecarlo(
        lag(), draw={"k": uniform(0.3, 1.4)}, samples=64, sensitivity="sobol"
    ).sensitivity
    assert seldom is not None
    assert np.isnan(seldom.index("ST").value[0]).all()
    assert seldom.index("ST").value[2] == pytest.approx([1.0], abs=0.1)


@pytest.mark.parametrize("role", ["at-most", "equal"])
def test_a_limit_that_its_window_cannot_show_is_refused(role: str) -> None:
    with pytest.raises(DesignError, match="O095"):
        es.optimise(lag(role, demand=3.0))
    with pytest.raises(DesignError, match="O095"):
        es.sweep(lag(role, demand=3.0), vary={"k": [1.0]})
    assert es.optimise(lag("at-most", demand=2.0, start=0.5)).satisfied


# --- designs --------------------------------------------------------------------------------------


def test_a_design_that_begins_unsettled_says_so_before_and_after(tmp_path: Path) -> None:
    study = lag(start=0.5)
    found = es.optimise(study, max_evaluations=1)
    row = found.criteria_table().rows[0]
    assert row[4] == "not settled (> 2)"
    assert row[6] == "> 2"
    told = valid(found.to_dict())
    own = told["criteria"]["step"]["settling"]
    assert own["before"] is None
    assert own["before_at_least"] == WINDOW
    assert own["value"] is own["weighted"] is None
    assert own["holds"] is False
    assert told["aggregate"]["value"] is told["aggregate"]["largest"] is None
    assert told["aggregate"]["at_least"] == WINDOW
    assert told["iterations"][0]["not_reached"] == ["settling in step", "rise in step"]
    assert "settling in step (not settled within 2 s)" in found.table().note
    assert not found.satisfied
    assert math.isnan(found.alpha)
    found.write(tmp_path / "design.csv")
    rows = read(tmp_path / "design.csv")
    assert rows[1]["after"] == ">2.0"
    assert math.isnan(found.criteria.loc[0, "value"])
    assert found.criteria.loc[0, "at_least"] == WINDOW
    page = found.page()
    assert "not settled" in page.sections[1].text


def test_the_search_still_finds_its_way_from_there() -> None:
    found = es.optimise(lag(start=0.5))
    assert found.best.tuners == pytest.approx([8.0], rel=1e-3)
    assert found.alpha == pytest.approx(math.log(20) / 8, rel=1e-3)
    drawn = progress_curves(found).panels[0].curves
    assert max(np.nanmax(c.value) for c in drawn) <= WINDOW
    assert any("not settled, above" in c.name for c in drawn)


@pytest.mark.parametrize(
    ("measure", "least"),
    [("worst", 2.0), ("mean", (2.0 + 2.0 + math.log(20) / 4) / 3), ("quantile", 2.0)],
)
def test_a_robust_design_counts_scenarios_that_do_not_settle(measure: str, least: float) -> None:
    points = [at(lag(), k) for k in (0.5, 1.0, 4.0)]
    table = RobustTable(uncertain={"g": (1.0,)}, measure=measure, quantile=0.5)  # type: ignore[arg-type]
    one = combined(points, table)
    assert one.scores[0].value is None
    assert one.scores[0].at_least == pytest.approx(least, rel=1e-6)
    assert one.scores[2].reached
    assert np.isfinite(one.weighted).all()  # a search needs numbers
    if one.worst is not None:
        assert one.worst.reached.reshape(3, 3)[:, 0].tolist() == [False, False, True]


def test_scenarios_that_do_not_settle_are_told_as_such() -> None:
    robust = {"uncertain": {"g": [0.9, 1.0]}}  # with 0.9 it ends 0.1 below the reference
    found = es.optimise(lag(demand=1.8), robust=robust, max_evaluations=2)
    told = valid(found.to_dict())
    assert told["scenarios"][0]["criteria"]["settling in step"] is None
    assert told["scenarios"][0]["at_least"]["settling in step"] == WINDOW
    assert told["scenarios"][1]["at_least"] == {}
    table = scenario_table(found)
    assert table.note.startswith("settling in step: not settled in 1 of 2 scenarios")
    assert table.rows[0][6] == "not settled (> 2)"
    assert table.rows[0][7] == 0.5


def test_a_design_comes_back_from_a_run_as_it_was() -> None:
    design = prepare_design(lag())
    for k in (0.5, 4.0):
        point = at(lag(), k)
        again = point_from_dict(design, point.q, valid(point_to_dict(point)))
        assert isinstance(again, DesignPoint)
        assert again.scores == point.scores


def test_notes_of_older_runs_which_do_not_tell_what_was_reached_are_not_taken_up() -> None:
    class Older(NoRunWriter):
        def checkpoints(self) -> dict[str, Any]:
            return {"samples 00000000": {"value": [{"values": [16.4, 1.0, 1.0]}]}}

    found = es.sweep(lag(), vary={"k": [0.5]}, run=Older())
    assert np.isnan(found.values[0, 0])
    assert found.at_least[0, 0] == WINDOW


def test_a_front_leaves_out_designs_whose_criteria_are_not_reached() -> None:
    study = lag(start=0.3)
    tame = es.Criterion("speed", "k", demand=1.0)
    study = study.with_(criteria=[study.criteria[0], tame])
    found = es.pareto(study, points=6)
    assert found.left_out > 0
    assert found.values[:, 0].max() <= WINDOW
    assert "left out." in found.table().note
    assert valid(found.to_dict())["not_reached"] == found.left_out


# --- quantiles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.0, 0.05, 0.35, 0.5, 0.6, 0.95, 1.0])
def test_censored_quantiles_bracket_those_of_the_whole(level: float) -> None:
    whole = np.sort(np.random.default_rng(1).exponential(size=37))
    for end in (0.2, 0.7, 1.5, 99.0):
        place = CriterionInCase(es.Criterion("t", "x", kind="settling-time"), "")
        open_ = whole > end
        own = CensoredColumn(
            place, np.where(open_, np.nan, whole), np.where(open_, end, np.nan)
        ).quantile(level)
        exact = np.quantile(whole, level)
        if own.value is not None:
            assert own.value == pytest.approx(exact, rel=1e-12)
        else:
            assert own.at_least is not None
            assert own.at_least <= min(exact, end) + 1e-12
            assert exact > np.quantile(np.where(open_, end, whole), level) - 1e-12
