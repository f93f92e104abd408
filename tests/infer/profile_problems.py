"""Problems with narrow valleys or several optima, whose profiles are confirmed from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.infer.interval_problems import CONCENTRATION, VELOCITY
from tests.nist import read_problem

import estimica as es
from estimica.simulate.formula import formula_model

#: two valleys: residuals of u are those of b = ±1, z prefers b = 1 a little, v ties a to b
SPREADS = {"u": 0.3, "v": 0.6, "z": 2.0}


def static(
    outputs: Mapping[str, str],
    inputs: Mapping[str, np.ndarray],
    data: Mapping[str, np.ndarray],
    tuners: Sequence[es.Tuner],
    *,
    sigma: Mapping[str, float] | None = None,
    **estimation: Any,
) -> es.Study:
    """Formulas fitted to points, each output with unit weight or a known noise."""
    model = formula_model(outputs, inputs=list(inputs))
    columns = {n: es.OutputColumn(n, weight=1.0) for n in outputs}
    if sigma is not None:
        columns = {n: es.OutputColumn(n, sigma=sigma[n]) for n in outputs}
    table = pd.DataFrame({**inputs, **data})
    case = es.Case("points", table, inputs={n: n for n in inputs}, outputs=columns)
    return es.Study(model, tuners, [case], estimation=es.Estimation(**estimation))


def two_valleys(a: float = 0.1, b: float = 0.8) -> es.Study:
    """Another explanation with b = −1 beside b = 1, below the threshold all the way."""
    data = {"u": np.array([0.9, 1.1]), "v": np.array([0.8, 1.2]), "z": np.array([0.7, 1.3])}
    tuners = [es.Tuner("a", start=a), es.Tuner("b", start=b, min=-3.0, max=3.0)]
    formulas = {"u": "b^2 + 0*x", "v": "a + b + 0*x", "z": "b + 0*x"}
    # two samples each: σ√2 makes a residual of their mean count as one over σ
    sigma = {n: s * np.sqrt(2) for n, s in SPREADS.items()}
    return static(formulas, {"x": np.arange(2.0)}, data, tuners, sigma=sigma, criterion="ml")


def two_valleys_rise(a: float) -> float:
    """The profile of a by itself: the lowest of a fine grid over b, polished by nothing."""
    b = np.linspace(-3, 3, 600_001)
    u, v, z = SPREADS.values()
    cost = ((b**2 - 1) / u) ** 2 + ((a + b - 1) / v) ** 2 + ((b - 1) / z) ** 2
    return float(cost.min())


def puromycin() -> es.Study:
    """V x/(K + x)."""
    tuners = [es.Tuner("V", start=200.0), es.Tuner("K", start=0.05, scale="log")]
    return static({"y": "V*x/(K + x)"}, {"x": CONCENTRATION}, {"y": VELOCITY}, tuners)


def two_decays() -> es.Study:
    """A sum of two exponentials whose rates are close: they may change places."""
    rng = np.random.default_rng(4)
    x = np.linspace(0, 8, 40)
    y = 3 * np.exp(-0.25 * x) + 2 * np.exp(-1.1 * x) + 0.03 * rng.standard_normal(40)
    starts = {"A": 3.0, "k": 0.25, "B": 2.0, "m": 1.1}
    tuners = [es.Tuner(n, start=v, min=0.02, max=20.0, scale="log") for n, v in starts.items()]
    return static({"y": "A*exp(-k*x) + B*exp(-m*x)"}, {"x": x}, {"y": y}, tuners, criterion="ml")


def frequency() -> es.Study:
    """A sine in much noise: the cost has an optimum at each side lobe."""
    rng = np.random.default_rng(11)
    x = np.linspace(0, 10, 60)
    y = np.sin(2.1 * x + 0.4) + 0.8 * rng.standard_normal(60)
    tuners = [
        es.Tuner("A", start=1.0, min=0.01, max=5.0),
        es.Tuner("w", start=2.1, min=0.5, max=4.0),
        es.Tuner("p", start=0.4, min=-4.0, max=4.0),
    ]
    return static({"y": "A*sin(w*x + p)"}, {"x": x}, {"y": y}, tuners, criterion="ml")


def nist(cases: Path, name: str) -> es.Study:
    """A certified regression from its second start."""
    problem = read_problem(cases / "nist_strd", name)
    tuners = [es.Tuner(n, start=v) for n, v in problem.starts[1].items()]
    return static(
        {"y": problem.formula}, problem.inputs, {"y": problem.y}, tuners, max_iterations=1000
    )


def simulated(
    text: str,
    outputs: Sequence[str],
    times: np.ndarray,
    noise: float,
    tuners: Sequence[es.Tuner],
    seed: int,
    folder: Path,
) -> es.Study:
    """A Modelica model with data of its own and noise; the starts of tuners are the truth."""
    path = folder / "Model.mo"
    path.write_text(text, encoding="utf-8")
    model = es.load_model(path)
    truth = model.simulate(times)
    rng = np.random.default_rng(seed)
    data = {n: np.asarray(truth[n]) + noise * rng.standard_normal(len(times)) for n in outputs}
    case = es.Case("run", pd.DataFrame({"t": times, **data}), outputs={n: n for n in outputs})
    return es.Study(model, tuners, [case], estimation=es.Estimation(criterion="ml"))


REACTION = """model Model
  parameter Real k1 = 0.8;
  parameter Real k2 = 0.4;
  parameter Real k3 = 0.3;
  parameter Real scale = 1.5;
  Real a(start = 1, fixed = true);
  Real b(start = 0, fixed = true);
  output Real y;
