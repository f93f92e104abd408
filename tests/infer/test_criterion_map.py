"""The criterion over two tuners: valleys, holes, eigen-analysis."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import EXACT, curve, rc_table

from estimica.base.errors import FitError
from estimica.estimate.run.fit import fit
from estimica.infer.criterion_map.result import CriterionMap
from estimica.infer.criterion_map.run import criterion_map
from estimica.simulate.load import load_model
from estimica.study.case import Case, OutputColumn
from estimica.study.estimation import Estimation
from estimica.study.study import Study
from estimica.study.tuner import Tuner

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
X = np.linspace(0, 1, 20)


def line_study() -> Study:
    y = 1 + 2 * X + 0.1 * np.random.default_rng(0).standard_normal(20)
    return curve("a + b*x", X, y, {"a": 0.5, "b": 0.5})


# --- the arm of the Furuta pendulum --------------------------------------------------------------


def furuta_study() -> Study:
    """The pendulum let go from the horizontal; the data are the model's own, for 5 s."""
    model = load_model(EXAMPLES / "furuta_pendulum" / "FurutaArm.mo", libraries=[EXAMPLES])
    time = np.linspace(0, 5, 501)
    begun = {"theta": np.pi / 2}
    run = model.simulate(time, {"tau": 0.0}, start=begun, outputs=["phi", "theta"], options=EXACT)
    table = pd.DataFrame({"time": time, "phi": run.value("phi"), "theta": run.value("theta")})
    outputs = {n: OutputColumn(n, weight=1.0) for n in ("phi", "theta")}
    case = Case("horizontal", table, inputs={"tau": 0.0}, outputs=outputs, fix=begun)
    return Study(model, [Tuner("J_c", start=0.0014), Tuner("m_arm", start=0.165)], [case], "oe")


@pytest.mark.parametrize("kind", ["gauss-newton", "differences"])
def test_steep_direction_of_the_furuta_arm_is_its_inertia_about_the_axis(kind: str) -> None:
    found = criterion_map(furuta_study(), "J_c", "m_arm", points=5, at_start=True, hessian=kind)
    steep = found.eigenvectors[:, 0]
    assert steep[1] / steep[0] == pytest.approx(0.1225**2, abs=1e-3 * 0.1225**2)
    assert steep == pytest.approx([0.99989, 0.01501], abs=1e-3)
    assert abs(found.eigenvalues[1]) < 1e-5 * found.eigenvalues[0]
    assert "along which J_c + 0.01501·m_arm keeps its value" in found.text


def test_the_furuta_map_has_a_valley_and_is_steeper_towards_small_inertia() -> None:
    step = 2e-4  # of J_c; the mass goes in steps that do the same to the inertia about the axis
    mass = 5 * step / 0.1225**2
    ranges = {"J_c": (0.0004, 0.0024), "m_arm": (0.165 - mass, 0.165 + mass)}
    found = criterion_map(furuta_study(), "J_c", "m_arm", points=11, ranges=ranges, at_start=True)
    at_inertia = [np.diag(found.cost[::-1], k) for k in range(-8, 9)]
    for costs in at_inertia:  # the cost is a function of the inertia alone
        assert np.ptp(costs) < 1e-4 * max(costs.max(), 1.0)
    means = np.array([c.mean() for c in at_inertia])
    assert np.argmin(means) == 8  # the nominal inertia, all along the valley
    assert means[8] < 1e-8 * means[9]
    assert means[6] > means[10]


# --- closed forms --------------------------------------------------------------------------------


def test_costs_and_hessian_of_a_straight_line_are_those_of_algebra() -> None:
    found = criterion_map(fit(line_study()), "a", "b", points=4)
    y = line_study().cases[0].data.column("y")  # type: ignore[attr-defined]
    for i, b in enumerate(found.y):
        for j, a in enumerate(found.x):
            assert found.cost[i, j] == pytest.approx(np.sum((a + b * X - y) ** 2), rel=1e-9)
    A = np.stack([np.ones(20), X], axis=1)
    assert found.hessian == pytest.approx(2 * A.T @ A, rel=1e-9)


@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_differences_of_the_gradient_give_the_true_hessian(criterion: str) -> None:
    y = 2 * np.exp(-1.5 * X) + 0.1 * np.random.default_rng(3).standard_normal(20)
    study = curve("a*exp(-b*x)", X, y, {"a": 1.0, "b": 1.0}, Estimation(criterion=criterion))
    estimate = fit(study)
    found = criterion_map(estimate, "a", "b", points=2, hessian="differences")

    def cost(a: float, b: float) -> float:
        square = float(np.sum((a * np.exp(-b * X) - y) ** 2))
        return square if criterion == "oe" else 20 * np.log(square / 20) + 20

    (a, b), h = estimate.values, 1e-4
    expected = np.array(
        [
            [cost(a + h, b) - 2 * cost(a, b) + cost(a - h, b), 0],
            [0, cost(a, b + h) - 2 * cost(a, b) + cost(a, b - h)],
        ]
    )
    mixed = cost(a + h, b + h) - cost(a + h, b - h) - cost(a - h, b + h) + cost(a - h, b - h)
    expected[0, 1] = expected[1, 0] = mixed / 4
    assert found.hessian == pytest.approx(expected / h**2, rel=1e-4)


