"""A fit says what it found: tables, JSON, plots, a page, a Modelica class, a file of data."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.base.errors import FitError, ReportError, WriteError
from estimica.base.result import finite
from estimica.base.text import rounded
from estimica.estimate.fit.pictures import KINDS, picture
from estimica.simulate.engine.options import Options
from estimica.simulate.formula import formula_model

EXACT = Options(rtol=1e-11, atol=1e-12)

PLANT = """
model Plant "A plant with parts, tables and two states"
  parameter Real k(unit = "1/s", min = 0) = 0.5 "Rate";
  parameter Real a1 = 1;
  parameter Real a2 = 1;
  parameter Integer mode = 1 "Shapes the equations";
  parameter Real tab[2,2] = {{0, 1}, {1, 2}};
  parameter Real w[3] = {1, k, 3};
  Valve valve(R = 2);
  Valve many[2](R = {1, 2});
  input Real u(unit = "A");
  output Real y(unit = "V");
  output Real z;
  Real x(start = 1, fixed = true);
  Real s[2](start = {1, 2}, each fixed = true);
equation
  der(x) = -k*x + valve.R*u;
  der(s) = {-many[1].R*s[1] + a1, -many[2].R*s[2] + a2};
  y = w[1]*x + w[2]*tab[1,2] + w[3]*tab[2,1];
  z = s[1] + s[2] + (if mode == 1 then 0 else x);
end Plant;

model Valve
  parameter Real R = 1 "Resistance";