equation
  der(a) = -k1*a + k2*b;
  der(b) = k1*a - (k2 + k3)*b;
  y = scale*b;
end Model;
"""

PREDATORS = """model Model
  parameter Real birth = 1.1;
  parameter Real hunt = 0.5;
  parameter Real death = 0.7;
  parameter Real gain = 0.2;
  Real x(start = 2, fixed = true);
  Real z(start = 1, fixed = true);
  output Real y;
equation
  der(x) = birth*x - hunt*x*z;
  der(z) = gain*x*z - death*z;
  y = x;
end Model;
"""

#: two proteins A and B are phosphorylated in pairs, go into the nucleus and come back (Boehm et
#: al., J. Proteome Research 13, 2014): rates that act at once, and one that hardly acts
DIMERS = """model Model
  parameter Real fading = 0.027;
  parameter Real out_hetero = 1e-5;
  parameter Real out_homo = 0.0062;
  parameter Real in_hetero = 0.0164;
  parameter Real in_homo = 97750;
  parameter Real phos = 15766;
  constant Real cell = 1.4;
  constant Real nucleus = 0.45;
  constant Real total = 207.6;
  constant Real share = 0.693;
  constant Real s = 0.107;
  Real A(start = total*share, fixed = true);
  Real B(start = total*(1 - share), fixed = true);
  Real AB(start = 0, fixed = true);
  Real AA(start = 0, fixed = true);
  Real BB(start = 0, fixed = true);
  Real nAA(start = 0, fixed = true);
  Real nAB(start = 0, fixed = true);
  Real nBB(start = 0, fixed = true);
  Real signal;
  output Real pA;
  output Real pB;
  output Real rA;
equation
  signal = 1.25e-7*exp(-fading*time)*phos;
  der(A) = -2*signal*A^2 - signal*A*B + nucleus/cell*(2*out_homo*nAA + out_hetero*nAB);
  der(B) = -signal*A*B - 2*signal*B^2 + nucleus/cell*(out_hetero*nAB + 2*out_homo*nBB);
  der(AB) = signal*A*B - in_hetero*AB;
  der(AA) = signal*A^2 - in_homo*AA;
  der(BB) = signal*B^2 - in_homo*BB;
  der(nAA) = cell/nucleus*in_homo*AA - out_homo*nAA;
  der(nAB) = cell/nucleus*in_hetero*AB - out_hetero*nAB;
  der(nBB) = cell/nucleus*in_homo*BB - out_homo*nBB;
  pA = (100*AB + 200*AA*s)/(AB + A*s + 2*AA*s);
  pB = (100*AB + 200*BB*(1 - s))/(AB + B*(1 - s) + 2*BB*(1 - s));
  rA = (100*AB + 100*A*s + 200*AA*s)/(2*AB + A*s + 2*AA*s + B*(1 - s) + 2*BB*(1 - s));
