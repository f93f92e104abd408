"""What the data do not determine: no repeated fit is certain of it, and nothing is drawn from it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.infer.interval_problems import curve
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app
from estimica.base.errors import EstimicaError
from estimica.base.view import text
from estimica.infer.bootstrap.intervals import open_interval, percentile_interval, replicate_summary
from estimica.simulate.formula import formula_model

X = np.linspace(0, 1, 60)
NOISE = 0.02 * np.random.default_rng(1).standard_normal(60)


def product(**estimation: object) -> es.Fit:
    """y = K1·K2·x: only the product is determined."""
    return curve("K1*K2*x", X, 2 * X + NOISE, {"K1": 1.0, "K2": 1.5}, estimation=estimation)


@pytest.mark.parametrize("kind", ["parametric", "residual", "block"])
@pytest.mark.parametrize("criterion", ["oe", "ml"])
def test_bootstrap_of_a_product_knows_neither_factor(kind: str, criterion: str) -> None:
    found = es.bootstrap(product(criterion=criterion), 50, kind=kind)  # type: ignore[arg-type]
    for s in found.spreads:
        assert s.undetermined == 1
        assert s.stderr == math.inf
        assert s.percentile == (-math.inf, math.inf)
        assert np.isnan([*s.bca, s.bias, s.mean]).all()
    assert np.isinf(np.diag(found.covariance)).all()
    assert np.isnan(found.covariance[0, 1])
    status, message = found.outcome()
    assert status == "done"
    assert "'K1' and 'K2' are not determined by these data" in message


def test_bootstrap_shows_what_is_not_determined(tmp_path: Path) -> None:
    found = es.bootstrap(product(criterion="ml", loss="huber"), 40, workers=2)
    assert "not determined by these data" in text(found.table())
    told = json.loads(json.dumps(found.to_dict()))
    assert told["parameters"]["K1"]["stderr"] is None
    assert told["parameters"]["K1"]["ci95"] is None
    assert not told["parameters"]["K1"]["identifiable"]
    assert told["identifiability"]["rank"] == 1
    page = found.report(tmp_path / "b.html").read_text(encoding="utf-8")
    assert "Only K1·K2 is determined" in page
    assert "correlation 1.00" not in page
    assert "95 % between" not in page


def test_an_unknown_that_some_replicates_lose_has_an_open_interval() -> None:
    # y = a·exp(−b·x) with a ≥ 0 about zero: where a is zero, nothing is known of b
    tuners = [es.Tuner("a", start=0.1, min=0.0), es.Tuner("b", start=1.0)]
    y = 0.1 * np.exp(-X) + 0.2 * np.random.default_rng(8).standard_normal(60)
    found = es.bootstrap(curve("a*exp(-b*x)", X, y, tuners), 60)
    lost = found.undetermined[:, 1]
    assert 0 < lost.mean() < 1
    assert lost[found.values[:, 0] == 0].all()
    spread = found.spreads[1]
    assert spread.stderr == math.inf
    assert spread.undetermined == lost.mean()


def test_a_replicate_that_determines_nothing_may_have_any_value() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal(400)
    lost = np.zeros(400, bool)
    assert open_interval(values, lost) == percentile_interval(values)
    lost[:4] = True  # 1 %
    low, high = open_interval(values, lost)
    ordered = np.sort(values[4:])
    # four more lie beyond either end: the 2.5 % of all 400 are the next six of the others
    assert ordered[5] <= low <= ordered[6]
    assert ordered[-7] <= high <= ordered[-6]
    lost[:12] = True  # 3 %
    assert open_interval(values, lost) == (-math.inf, math.inf)


def test_percentiles_are_those_of_numpy() -> None:
    values = np.random.default_rng(3).standard_normal(137)
    expected = np.quantile(values, [0.025, 0.975], method="weibull")
    assert percentile_interval(values) == pytest.approx(tuple(expected))


def test_an_unknown_at_its_bound_in_every_replicate_has_no_standard_error() -> None:
    found = replicate_summary(1.0, np.ones(50), 0.0, at_bound=np.ones(50, bool))
    assert found.at_bound == 1
    assert np.isnan([found.stderr, found.bias, *found.percentile, *found.bca]).all()


def test_replicates_that_stop_in_a_valley_do_not_make_a_small_error() -> None:
    # the curvature alone tells K1, by 0.0001: its standard error is a hundred times its value
    y = 2 * X + 1e-4 * X**2 + NOISE
    short = {"max_iterations": 100}  # a longer search creeps on along the valley
    fit = curve("K1*K2*x + 0.0001*K1*x^2", X, y, {"K1": 1.0, "K2": 1.5}, estimation=short)
    assert fit.accuracy.stderr[0] > 100 * fit["K1"]
    found = es.bootstrap(fit, 30)
    assert found.failed > 20  # most say themselves that they did not converge, others are found out
    assert any("in a valley along which the cost hardly" in f.message for f in found.failures)
    assert found.outcome()[0] == "failed"
    assert np.isnan([s.stderr for s in found.spreads]).all()


def test_all_but_noise_free_data_are_no_valley() -> None:
    y = 2 * np.exp(-3 * X) + 1e-5 * NOISE
    fit = curve("a*exp(-b*x)", X, y, {"a": 1.0, "b": 1.0})
    assert es.bootstrap(fit, 20).failed == 0


MODEL = """model Product
  parameter Real K1 = 1;
  parameter Real K2 = 1.5;
  output Real y(start = 0, fixed = true);