end Valve;
"""
TIME = np.linspace(0.0, 5.0, 41)
DRIVE = np.where(TIME < 2, 1.0, 0.2)


@pytest.fixture(scope="module")
def plant() -> es.ModelicaModel:
    return es.load_model(PLANT, "Plant")


def noisy(
    model: es.ModelicaModel, parameters: dict[str, float], start: dict[str, float], seed: int = 1
) -> pd.DataFrame:
    run = model.simulate(TIME, {"u": (TIME, DRIVE)}, parameters, start, options=EXACT)
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "t": TIME,
            "drive": DRIVE,
            "volts": run.value("y") + 0.02 * random.standard_normal(len(TIME)),
            "sum": run.value("z") + 0.01 * random.standard_normal(len(TIME)),
        }
    )


def case(name: str, data: pd.DataFrame, **more: object) -> es.Case:
    given: dict[str, object] = {
        "inputs": {"u": "drive"},
        "outputs": {"y": "volts", "z": "sum"},
        **more,
    }
    return es.Case(name, data, **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plain(plant: es.ModelicaModel) -> es.Fit:
    """Two tuners, a free start value, and a case that validates."""
    truth = {"k": 0.7, "valve.R": 3.0}
    study = es.Study(
        plant,
        [es.Tuner("k", start=0.4, min=0, max=5), es.Tuner("valve.R", start=2)],
        [
            case("step test", noisy(plant, truth, {"x": 2.0}), free_start=["x"]),
            case(
                "other day", noisy(plant, truth, {"x": 1.5}, 2), role="validate", free_start=["x"]
            ),
        ],
        "ml",
        name="plant",
    )
    return es.fit(study)


# --- tables and JSON -----------------------------------------------------------------------------


def test_parameters_are_a_table_with_intervals_bounds_and_units(plain: es.Fit) -> None:
    table = plain.parameters
    assert list(table.index) == ["k", "valve.R"]
    assert list(table.columns) == [
        *("value", "stderr", "ci95_low", "ci95_high", "at_bound", "identifiable"),
        *("start", "min", "max", "unit", "description"),
    ]
    assert table.loc["k", "value"] == pytest.approx(0.7, abs=4 * table.loc["k", "stderr"])
    assert table.loc["k", ["unit", "description", "start", "max"]].tolist() == [
        "1/s",
        "Rate",
        0.4,
        5,
    ]
    assert plain.start_values.loc[("step test", "x"), "value"] == pytest.approx(2.0, abs=0.1)
    assert plain.disturbances.empty


def test_json_has_the_keys_of_the_contract(plain: es.Fit) -> None:
    found = json.loads(json.dumps(plain.to_dict(), allow_nan=False))
    assert found["command"] == "fit"
    assert found["outcome"]["status"] == "converged"
    assert found["criterion"] == "ml"
    assert found["n_samples"] == 2 * len(TIME)
    assert found["n_free"] == 3
    k = found["parameters"]["k"]
    told = {"value", "stderr", "ci95", "at_bound", "identifiable", "unit", "start", "practical"}
    assert set(k) == told | {"ci95_clipped", "freedom", "conditional_on"}
    assert k["ci95"][0] < k["value"] < k["ci95"][1]
    assert set(found["start_values"]) == {"step test", "other day"}
    assert found["start_values"]["step test"]["x"]["stderr"] > 0
    assert found["start_values"]["other day"]["x"]["stderr"] is None
    assert set(found["noise"]["y"]) == {"variance", "estimated", "at_bound"}
    quality = found["quality"]
    assert quality["other day"]["role"] == "validate"
    assert set(quality["step test"]["y"]) == {"rmse", "fit_percent", "errn_percent"}
    assert found["identifiability"]["rank"] == found["identifiability"]["n"] == 3
    assert set(found["iterations"][0]["parameters"]) == {"k", "valve.R", "start of x in step test"}
    assert found["iterations"][-1]["cost"] == found["cost"]
    assert set(found["evaluations"]) == {"simulations", "sensitivities", "failed"}
    assert found["failures"] == []
    assert found["starts"] == []


def test_numbers_that_json_does_not_know_become_none() -> None:
    given = {"a": math.nan, "b": [math.inf, 1.0], "c": "x", "d": True}
    assert finite(given) == {"a": None, "b": [None, 1.0], "c": "x", "d": True}


def test_repr_and_notebook_show_estimates_and_quality(plain: es.Fit) -> None:
    for shown in (repr(plain), plain._repr_html_()):
        for word in ("valve.R", "std. error", "converged", "fit %", "other day", "validate"):
            assert word in shown


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [(286.2794, 3.547, "286.28"), (0.2629614, 0.002754, "0.26296"), (1234567.0, 250.0, "1234567")],
)
def test_values_are_printed_as_far_as_their_error_allows(
    value: float, error: float, text: str
) -> None:
    assert str(rounded(value, error)) == text


def test_unknowns_that_the_data_do_not_determine_have_no_error_in_json(
    plant: es.ModelicaModel,
) -> None:
    data = noisy(plant, {}, {})
    tuners = [es.Tuner("tab[1,2]", start=1), es.Tuner("tab[2,1]", start=1)]
    found = es.fit(es.Study(plant, tuners, [case("run", data)])).to_dict()
    lost = found["parameters"]["tab[1,2]"]  # type: ignore[index]
    assert (lost["stderr"], lost["ci95"], lost["identifiable"]) == (None, None, False)
    assert found["identifiability"]["rank"] == 1  # type: ignore[index]


def test_names_that_a_fit_does_not_have_get_a_suggestion(plain: es.Fit) -> None:
    with pytest.raises(FitError, match=r"F011: the fit has no tuner 'valveR'; did you mean 'valve"):
        plain["valveR"]
    with pytest.raises(FitError, match=r"F012: the fit has no case 'step tst'; did you mean 'step"):
        plain.case("step tst")
    with pytest.raises(FitError, match=r"F010: case 'step test' has no output 'v'"):
        plain.case("step test")["v"]


# --- nobody changes it ---------------------------------------------------------------------------


def test_fields_of_a_fit_and_of_what_it_holds_cannot_be_assigned(plain: es.Fit) -> None:
    case = plain.cases[0]
    parts = (plain.outcome, plain.accuracy, plain.identifiability, plain.evaluations)
    for part in (
        plain,
        *parts,
        case,
        case.outputs[0],
        plain.iterations[0],
        plain.unknowns.items[0],
    ):
        for name in [f.name for f in fields(part)]:
            with pytest.raises(FrozenInstanceError):
                setattr(part, name, None)


def test_numbers_of_a_fit_cannot_be_assigned(plain: es.Fit) -> None:
    output = plain.cases[0].outputs[0]
    a = plain.accuracy
    held = (plain.values, plain.covariance, a.stderr, a.interval, a.identifiable)
    for array in (*held, output.measured, output.simulated, output.compared, output.time):
        before = array.copy()
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        assert np.array_equal(array, before)


# --- plots ---------------------------------------------------------------------------------------


def names(figure: object) -> list[str]:
    return [trace.name for trace in figure.data]  # type: ignore[attr-defined]


def test_fit_plot_has_points_and_a_line_for_every_case_and_output(plain: es.Fit) -> None:
    figure = plain.plot()
    assert names(figure) == ["measured", "simulated"] * 4
    assert [t.mode for t in figure.data][:2] == ["markers", "lines"]
    assert [a.text for a in figure.layout.annotations] == [
        "<b>step test</b>",
        "<b>other day (validation)</b>",
    ]
    assert figure.layout.yaxis.title.text == "y [V]"


def test_iteration_plot_ends_with_the_estimate(plain: es.Fit) -> None:
    shown = picture(plain, "iterations")
    curves = shown.panels[0].curves
    assert [c.name for c in curves[:3]] == ["measured", "start", "iteration 1"]
    assert len(curves) == len(plain.iterations) + 1
    last, output = curves[-1], plain.case("step test")["y"]
    at_stamps = last.value[np.searchsorted(last.time, output.time)]  # the line is finer than those
    assert at_stamps == pytest.approx(output.simulated, rel=1e-9)
    strengths = [c.strength for c in curves[1:]]
    assert strengths == sorted(strengths)
    few = picture(plain, "iterations", 3).panels[0].curves
    assert [c.name for c in few][-1] == f"iteration {plain.iterations[-1].number}"
    assert len(few) == 4


def test_residual_plot_has_a_band_of_two_standard_deviations(plain: es.Fit) -> None:
    shown = picture(plain, "residuals")
    sigma = math.sqrt(plain.noise["y"].variance)
    assert (shown.panels[0].bands[0].low, shown.panels[0].bands[0].high) == pytest.approx(
        (-2 * sigma, 2 * sigma)
    )
    assert shown.panels[0].curves[0].value == pytest.approx(plain.case("step test")["y"].residual)
    last = picture(plain, "residuals", 3).panels[0].curves
    assert len(last) == 3
    assert np.linalg.norm(last[0].value) >= np.linalg.norm(last[-1].value)


def test_path_ends_at_zero_and_cost_falls(plain: es.Fit) -> None:
    path = picture(plain, "path").panels[0].curves
    assert [c.name for c in path] == ["k", "valve.R"]
    assert all(c.value[-1] == 0 for c in path)
    cost = picture(plain, "cost").panels[0].curves[0].value
    assert (np.diff(cost) < 0).all()


def test_waterfall_is_in_order_and_counts_failures(plain: es.Fit) -> None:
    from estimica.estimate.fit.result import StartResult

    starts = tuple(
        StartResult(n, {}, {}, cost, "converged", "")
        for n, cost in ((1, 5.0), (2, math.inf), (3, 2.0), (4, 2.0 + 1e-9))
    )
    shown = picture(replace(plain, starts=starts), "starts")
    assert shown.panels[0].curves[0].value.tolist() == [2.0, 2.0, 5.0]
    assert "1 failed" in shown.time_label


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "starts"])
def test_every_plot_is_drawn(plain: es.Fit, kind: str) -> None:
    assert len(plain.plot(kind).data) > 0


def test_unknown_plots_are_named(plain: es.Fit) -> None:
    with pytest.raises(FitError, match=r"F030: there is no plot 'residual'; did you mean 'resid"):
        plain.plot("residual")
    with pytest.raises(FitError, match=r"F031: iterations 0: at least one is drawn"):
        plain.plot("residuals", iterations=0)
    with pytest.raises(FitError, match=r"F032: there is one start only"):
        plain.plot("starts")


def test_points_without_time_are_drawn_over_their_only_input() -> None:
    x = np.array([3.0, 1.0, 2.0])
    model = formula_model({"y": "b*x"}, inputs=["x"])
    points = es.Case("p", pd.DataFrame({"x": x, "y": 2 * x}), inputs={"x": "x"}, outputs={"y": "y"})
    fit = es.fit(es.Study(model, [es.Tuner("b", start=1)], [points]))
    shown = picture(fit)
    assert shown.time_label == "x"
    assert shown.panels[0].curves[0].time.tolist() == [1, 2, 3]
    assert shown.panels[0].curves[0].value.tolist() == [2, 4, 6]


# --- the page ------------------------------------------------------------------------------------


def test_page_says_everything_and_needs_no_network(plain: es.Fit, tmp_path: Path) -> None:
    page = plain.report(tmp_path / "plant.html")
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", text)
    for heading in (
        "Outcome",
        "Estimates",
        "Quality",
        "Residuals",
        "Iterations",
        "Identifiability",
    ):
        assert f">{heading}</a></h2>" in text
    assert "Converged: " in text
    assert "The data determine all 3 unknowns" in text
    assert re.search(r"<td>seed</td><td[^>]*>1</td>", text)
    assert f"numpy {np.__version__}" in text
    assert text.count('<figure class="plot"') >= 5


def test_page_escapes_names(plant: es.ModelicaModel, tmp_path: Path) -> None:
    odd = "<img src=x onerror=alert(1)> & *co*"
    data = noisy(plant, {}, {})
    study = es.Study(plant, ["k"], [case(odd, data), case("b", data)], name=odd)
    text = es.fit(study).report(tmp_path / "odd.html").read_text(encoding="utf-8")
    assert odd not in text
    assert html.escape(odd) in text


def test_page_tells_what_is_not_determined_and_what_is_at_a_bound(
    plant: es.ModelicaModel, tmp_path: Path
) -> None:
    tuners = [
        es.Tuner("tab[1,2]", start=1),
        es.Tuner("tab[2,1]", start=1),
        es.Tuner("k", max=0.3, start=0.2),
    ]
    fit = es.fit(es.Study(plant, tuners, [case("run", noisy(plant, {}, {}))]))
    text = html.unescape(fit.report(tmp_path / "p.html").read_text(encoding="utf-8"))
    assert "'k' ended at a bound" in text
    (advice,) = fit.identifiability.advice
    assert "tab[1,2]" in advice
    assert f"{advice[1:]}.</p>" in text
    assert "at its max" in text


def test_page_of_a_fit_that_failed_says_why(plant: es.ModelicaModel, tmp_path: Path) -> None:
    study = es.Study(plant, [es.Tuner("k", start=-1e9)], [case("run", noisy(plant, {}, {}))])
    fit = es.fit(study)
    assert fit.outcome.status == "failed"
    text = fit.report(tmp_path / "p.html").read_text(encoding="utf-8")
    assert "There is no estimate to judge." in text
    json.dumps(fit.to_dict(), allow_nan=False)
    assert "failed" in repr(fit)
    with pytest.raises(FitError, match=r"F034: there is no estimate to write"):
        fit.write_modelica(tmp_path / "F.mo")


@pytest.mark.slow
def test_page_of_a_million_samples_stays_below_six_megabytes(
    plant: es.ModelicaModel, tmp_path: Path
) -> None:
    time = np.linspace(0.0, 1e4, 1_000_000)
    drive = np.random.default_rng(1).uniform(0, 1, 2000).repeat(500)
    run = plant.simulate(time, {"u": (time, drive)}, {"k": 0.7}, outputs=["y", "z"])
    data = pd.DataFrame({"t": time, "drive": drive, "volts": run.value("y"), "sum": run.value("z")})
    data["volts"] += 0.1 * np.random.default_rng(2).standard_normal(len(time))
    fit = es.fit(es.Study(plant, [es.Tuner("k", start=0.4)], [case("long", data)]))
    assert fit.report(tmp_path / "long.html").stat().st_size < 6e6


# --- Modelica ------------------------------------------------------------------------------------


def same_outputs(fit: es.Fit, path: Path, source: str, class_: str) -> None:
    """The fitted class simulates to what the model gives at the estimates."""
    written = es.load_model(source + path.read_text(encoding="utf-8"), class_)
    record = fit.setup.records[0]
    exact = replace(fit.study.solver, rtol=1e-11, atol=1e-12)
    objective = fit.setup.calibration(exact)
    predictions = objective.predict(fit.values)
    for block, prediction in zip(objective.blocks, predictions, strict=True):  # type: ignore[arg-type]
        if block.case != record.case.name:
            continue
        run = written.simulate(
            block.measured.time,
            dict(record.inputs),
            outputs=[block.name],
            begin=record.begin,
            options=EXACT,
        )
        assert run.value(block.name) == pytest.approx(prediction.value, rel=1e-9, abs=1e-9)


def test_fitted_class_simulates_to_the_same_outputs(plain: es.Fit, tmp_path: Path) -> None:
    path = plain.write_modelica(tmp_path / "FittedPlant.mo")
    text = path.read_text(encoding="utf-8")
    assert "model FittedPlant" in text
    assert "valve(R = " in text
    assert "x(start = " in text
    assert "ml cost" in text
    assert "std. error" in text
    same_outputs(plain, path, PLANT, "FittedPlant")


def test_fitted_class_loads_with_the_folder_of_the_original(plain: es.Fit, tmp_path: Path) -> None:
    (tmp_path / "Plant.mo").write_text(PLANT, encoding="utf-8")
    path = plain.write_modelica(tmp_path / "Best.mo", "Best")
    model = es.load_model(path, libraries=[tmp_path])
    assert model.name == "Best"
    assert model.parameters.value["k"] == plain["k"]


def test_arrays_parts_driven_parameters_and_fixed_values_are_written(
    plant: es.ModelicaModel, tmp_path: Path
) -> None:
    loaded = es.load_model(PLANT, "Plant", fix={"mode": 2, "w[3]": 2.5})
    tuners = [
        es.Tuner("k", start=0.4),
        es.Tuner("tab[1,2]", start=1.5),
        es.Tuner("many[2].R", start=1.5),
        es.Tuner("g", start=0.5, drives=["a1", "a2"]),
        es.Tuner("w[1]", start=0.9, active=False),
    ]
    data = noisy(plant, {"k": 0.7, "tab[1,2]": 1.2}, {"s[2]": 3.0})
    one = case("run", data, free_start=["s[2]"], fix={"valve.R": 2.2})
    fit = es.fit(es.Study(loaded, tuners, [one]))
    path = fit.write_modelica(tmp_path / "F.mo")
    text = path.read_text(encoding="utf-8")
    assert f"tab = {{{{0.0, {fit['tab[1,2]']!r}}}, {{1.0, 2.0}}}}" in text
    assert f"many(R = {{1.0, {fit['many[2].R']!r}}})" in text
    assert f"a1 = {fit['g']!r}" in text
    assert f"a2 = {fit['g']!r}" in text
    assert "mode = 2" in text
    assert "valve(R = 2.2)" in text
    assert f"w = {{0.9, {fit['k']!r}, 2.5}}" in text
    assert re.search(r"s\(start = \{1\.0, [\d.]+\}, each fixed = true\)", text)
    same_outputs(fit, path, PLANT, "FittedPlant")


def test_start_values_of_several_cases_are_comments(
    plant: es.ModelicaModel, tmp_path: Path
) -> None:
    data = noisy(plant, {}, {})
    cases = [case("a", data, free_start=["x"]), case("b\nc", data, free_start=["x"])]
    fit = es.fit(es.Study(plant, ["k"], cases))
    text = fit.write_modelica(tmp_path / "F.mo").read_text(encoding="utf-8")
    assert "x(start" not in text
    assert re.search(r"^//   start of x in a = ", text, flags=re.MULTILINE)
    assert re.search(r"^//   start of x in b c = ", text, flags=re.MULTILINE)
    es.load_model(PLANT + text, "FittedPlant")


def test_start_value_that_follows_a_parameter_is_written_through_it(tmp_path: Path) -> None:
    source = """
    model Decay
      parameter Real x0 = 1;
      parameter Real k = 1;
      output Real x(start = x0, fixed = true);
    equation
      der(x) = -k*x;
    end Decay;
    """
    data = pd.DataFrame({"t": TIME, "x": 2 * np.exp(-0.5 * TIME)})
    study = es.Study(es.load_model(source), ["x0", "k"], [es.Case("run", data, outputs={"x": "x"})])
    fit = es.fit(study)
    path = fit.write_modelica(tmp_path / "F.mo")
    assert "x0 = " in path.read_text(encoding="utf-8")
    same_outputs(fit, path, source, "FittedDecay")


AT_REST = """
model AtRest
  parameter Real k = 1;
  input Real u;
  output Real x(start = 3);