end Model;
"""
_DIMERS = {
    "fading": 0.027,
    "out_hetero": 1e-5,
    "out_homo": 0.0062,
    "in_hetero": 0.0164,
    "in_homo": 97750.0,
    "phos": 15766.0,
}
_MEASURED = {"pA": "pSTAT5A_rel", "pB": "pSTAT5B_rel", "rA": "rSTAT5A_rel"}


def _dimer_tuners() -> list[es.Tuner]:
    return [es.Tuner(n, start=v, min=1e-5, max=1e5, scale="log") for n, v in _DIMERS.items()]


def dimers(folder: Path) -> es.Study:
    """Dimers with data of our own."""
    times = np.array([0, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 160, 200, 240.0])
    return simulated(DIMERS, list(_MEASURED), times, 4.0, _dimer_tuners(), 7, folder)


def published_dimers(collection: Path, folder: Path) -> es.Study:
    """Dimers with the measurements of Boehm et al., from the benchmark collection of PEtab."""
    name = "Boehm_JProteomeRes2014"
    rows = pd.read_csv(collection / name / f"measurementData_{name}.tsv", sep="\t")
    table = rows.pivot(index="time", columns="observableId", values="measurement").reset_index()
    path = folder / "Model.mo"
    path.write_text(DIMERS, encoding="utf-8")
    case = es.Case("Epo", table.rename(columns={"time": "t"}), outputs=_MEASURED)
    estimation = es.Estimation(criterion="ml")
    return es.Study(es.load_model(path), _dimer_tuners(), [case], estimation=estimation)


def reaction(folder: Path) -> es.Study:
    """A reversible reaction of which only the middle is seen, and that on an unknown scale."""
    starts = {"k1": 0.8, "k2": 0.4, "k3": 0.3, "scale": 1.5}
    tuners = [es.Tuner(n, start=v, min=1e-3, max=100.0, scale="log") for n, v in starts.items()]
    return simulated(REACTION, ["y"], np.linspace(0, 12, 25), 0.02, tuners, 5, folder)


def predators(folder: Path) -> es.Study:
    """Prey and predators, of whom nobody has counted the predators."""
    starts = {"birth": 1.1, "hunt": 0.5, "death": 0.7, "gain": 0.2}
    tuners = [es.Tuner(n, start=v, min=1e-2, max=10.0, scale="log") for n, v in starts.items()]
    return simulated(PREDATORS, ["y"], np.linspace(0, 20, 41), 0.6, tuners, 6, folder)


#: by name: the study, from the folder of reference cases and one to write to
PROBLEMS: dict[str, Callable[[Path, Path], es.Study]] = {
    "two valleys": lambda cases, folder: two_valleys(),
    "puromycin": lambda cases, folder: puromycin(),
    "two decays": lambda cases, folder: two_decays(),
    "frequency": lambda cases, folder: frequency(),
    "reaction": lambda cases, folder: reaction(folder),
    "predators": lambda cases, folder: predators(folder),
    "dimers": lambda cases, folder: dimers(folder),
    "MGH09": lambda cases, folder: nist(cases, "MGH09"),
    "Bennett5": lambda cases, folder: nist(cases, "Bennett5"),
    "Hahn1": lambda cases, folder: nist(cases, "Hahn1"),
    "Rat43": lambda cases, folder: nist(cases, "Rat43"),
}


def lowest_outside(fit: es.Fit, name: str, value: float, starts: int, seed: int) -> float:
    """The lowest cost of plain fits of all others with one tuner fixed at a value."""
    study = fit.study
    tuners = [
        replace(t, start=float(np.clip(fit[t.name], t.min, t.max)))
        for t in study.tuners
        if t.name != name
    ]
    cases = [replace(c, fix={**c.fix, name: value}) for c in study.cases]
    if not tuners:
        raise ValueError("there is nothing left to fit")
    estimation = replace(study.estimation, starts=starts, seed=seed)
    return es.fit(es.Study(study.model, tuners, cases, estimation=estimation)).cost
