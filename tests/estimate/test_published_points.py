"""Published fits of points through study files: NIST's Nelson, parmest's reactor, Rooney-Biegler."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.nist import read_problem
from typer.testing import CliRunner

import estimica as es
from estimica.apps.cli.commands.app import app

REACTOR = """model Reactor "A stirred tank, A to B to C and twice A to D, at rest"
  parameter Real k1 = 5/6 "A to B";
  parameter Real k2 = 5/3 "B to C";
  parameter Real k3 = 1/6000 "twice A to D";
  input Real sv "space velocity";
  input Real caf "feed concentration";
  Real ca(start = 3000, nominal = 1000); Real cb(start = 1000, nominal = 1000);
  Real cc(start = 1000, nominal = 1000); Real cd(start = 1000, nominal = 1000);
equation
  0 = sv*caf - sv*ca - k1*ca - 2*k3*ca^2;
  0 = -sv*cb + k1*ca - k2*cb;
  0 = -sv*cc + k2*cb;
  0 = -sv*cd + k3*ca^2;
end Reactor;
"""
#: the same as a dynamic model, whose states have come to rest
MOVING = (
    REACTOR.replace("  0 = sv*caf", "  der(ca) = sv*caf")
    .replace("  0 = -sv*cb", "  der(cb) = -sv*cb")
    .replace("  0 = -sv*cc", "  der(cc) = -sv*cc")
    .replace("  0 = -sv*cd", "  der(cd) = -sv*cd")
)
STUDY = """[model]
source = "Reactor.mo"
[static]
mode = "{mode}"
[tune]
k1 = 0.8333333333
k2 = 1.6666666667
k3 = {{ start = 1.66666667e-4, scale = 1e-4 }}
[[case]]
name = "plant"
data = "{data}"
inputs = {{ sv = "sv", caf = "caf" }}
[case.outputs]
ca = {{ column = "ca", weight = 1 }}
cb = {{ column = "cb", weight = 1 }}
cc = {{ column = "cc", weight = 1 }}
cd = {{ column = "cd", weight = 1 }}
"""


@pytest.mark.parametrize(("mode", "model"), [("static", REACTOR), ("steady", MOVING)])
def test_the_implicit_reactor_of_parmest_has_its_published_estimates(cases, tmp_path, mode, model):
    data = cases / "parmest" / "reactor_data.csv"
    (tmp_path / "Reactor.mo").write_text(model)
    (tmp_path / "study.toml").write_text(STUDY.format(mode=mode, data=data))
    fit = es.fit(es.read_study(tmp_path / "study.toml"))
    assert fit.outcome.ok
    assert fit["k1"] == pytest.approx(0.860669, abs=5e-7)
    assert fit["k2"] == pytest.approx(1.627205, abs=5e-7)
    assert fit["k3"] == pytest.approx(1.680583e-4, abs=5e-11)
    assert fit.cost == pytest.approx(1373232.85, abs=0.01)
    assert fit.n_samples == 76
    # one variance for all outputs, as the note has it
    pooled = es.covariance(fit, "pooled")
    assert pooled.stderr == pytest.approx([0.016528, 0.062389, 3.7284e-6], rel=5e-5)


def test_the_command_line_gives_the_reactors_published_standard_errors(cases, tmp_path):
    data = cases / "parmest" / "reactor_data.csv"
    (tmp_path / "Reactor.mo").write_text(REACTOR)
    (tmp_path / "study.toml").write_text(STUDY.format(mode="static", data=data))
    command = ["residuals", str(tmp_path / "study.toml"), "--covariance", "pooled", "--json"]
    found = json.loads(CliRunner().invoke(app, command).stdout)["covariance"]
    assert found["kind"] == "pooled"
    assert found["stderr"] == pytest.approx([0.016528, 0.062389, 3.7284e-6], rel=5e-5)


def test_rooney_and_bieglers_covariance_is_the_published_one(tmp_path: Path):
    t, y = [1, 2, 3, 4, 5, 7], [8.3, 10.3, 19, 16, 15.6, 19.8]
    pd.DataFrame({"t": t, "y": y}).to_csv(tmp_path / "bod.csv", index=False)
    (tmp_path / "study.toml").write_text(
        '[static]\nexpression = "th1*(1 - exp(-th2*t))"\n[tune]\nth1 = 15\nth2 = 0.5\n'
        '[[case]]\nname = "bod"\ndata = "bod.csv"\ninputs = { t = "t" }\n'
        'outputs = { y = { column = "y", weight = 1 } }\n'
    )
    fit = es.fit(es.read_study(tmp_path / "study.toml"))
    assert fit.values == pytest.approx([19.14258, 0.531091], rel=1e-6)
    assert fit.cost == pytest.approx(25.99027, rel=1e-6)
    published = [[6.2296, -0.43226], [-0.43226, 0.041242]]
    assert fit.covariance == pytest.approx(np.array(published), rel=5e-5)


def test_nelson_is_fitted_through_the_logarithm_of_its_output(cases, tmp_path: Path):
    problem = read_problem(cases / "nist_strd", "Nelson")
    raw = np.exp(problem.y)  # read as log(y)
    pd.DataFrame({**problem.inputs, "y": raw}).to_csv(tmp_path / "nelson.csv", index=False)
    inputs = ", ".join(f'{n} = "{n}"' for n in problem.inputs)
    for start in (0, 1):
        tuned = "\n".join(f"{n} = {v!r}" for n, v in problem.starts[start].items())
        (tmp_path / "nelson.toml").write_text(
            '[static]\nexpression = "exp(b1 - b2*x1*exp(-b3*x2))"\n'
            f"[tune]\n{tuned}\n[estimate]\ntolerance = 1e-10\n"
            f'[[case]]\nname = "points"\ndata = "nelson.csv"\ninputs = {{ {inputs} }}\n'
            'outputs = { y = { column = "y", weight = 1, transform = "log" } }\n'
        )
        fit = es.fit(es.read_study(tmp_path / "nelson.toml"))
        assert fit.values == pytest.approx(problem.certified_values, rel=1e-6)
        assert fit.cost == pytest.approx(problem.rss, rel=1e-8)
        errors = list(problem.deviations.values())
        assert fit.accuracy.stderr == pytest.approx(errors, rel=1e-5)