initial equation
  der(x) = 0;
equation
  der(x) = u - k*x;
end AtRest;
"""


def test_start_value_in_place_of_an_initial_equation_is_a_comment(tmp_path: Path) -> None:
    data = pd.DataFrame({"t": TIME, "x": 2 * np.exp(-0.5 * TIME)})
    one = es.Case("run", data, inputs={"u": 0.0}, outputs={"x": "x"}, free_start={"x": 1.0})
    fit = es.fit(es.Study(es.load_model(AT_REST), ["k"], [one]))
    text = fit.write_modelica(tmp_path / "F.mo").read_text(encoding="utf-8")
    assert "x(start" not in text
    assert "stands in for an initial equation of AtRest" in text
    es.load_model(AT_REST + text, "FittedAtRest").simulate([0.0, 1.0], {"u": 1.0})


def test_formula_becomes_a_block(tmp_path: Path) -> None:
    x = np.linspace(0.1, 3.0, 20)
    y = 2 * (1 - np.exp(-0.7 * x))
    model = formula_model({"y": "b1*(1 - exp(-b2*x))"}, inputs=["x"])
    points = es.Case("p", pd.DataFrame({"x": x, "y": y}), inputs={"x": "x"}, outputs={"y": "y"})
    fit = es.fit(es.Study(model, [es.Tuner("b1", start=1), es.Tuner("b2", start=1)], [points]))
    path = fit.write_modelica(tmp_path / "F.mo", "Saturation")
    block = es.load_model(path)
    run = block.simulate([0.0], {"x": 1.5}, outputs=["y"])
    assert run.value("y")[0] == pytest.approx(2 * (1 - np.exp(-0.7 * 1.5)), rel=1e-6)


def test_class_names_and_folders_that_cannot_be_are_refused(plain: es.Fit, tmp_path: Path) -> None:
    for name in ("my model", "model", "1st"):
        with pytest.raises(FitError, match=rf"F033: '{name}' cannot be the name of a Modelica"):
            plain.write_modelica(tmp_path / "F.mo", name)
    with pytest.raises(ReportError, match=r"P001: cannot write .*No such file"):
        plain.write_modelica(tmp_path / "none" / "F.mo")


# --- data ----------------------------------------------------------------------------------------


def test_csv_holds_inputs_outputs_and_residuals(plain: es.Fit, tmp_path: Path) -> None:
    (path,) = plain.write_csv(tmp_path / "out.csv", "step test")
    data = es.read_data(path)
    assert data.units["y measured"] == "V"
    y = plain.case("step test")["y"]
    assert data.column("y simulated") == pytest.approx(y.simulated, rel=1e-15)
    assert data.column("y residual") == pytest.approx(y.simulated - y.measured, abs=1e-15)
    assert data.column("u").tolist() == DRIVE.tolist()


def test_each_of_several_cases_gets_its_own_file(plain: es.Fit, tmp_path: Path) -> None:
    written = plain.write_csv(tmp_path / "out.csv")
    assert [p.name for p in written] == ["out-step_test.csv", "out-other_day.csv"]
    assert all(p.is_file() for p in written)


def test_signals_with_stamps_of_their_own_keep_them(
    plant: es.ModelicaModel, tmp_path: Path
) -> None:
    data = noisy(plant, {}, {})
    data.loc[::2, "volts"] = np.nan
    fit = es.fit(es.Study(plant, ["k"], [case("run", data)]))
    (path,) = fit.write_csv(tmp_path / "out.csv")
    found = es.read_data(path)
    assert np.isnan(found.column("y measured"))[::2].all()
    assert np.isfinite(found.column("z measured")).all()


def test_csv_that_cannot_be_written_is_a_clear_error(plain: es.Fit, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"P001: cannot write"):
        plain.write_csv(tmp_path / "none" / "out.csv", "step test")
    with pytest.raises(FitError, match=r"F012: the fit has no case 'night'"):
        plain.write_csv(tmp_path / "out.csv", "night")
