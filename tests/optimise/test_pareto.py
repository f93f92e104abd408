"""Pareto fronts: test problems of Zitzler, Deb and Thiele with known fronts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.optimise.formula_studies import formula_study

import estimica as es
from estimica.execute.runs.record import Status
from estimica.execute.runs.store import Store
from estimica.optimise.pareto.epsilon_constraints import BESIDE
from estimica.optimise.pareto.result import not_dominated, well_spread
from estimica.optimise.pareto.run import FrontProgress


def zdt(second: str, count: int = 10, low: float = 0.0) -> es.Study:
    """x1 against g·h(x1/g), g = 1 on the front."""
    names = [f"x{k}" for k in range(1, count + 1)]
    g = f"(1 + 9*({' + '.join(names[1:])})/{count - 1})"
    criteria = [es.Criterion("f1", "x1"), es.Criterion("f2", second.replace("g", g))]
    return formula_study({n: (0.5, low if n == "x1" else 0.0, 1.0) for n in names}, criteria)


ZDT1 = "g*(1 - sqrt(x1/g))"  # a front that bends inwards
ZDT2 = "g*(1 - (x1/g)^2)"  # a front that bends outwards: no weighted sum finds its middle


def test_epsilon_constraints_find_the_front_of_zdt2() -> None:
    found = es.pareto(zdt(ZDT2), points=11)
    f1, f2 = found.values.T
    assert found.outcome.ok
    assert len(found.designs) >= 10
    assert f2 == pytest.approx(1 - f1**2, abs=1e-6)
    assert (f1.min(), f1.max()) == pytest.approx((0, 1), abs=5e-3)
    assert np.diff(np.sort(f2)).max() < 0.2
    assert found.knee is None
    assert found.evaluations < 150


def test_epsilon_constraints_find_the_front_of_zdt1_and_its_knee() -> None:
    found = es.pareto(zdt(ZDT1, low=1e-4), points=9)
    f1, f2 = found.values.T
    assert f2 == pytest.approx(1 - np.sqrt(f1), abs=1e-5)
    assert found.knee is not None  # where the slope is that of the line between the ends
    assert found.values[found.knee] == pytest.approx((0.25, 0.5), abs=0.1)


def test_nsga2_comes_near_the_front_of_zdt1() -> None:
    told: list[FrontProgress] = []
    found = es.pareto(
        zdt(ZDT1, 5), method="nsga2", points=15, population=32, max_iterations=80,
        progress=told.append,
    )  # fmt: skip
    f1, f2 = found.values.T
    assert len(found.designs) == 15
    assert np.abs(f2 - (1 - np.sqrt(f1))).max() < 0.05
    assert f1.max() - f1.min() > 0.8
    assert told[-1].evaluations == found.evaluations
    assert found.values[found.knee] == pytest.approx((0.25, 0.5), abs=0.12)


def test_three_criteria_have_a_front_between_their_minima(tmp_path: Path) -> None:
    criteria = [
        es.Criterion("a", "(x - 1)^2 + y^2"),
        es.Criterion("b", "(x + 1)^2 + y^2"),
        es.Criterion("c", "x^2 + (y - 1)^2"),
    ]
    found = es.pareto(formula_study({"x": 0.3, "y": 0.3}, criteria), points=13)
    points = np.array([d.point.tuners for d in found.designs])
    assert len(points) >= 8
    x, y = points.T
    assert (y >= -1e-3).all()
    assert (np.abs(x) + y <= 1 + 1e-3).all()  # within the triangle of the three minima
    assert len(found.plot().data) >= 3
    page = found.report(tmp_path / "front.html").read_text(encoding="utf-8")
    assert "Front of formula" in page


def test_a_limit_stays_a_limit_along_the_front() -> None:
    criteria = [
        es.Criterion("a", "(x - 1)^2"),
        es.Criterion("b", "(x + 1)^2"),
        es.Criterion("limit", "x + 1", role="at-most"),
    ]
    found = es.pareto(formula_study({"x": -0.5}, criteria), points=6)
    assert all(float(d.point.tuners[0]) <= 1e-6 for d in found.designs)


def test_rows_that_others_dominate_are_dropped_and_the_rest_thinned() -> None:
    values = np.array([[1, 3], [2, 2], [3, 1], [3, 3], [2, 2], [2, 2.5]], float)
    assert not_dominated(values) == [0, 1, 2]
    line = np.column_stack([np.linspace(0, 1, 101), np.linspace(1, 0, 101)])
    chosen = well_spread(line, 5)
    assert {0, 100} <= set(chosen)
    assert len(chosen) == 5
    assert np.diff(chosen).max() <= 51


def test_a_front_is_a_table_and_an_object(tmp_path: Path) -> None:
    found = es.pareto(zdt(ZDT2, 2), points=5)
    frame = found.frame
    assert list(frame.columns) == ["x1", "x2", "f1", "f2", "satisfied", "knee"]
    lines = found.write(tmp_path / "front.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(found.designs)
    plain = found.to_dict()
    assert plain["criteria"] == ["f1", "f2"]
    assert len(plain["front"]) == len(found.designs)  # type: ignore[arg-type]


def test_a_front_ends_with_the_designs_that_it_may_simulate() -> None:
    found = es.pareto(zdt(ZDT2), points=11, max_evaluations=20)
    assert (found.outcome.status, found.evaluations) == ("evaluation limit", 20)
    assert found.outcome.message == "20 designs were simulated"


@pytest.mark.parametrize("method", ["epsilon", "nsga2"])
def test_an_interrupted_front_is_taken_up_where_it_ended(tmp_path: Path, method: str) -> None:
    study = zdt(ZDT2, 3)
    settings = {"method": method, "points": 6, "population": 8, "max_iterations": 10}
    whole = es.pareto(study, **settings)  # type: ignore[arg-type]
    store = Store(tmp_path / "runs.sqlite")
    first = store.begin("optimise", name="zdt", study="", settings={})

    def stop(p: FrontProgress) -> None:
        if p.evaluations > whole.evaluations // 2:
            raise KeyboardInterrupt

    with first as writer:
        part = es.pareto(study, run=writer, progress=stop, **settings)  # type: ignore[arg-type]
        writer.finish(Status.INTERRUPTED)
    assert part.outcome.status == "interrupted"
    with store.resume(first.id) as writer:
        noted = len(writer.checkpoints())
        again = es.pareto(study, run=writer, **settings)  # type: ignore[arg-type]
    assert noted >= 3
    assert again.values == pytest.approx(whole.values, rel=1e-12)
    assert again.evaluations == whole.evaluations
    assert again.simulations < whole.simulations


@pytest.mark.parametrize("method", ["epsilon", "nsga2"])
@pytest.mark.parametrize("starts", [1, 3])
def test_a_front_within_limits_that_nothing_reaches_is_empty_and_says_so(
    tmp_path: Path, method: str, starts: int
) -> None:
    criteria = [
        es.Criterion("f", "x^2"),
        es.Criterion("g", "(x - 2)^2"),
        es.Criterion("never", "1 + x^2", demand=0.5, role="at-most"),
    ]
    study = formula_study({"x": 0.3}, criteria)
    found = es.pareto(
        study, ["f", "g"], method=method, points=5, population=8, max_iterations=3, starts=starts
    )
    assert found.outcome.status == "infeasible"
    assert found.outcome.message.startswith("the limits cannot be met: 'never'")
    assert found.designs == ()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["front"] == []
    assert "0 designs" in str(found)
    found.report(tmp_path / "front.html")
    found.write(tmp_path / "front.csv")


@pytest.mark.parametrize(
    ("settings", "tried"),
    [
        ({}, "from 8 starts"),
        ({"starts": 1}, "from 1 start"),
        ({"method": "nsga2", "population": 8, "max_iterations": 3}, r"in any of \d+ designs"),
    ],
)
def test_an_empty_front_claims_no_more_than_was_tried(
    settings: dict[str, object], tried: str
) -> None:
    """A limit that holds in a spot which no search finds: it can be met."""
    criteria = [
        es.Criterion("f", "x^2"),
        es.Criterion("g", "(x - 2)^2"),
        es.Criterion("spot", "2 - exp(-((x - 0.777)*1e6)^2)", demand=1.5, role="at-most"),
    ]
    study = formula_study({"x": (0.3, 0.0, 3.0)}, criteria)
    found = es.pareto(study, ["f", "g"], points=4, **settings)
    assert found.outcome.status == "not met"
    assert re.match(f"the limits were not met {tried}; ease a demand", found.outcome.message)
    assert not found.outcome.ok


def test_the_ends_of_a_front_are_searched_from_several_starts() -> None:
    """f has a valley at 4.5 where it is 0, and one at the start where it is not."""
    criteria = [
        es.Criterion("f", "0.02*(x - 4.5)^2 + 0.5*(1 - cos(2*pi*(x - 4.5)))", demand=1.0),
        es.Criterion("g", "(x - 4.6)^2 + 0.1", demand=1.0),
    ]
    study = formula_study({"x": (0.6, 0.0, 6.0)}, criteria)
    found = es.pareto(study, ["f", "g"], points=4)
    least = min(float(d.weighted[0]) for d in found.designs)
    assert least == pytest.approx(0.0, abs=1e-3)
    assert found.outcome.message.endswith("its ends from 8 starts")


def test_a_criterion_of_the_front_is_no_limit_of_it() -> None:
    criteria = [
        es.Criterion("near", "(x - 2)^2"),
        es.Criterion("small", "x", demand=1.0, role="at-most"),
    ]
    found = es.pareto(formula_study({"x": (0.3, 0.0, 3.0)}, criteria), ["near", "small"], points=5)
    tuners = np.array([d.point.tuners[0] for d in found.designs])
    given_away = np.sqrt(BESIDE * 4)  # of near, whose range is 4, at its end of the front
    assert (tuners.min(), tuners.max()) == pytest.approx((0.0, 2.0), abs=given_away + 1e-4)
    assert found.values[:, 0] == pytest.approx((tuners - 2) ** 2)
    assert [d.point.satisfied() for d in found.designs] == [
        bool(x <= 1 + 1e-6 and (x - 2) ** 2 <= 1 + 1e-6) for x in tuners
    ]
