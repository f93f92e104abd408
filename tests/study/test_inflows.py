"""inStream(…) in formulas of outputs: what flows into a connector, against mixing by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import estimica as es
from estimica.compiled.experiment import Experiment

MODEL = """
connector Port
  Real p;
  flow Real m;
  stream Real h;
end Port;
model Source
  parameter Real m0 = 1;
  parameter Real h0 = 10;
  Port port;
equation
  port.m = -m0;
  port.h = h0;
end Source;
model Sink
  parameter Real p0 = 1;
  Port port;
equation
  port.p = p0;
  port.h = 0;
end Sink;
model Mixing
  Source a;
  Source b(m0 = 3, h0 = 50);
  Sink s;
  output Real m = s.port.m;
equation
  connect(a.port, b.port);
  connect(a.port, s.port);
end Mixing;
model Own
  Port port;
  parameter Real k = 2;
  Real y = k*inStream(port.h);
equation
  port.p = 1;
  port.h = 5;
end Own;
"""


def study(formula: str, measured: float, class_: str = "Mixing") -> es.Study:
    data = pd.DataFrame({"time": np.arange(5.0), "T": np.full(5, measured)})
    return es.Study(
        es.load_model(MODEL, class_),
        [es.Tuner("a.m0", start=0.5, min=0.1, max=20)] if class_ == "Mixing" else ["k"],
        [es.Case("run", data, outputs={"T": "T"})],
        outputs={"T": formula},
    )


def test_what_is_mixed_flows_in() -> None:
    """(1·10 + 3·50)/4 = 40 into the sink; into each source what the others bring."""
    mixing = study("inStream(s.port.h)/2", 20)
    response = mixing.model.respond(
        Experiment([0.0, 1.0], {}, {"a.m0": 1.0}, {}, ("T",), wrt=("a.m0",))
    )
    run = response.at(np.array([1.0]))
    assert run.Y[0, 0] == pytest.approx(20)
    assert run.YS[0, 0, 0] == pytest.approx((10 - 40) / 4 / 2)
    for formula, expected in (("inStream(a.port.h)", 50), ("inStream(b.port.h) + m", 14)):
        found = study(formula, 0).model.simulate([0.0, 1.0], {}, {"a.m0": 1.0}, outputs=["T"])
        assert found["T"][0] == pytest.approx(expected)


def test_a_fit_by_what_flows_in() -> None:
    fit = es.fit(study("inStream(s.port.h)", (2 * 10 + 3 * 50) / 5))
    assert fit["a.m0"] == pytest.approx(2, rel=1e-5)


def test_a_study_file_and_processes(tmp_path: Path) -> None:
    (tmp_path / "mixing.mo").write_text(MODEL)
    (tmp_path / "run.csv").write_text("time,T\n0,34\n1,34\n2,34\n3,34\n")
    (tmp_path / "study.toml").write_text(
        '[model]\nsource = "mixing.mo"\nclass = "Mixing"\n'
        '[outputs]\nT = "inStream(s.port.h)"\n[tune]\n"a.m0" = { start = 1, min = 0.1, max = 20 }\n'
        '[[case]]\nname = "run"\ndata = "run.csv"\noutputs = { T = "T" }\n'
    )
    for _ in range(2):  # the second time from the cache
        fit = es.fit(es.read_study(tmp_path / "study.toml"))
        assert fit["a.m0"] == pytest.approx(2, rel=1e-5)
    fit.write_modelica(tmp_path / "Fitted.mo")
    fitted = es.load_model(MODEL + (tmp_path / "Fitted.mo").read_text())
    assert fitted.simulate([0.0, 1.0], outputs=["T"])["T"][0] == pytest.approx(34, rel=1e-5)


def test_what_flows_into_the_model_itself() -> None:
    """Around an open connector there is what flows out of it."""
    own = study("inStream(port.h) + 1", 6, "Own")
    found = own.model.simulate([0.0, 1.0], {}, {"k": 2.0}, outputs=["T", "y"])
    assert found["T"][0] == pytest.approx(6)
    assert found["y"][0] == pytest.approx(10)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (
            "inStream(s.port.g)",
            r"C068.*no 'inStream\(s.port.g\)'.*did you mean 'inStream\(s.port.h",
        ),
        ("inStream(2*s.port.h)", r"inStream takes the name of a stream"),
        ("inStream(s.port.m)", r"C068"),
    ],
)
def test_what_does_not_flow_is_told(formula: str, said: str) -> None:
    with pytest.raises(es.EstimicaError, match=said):
        study(formula, 1)


def test_models_without_streams_have_none() -> None:
    def gain(u: float, t: float, K: float = 1.0) -> float:
        return K * u

    case = es.Case("run", pd.DataFrame({"time": [0.0, 1], "u": [1.0, 2], "T": [1.0, 2]}),
                   inputs={"u": "u"}, outputs={"T": "T"})  # fmt: skip
    with pytest.raises(es.EstimicaError, match="C068"):
        es.Study(es.load_model(gain), ["K"], [case], outputs={"T": "inStream(a.h)"})