def test_refitted_costs_are_the_lowest_over_the_other_unknowns() -> None:
    y = 1 + 2 * X - X**2 + 0.1 * np.random.default_rng(1).standard_normal(20)
    estimate = fit(curve("a + b*x + c*x^2", X, y, {"a": 0.5, "b": 0.5, "c": 0.1}))
    held = criterion_map(estimate, "a", "b", points=3)
    adapted = criterion_map(estimate, "a", "b", points=3, refit=True)
    c = ((y - adapted.x[0] - adapted.y[0] * X) @ X**2) / np.sum(X**4)
    best = np.sum((adapted.x[0] + adapted.y[0] * X + c * X**2 - y) ** 2)
    assert adapted.cost[0, 0] == pytest.approx(best, rel=1e-7)
    assert (adapted.cost <= held.cost * (1 + 1e-9)).all()
    A = np.stack([np.ones(20), X], axis=1)
    z = (X**2)[:, None]
    rest = A - z @ np.linalg.lstsq(z, A, rcond=None)[0]
    assert adapted.hessian == pytest.approx(2 * rest.T @ rest, rel=1e-6)


def test_a_valley_of_a_product_is_seen_in_relative_changes() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    tuners = [Tuner("R", start=2.0, scale="log"), Tuner("C", start=1.0, scale="log")]
    found = criterion_map(Study(model, tuners, [case]), "R", "C", points=7)
    assert np.diff(np.log(found.x)) == pytest.approx(np.log(found.x[1] / found.x[0]))
    assert found.ratio < 1e-8
    assert found.valley[0] == pytest.approx(-found.valley[1], rel=1e-4)
    assert found.text.startswith("there is a valley along which R + ")


def test_a_tuner_without_effect_makes_a_valley_along_itself() -> None:
    study = curve("a + 0*b + x", X, 1 + X, {"a": 0.5, "b": 2.0})
    found = criterion_map(study, "a", "b", points=3, at_start=True)
    assert found.text == "'b' has hardly any effect on the criterion: there is a valley along it"


def test_well_determined_tuners_are_said_to_be_so() -> None:
    found = criterion_map(line_study(), "a", "b", points=3)
    assert found.text.startswith("the criterion determines 'a' and 'b' (ratio ")


# --- holes, workers, what it shows ---------------------------------------------------------------


def holed() -> CriterionMap:
    y = np.log(1.5 + X)
    study = curve("k*log(c + x)", X, y, {"k": 0.9, "c": 1.2})
    return criterion_map(fit(study), "c", "k", points=5, ranges={"c": (-1.0, 2.0), "k": (0.5, 1.5)})


def test_points_that_fail_are_holes_and_are_told() -> None:
    found = holed()
    assert np.isnan(found.cost[:, 0]).all()
    assert np.isfinite(found.cost[:, -1]).all()
    assert len(found.holes) == np.isnan(found.cost).sum()
    assert "output 'y' is not finite" in found.holes[0].message
    told = found.to_dict()
    assert told["cost"][0][0] is None
    assert len(told["failed"]) == len(found.holes)


def test_the_map_is_the_same_whoever_computes_it() -> None:
    estimate = fit(line_study())
    alone = criterion_map(estimate, "a", "b", points=6)
    shared = criterion_map(estimate, "a", "b", points=6, workers=2)
    assert np.array_equal(alone.cost, shared.cost)


def test_map_shows_itself(tmp_path: Path) -> None:
    found = holed()
    figure = found.plot()
    assert [t.name for t in figure.data[1:]] == ["estimate", "least change", "failed"]
    assert figure.layout.xaxis.title.text == "c"
    page = found.report(tmp_path / "map.html").read_text(encoding="utf-8")
    assert "Eigen-analysis" in page
    assert "points could not be simulated" in page
    assert "<table" in found._repr_html_()
    assert "Hessian of the criterion by c and k" in found.table().title
    assert found.text in repr(found)
    assert found.lowest[:2] == pytest.approx((2.0, 0.75))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("a", "a"), {}, "F080: a map needs two different tuners, not 'a' twice"),
        (("a", "b"), {"points": 1}, "F081: points 1: a map needs at least 2 along each tuner"),
        (("a", "c"), {}, r"F082: there is no tuner 'c' \(there are a, b\)"),
        (("a", "b"), {"ranges": {"d": (0, 1)}}, "F083: ranges: 'd' is not on the map"),
        (("a", "b"), {"ranges": {"a": (1, 0)}}, "F084: ranges: 'a' 1 … 0 does not go up"),
    ],
)
def test_wrong_maps_are_refused(
    arguments: tuple[str, str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(FitError, match=message):
        criterion_map(line_study(), *arguments, **options)  # type: ignore[arg-type]


def test_an_unknown_plot_is_refused() -> None:
    with pytest.raises(FitError, match=r"F087: there is no plot 'mop'; did you mean 'map'"):
        criterion_map(line_study(), "a", "b", points=2).plot("mop")