equation
  der(y) = K1*K2 - y;
end Product;
"""
STUDY = """[model]
source = "Product.mo"
[tune]
K1 = 1.0
K2 = 1.5
[[case]]
name = "rise"
data = "rise.csv"
time = "t"
outputs = { y = "y" }
[[criterion]]
name = "peak"
kind = "maximum"
of = "y"
demand = 3.0
[montecarlo]
samples = 20
[bootstrap]
replicates = 50
"""
REFUSED = r"O061.*does not determine K1, K2"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    t = 3 * X
    data = pd.DataFrame({"t": t, "y": 2 * (1 - np.exp(-t)) + NOISE})
    data.to_csv(tmp_path / "rise.csv", index=False)
    (tmp_path / "Product.mo").write_text(MODEL, encoding="utf-8")
    path = tmp_path / "product.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_monte_carlo_from_an_undetermined_bootstrap_is_refused(study: Path) -> None:
    asked = es.read_study(study)
    with pytest.raises(EstimicaError, match=REFUSED):
        es.montecarlo(asked, source="bootstrap")
    fit = es.fit(asked.with_(criteria=()))
    with pytest.raises(EstimicaError, match=REFUSED):
        es.montecarlo(asked, source=es.bootstrap(fit, 50))
    with pytest.raises(EstimicaError, match=REFUSED):
        es.montecarlo(asked, source=fit)


def test_monte_carlo_from_a_stored_undetermined_bootstrap_is_refused(study: Path) -> None:
    plain = study.with_name("plain.toml")
    content = study.read_text(encoding="utf-8")
    cut = content.index("[[criterion]]"), content.index("[montecarlo]")
    plain.write_text(content[: cut[0]] + content[cut[1] :], encoding="utf-8")
    ended = CliRunner().invoke(app, ["bootstrap", str(plain), "--quiet", "--json"])
    assert ended.exit_code == 0
    run = json.loads(ended.stdout)["run"]
    with pytest.raises(EstimicaError, match=REFUSED):
        es.montecarlo(es.read_study(study), source=run)


def test_monte_carlo_refuses_a_bootstrap_whose_replicates_failed(study: Path) -> None:
    x = np.linspace(0.05, 1, 20)
    y = (np.sqrt(0.5 * x) + 0.25 * np.cos(50 * x)) ** 2
    fit = curve("K1*x", x, y, {"K1": 0.4}, transform="sqrt")
    with pytest.raises(EstimicaError, match=r"O098.*of 60 replicates failed"):
        es.montecarlo(es.read_study(study), source=es.bootstrap(fit, 60))


def test_bands_of_a_validating_case_are_open_where_the_data_leave_it_open() -> None:
    model = formula_model({"y": "K1*K2*x", "z": "K1*x", "p": "3*K1*K2*x"}, inputs=["x"])
    data = pd.DataFrame({"x": X, "y": 2 * X + NOISE, "z": X, "p": 6 * X + NOISE})
    shared = {"inputs": {"x": "x"}}
    cases = [
        es.Case("fit", data, outputs={"y": "y"}, **shared),
        es.Case("other", data, outputs={"z": "z", "p": "p"}, role="validate", **shared),
    ]
    fit = es.fit(es.Study(model, [es.Tuner("K1", start=1), es.Tuner("K2", start=1.5)], cases))
    found = es.bands(fit)
    assert found.output("y").bounded
    assert found.output("p").bounded
    assert found.output("p").stderr == pytest.approx(3 * found.output("y").stderr, rel=1e-6)
    assert not found.output("z").bounded
    assert np.isinf(found.output("z").stderr[1:]).all()
    assert "moves with 'K1' and 'K2', which the data do not determine" in str(found.table().rows)
    json.dumps(found.to_dict(), allow_nan=False)
    found.plot()


def test_cross_validation_has_no_jackknife_error_of_what_is_not_determined() -> None:
    found = es.crossvalidate(product())
    assert np.isinf(found.stderr).all()
    assert "not determined by these data" in found.tuner_table().rows[0]
    assert found.to_dict()["parameters"]["K1"]["stderr_jackknife"] is None  # type: ignore[index]


def test_likelihood_ratio_counts_what_the_data_determine() -> None:
    null = curve("a*x", X, 2 * X + NOISE, {"a": 1.0}, estimation={"criterion": "ml"})
    model = formula_model({"y": "a*b*x + c*x^2"}, inputs=["x"])
    case = null.study.cases[0]

    def fitted(**tuners: bool) -> es.Fit:
        own = [es.Tuner(n, start=float(n != "c"), active=a) for n, a in tuners.items()]
        return es.fit(es.Study(model, own, [case], "ml"))

    null, one = fitted(a=True, b=False, c=False), fitted(a=True, b=False, c=True)
    both, twin = fitted(a=True, b=True, c=True), fitted(a=True, b=True, c=False)
    assert es.likelihood_ratio(null, both).freedom == 1  # a·b and c against a
    assert es.likelihood_ratio(null, both).risk == pytest.approx(
        es.likelihood_ratio(null, one).risk, rel=1e-3
    )
    nothing = es.likelihood_ratio(null, twin)
    assert nothing.freedom == 0
    assert nothing.risk == 1
    assert "cannot tell 'b' from what was free before" in nothing.verdict()
