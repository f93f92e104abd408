"""A student in a notebook: a few lines of Modelica and a function, summary, corner plot, save."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es

TAU, K = 2.5, 3.0


def measured() -> pd.DataFrame:
    """A first-order answer to a step in closed form, with noise."""
    t = np.linspace(0, 15, 151)
    noise = 0.02 * np.random.default_rng(3).standard_normal(len(t))
    return pd.DataFrame({"t": t, "y": K * (1 - np.exp(-t / TAU)) + noise})


def lag(u, t, p):  # type: ignore[no-untyped-def]
    """As it stands in a cell."""
    return p["K"] * (1 - np.exp(-t / p["tau"]))


def test_from_a_model_text_to_a_saved_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Lag.mo").write_text(
        'model Lag\n  parameter Real K = 1;\n  parameter Real tau(unit = "s", min = 0.1) = 1;\n'
        "  output Real y(start = 0, fixed = true);\nequation\n  tau*der(y) = K - y;\nend Lag;\n"
    )
    model = es.load_model("Lag.mo")
    case = es.Case("step", measured(), outputs={"y": "y"})
    fit = es.fit(es.Study(model, ["K", "tau"], [case], "ml"))
    for name, value in {"K": K, "tau": TAU}.items():
        row = fit.parameters.loc[name]
        assert abs(row["value"] - value) < 3 * row["stderr"]
    shown = fit._repr_html_()
    assert "tau" in shown
    assert "residuals look white" in shown
    assert "tau" in str(fit.summary())
    assert fit.correlation.shape == (2, 2)
    assert len(fit.to_frame()) == 151
    bootstrap = es.bootstrap(fit, replicates=20, seed=1)
    assert bootstrap.to_frame().shape[0] == 20
    assert bootstrap.corner("K", "tau").data
    again = es.Fit.load(fit.save("lag.fit"))
    assert dict(again.parameters["value"]) == dict(fit.parameters["value"])
    again.report("lag.html")
    assert "tau" in Path("lag.html").read_text(encoding="utf-8")

    # the same as a function, without Modelica
    function = es.function_model(lag, parameters={"K": 1, "tau": 1}, inputs=[])
    other = es.fit(es.Study(function, ["K", "tau"], [case], "ml"))
    for name in ("K", "tau"):  # both find the one optimum, each to a share of the standard error
        row = fit.parameters.loc[name]
        assert abs(other[name] - row["value"]) < 0.02 * row["stderr"]
        assert other.parameters.loc[name]["stderr"] == pytest.approx(row["stderr"], rel=0.01)
    with pytest.raises(es.EstimicaError, match=r"no parameter 'taw'; did you mean 'tau'"):
        es.fit(es.Study(function, ["K", "taw"], [case]))

    with pytest.raises(es.EstimicaError, match=r"no parameter 'taw'; did you mean 'tau'"):
        es.fit(es.Study(model, ["K", "taw"], [case]))
    with pytest.raises(es.EstimicaError, match=r"no column 'Y'.*; did you mean 'y'"):
        es.fit(es.Study(model, ["K"], [es.Case("step", measured(), outputs={"y": "Y"})]))
    with pytest.raises(es.EstimicaError, match="holds no rows"):
        es.fit(es.Study(model, ["K"], [es.Case("step", measured()[:0], outputs={"y": "y"})]))
