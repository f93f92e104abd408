"""Local structural identifiability: published models whose answers are known, and both methods.

The answers are those of the papers named; where these treat states, they hold for start values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
from tests.estimate.problems import curve, rc_table

from estimica.base.errors import FitError
from estimica.estimate.objective.residuals import ResidualFunction
from estimica.estimate.setup import Setup, prepare
from estimica.infer.identifiability.structural import probe as structural_probe
from estimica.infer.identifiability.structural.run import Structural, structural
from estimica.infer.identifiability.structural.series import Loop
from estimica.infer.identifiability.structural.simulation_probe import SimulationProbe
from estimica.infer.identifiability.structural.taylor import Experiment, TaylorModel
from estimica.simulate.engine.options import Options
from estimica.simulate.load import load_model
from estimica.simulate.modelica.model import ModelicaModel
from estimica.study.case import Case
from estimica.study.study import Study
from estimica.study.tuner import Tuner


@dataclass(frozen=True)
class Published:
    """A model with its unknowns, and which of them are known not to be identifiable."""

    text: str
    starts: Mapping[str, float]  # parameters that are sought
    free: Sequence[str] = ()  # states whose start is unknown
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ("y",)
    lost: Sequence[str] = ()
    rank: int | None = None  # by default all that are not lost count one each
    determined: Sequence[str] = ()
    nonlinear: bool = True
    states: int = 3
    fix: Mapping[str, float] = field(default_factory=dict)


# R. Bellman, K. J. Åström: On structural identifiability. Math. Biosci. 7 (1970) 329-339; with
# leaks from both compartments only k01 + k21, k02 + k12 and k12·k21 are determined, see also
# K. Godfrey: Compartmental Models and Their Application, Academic Press 1983, chapter 6.
TWO_COMPARTMENTS = """model Two
  parameter Real k01 = 0.3; parameter Real k02 = {leak}; parameter Real k12 = 0.7;
  parameter Real k21 = 0.5; parameter Real V = 2;
  input Real u; Real x1(start = 0, fixed = true); Real x2(start = 0, fixed = true);
  output Real y = x1/V;
equation
  der(x1) = -(k01 + k21)*x1 + k12*x2 + u;
  der(x2) = k21*x1 - (k02 + k12)*x2;
end Two;"""

# C. Cobelli, A. Lepschy, G. Romanin Jacur: Identifiability results on some constrained
# compartmental systems. Math. Biosci. 47 (1979) 173-195: mammillary systems with one leak.
THREE_COMPARTMENTS = """model Three
  parameter Real k01 = 0.3; parameter Real k12 = 0.7; parameter Real k21 = 0.5;
  parameter Real k13 = 0.2; parameter Real k31 = 0.4;
  input Real u; Real x1(start = 0, fixed = true); Real x2(start = 0, fixed = true);
  Real x3(start = 0, fixed = true); output Real y = x1;
equation
  der(x1) = -(k01 + k21 + k31)*x1 + k12*x2 + k13*x3 + u;
  der(x2) = k21*x1 - k12*x2;
  der(x3) = k31*x1 - k13*x3;
end Three;"""

# Y. Lecourtier, F. Lamnabhi-Lagarrigue, E. Walter: A method to prove that nonlinear models can be
# unidentifiable. IEEE CDC 26 (1987) 2144-2145: p2·p4 only; p1 and p3 can be exchanged.
LECOURTIER = """model Lecourtier
  parameter Real p1 = 0.5; parameter Real p2 = 1.2; parameter Real p3 = 0.9;
  parameter Real p4 = 0.7; input Real u;
  Real x1(start = 0, fixed = true); Real x2(start = 0, fixed = true);
  Real x3(start = 0, fixed = true); output Real y = x3;
equation
  der(x1) = -p1*x1 + p2*u;
  der(x2) = -p3*x2 + p4*u;
  der(x3) = -(p1 + p3)*x3 + (p4*x1 + p2*x2)*u;
end Lecourtier;"""

# N. D. Evans, L. J. White, M. J. Chapman, K. R. Godfrey, M. J. Chappell: The structural
# identifiability of the susceptible infected recovered model with seasonal forcing.
# Math. Biosci. 194 (2005) 175-197; an unknown share of the infected is observed.
SIR = """model SIR
  parameter Real beta = 0.8; parameter Real gamma = 0.3; parameter Real k = 0.5;
  Real S(start = 1.2, fixed = true); Real I(start = 0.1, fixed = true);
  output Real y = k*I;
equation
  der(S) = -beta*S*I;
  der(I) = beta*S*I - gamma*I;
end SIR;"""

# N. Tuncer, T. T. Le: Structural and practical identifiability analysis of outbreak models.
# Math. Biosci. 299 (2018) 1-18; with N known all is determined, a and nu up to an exchange.
SEIR = """model SEIR
  parameter Real b = 0.9; parameter Real nu = 0.5; parameter Real a = 0.3; parameter Real k = 1;
  parameter Real N = 10;
  Real S(start = 8, fixed = true); Real E(start = 1, fixed = true);
  Real I(start = 0.7, fixed = true); output Real y = k*I;
equation
  der(S) = -b*S*I/N;
  der(E) = b*S*I/N - nu*E;
  der(I) = nu*E - a*I;
end SEIR;"""

# E. C. Lee et al.: Model distinguishability and inference robustness in mechanisms of cholera
# transmission and loss of immunity. J. Theor. Biol. 420 (2017) 68-81, eq. 3: identifiable.
CHOLERA = """model Cholera
  parameter Real mu = 0.2; parameter Real bi = 0.7; parameter Real bw = 1.1; parameter Real a = 0.3;
  parameter Real xi = 0.4; parameter Real gam = 0.25; parameter Real k = 0.6;
  Real S(start = 0.7, fixed = true); Real I(start = 0.2, fixed = true);
  Real W(start = 0.1, fixed = true); Real R(start = 0.1, fixed = true); output Real y = k*I;
equation
  der(S) = mu - bi*S*I - bw*S*W - mu*S + a*R;
  der(I) = bw*S*W + bi*S*I - (gam + mu)*I;
  der(W) = xi*(I - W);
  der(R) = gam*I - (mu + a)*R;
end Cholera;"""

# B. C. Goodwin: Oscillatory behavior in enzymatic control processes. Adv. Enzyme Regul. 3 (1965)
# 425-437; R. Dong, C. Goodbrake, H. Harrington, G. Pogudin: Differential elimination for dynamical
# models via projections. SIAM J. Appl. Algebra Geom. 7 (2023) 194-235: alpha and gama are lost.
GOODWIN = """model Goodwin
  parameter Real b = 0.4; parameter Real c = 0.6; parameter Real alpha = 0.8;
  parameter Real beta = 0.5; parameter Real gama = 0.7; parameter Real delta = 0.9;
  parameter Real sigma = 1.3;
  Real x1(start = 0.5, fixed = true); Real x2(start = 0.7, fixed = true);
  Real x3(start = 0.6, fixed = true); Real x4(start = 0.8, fixed = true); output Real y = x1;
equation
  der(x1) = -b*x1 + 1/(c + x4);
  der(x2) = alpha*x1 - beta*x2;
  der(x3) = gama*x2 - delta*x3;
  der(x4) = sigma*x4*(gama*x2 - delta*x3)/x3;
end Goodwin;"""

# D. Wodarz, M. A. Nowak: Specific therapy regimes could lead to long-term immunological control of
# HIV. PNAS 96 (1999) 14464-14469; two scalings, of x, y (with lm, q, c, k) and of v (beta, k).
HIV = """model HIV
  parameter Real lm = 1.1; parameter Real d = 0.2; parameter Real beta = 0.6; parameter Real a = 0.3;
  parameter Real k = 0.8; parameter Real u = 0.5; parameter Real c = 0.4; parameter Real q = 0.7;
  parameter Real b = 0.15; parameter Real h = 0.25;
  Real x(start = 1.0, fixed = true); Real y(start = 0.6, fixed = true);
  Real v(start = 0.7, fixed = true); output Real w(start = 0.4, fixed = true);
  output Real z(start = 0.3, fixed = true);
equation
  der(x) = lm - d*x - beta*x*v;
  der(y) = beta*x*v - a*y;
  der(v) = k*y - u*v;
  der(w) = c*x*y*w - c*q*y*w - b*w;
  der(z) = c*q*y*w - h*z;
end HIV;"""

# S. Demignot, D. Domurado: Effect of prosthetic sugar groups on the pharmacokinetics of
# glucose-oxidase. Drug Des. Deliv. 1 (1987) 333-348; identifiable from x1 alone, see M. P.
# Saccomani, S. Audoly, L. D'Angiò: Parameter identifiability of nonlinear systems: the role of
# initial conditions. Automatica 39 (2003) 619-632.
PHARMACOKINETICS = """model Pharmacokinetics
  parameter Real a1 = 0.5; parameter Real a2 = 0.7; parameter Real b1 = 0.4; parameter Real b2 = 0.6;
  parameter Real ka = 1.1; parameter Real kc = 0.9; parameter Real n = 0.8;
  Real x1(start = 1.0, fixed = true); Real x2(start = 0.5, fixed = true);
  Real x3(start = 0.8, fixed = true); Real x4(start = 0.3, fixed = true); output Real y = x1;
equation
  der(x1) = a1*(x2 - x1) - ka*n*x1/(kc*ka + kc*x3 + ka*x1);
  der(x2) = a2*(x1 - x2);
  der(x3) = b1*(x4 - x3) - kc*n*x3/(kc*ka + kc*x3 + ka*x1);
  der(x4) = b2*(x3 - x4);
end Pharmacokinetics;"""

# M. J. Chappell, K. R. Godfrey: Structural identifiability of the parameters of a nonlinear batch
# reactor model. Math. Biosci. 108 (1992) 241-251: from the biomass alone, with an unknown start
# of the substrate, Ks, Y and that start scale together.
BATCH = """model Batch
  parameter Real mu = 0.6; parameter Real Ks = 0.8; parameter Real Y = 0.5; parameter Real Kd = 0.05;
  Real x(start = 0.3, fixed = true); Real s(start = 2, fixed = true); output Real y = x;
equation
  der(x) = mu*s*x/(Ks + s) - Kd*x;
  der(s) = -mu*s*x/(Y*(Ks + s));
end Batch;"""

# R. N. Bergman, Y. Z. Ider, C. R. Bowden, C. Cobelli: Quantitative estimation of insulin
# sensitivity. Am. J. Physiol. 236 (1979) E667-E677: the minimal model with known basal values.
MINIMAL = """model Minimal
  parameter Real p1 = 0.03; parameter Real p2 = 0.02; parameter Real p3 = 1.3e-5;
  parameter Real G0 = 280; parameter Real Gb = 90; parameter Real Ib = 7; input Real I;
  Real G(start = G0, fixed = true); Real X(start = 0, fixed = true); output Real y = G;
equation
  der(G) = -(p1 + X)*G + p1*Gb;
  der(X) = -p2*X + p3*(I - Ib);
end Minimal;"""

# V. Volterra's predators and prey, the prey observed: b and the predators scale together, as in
# A. Sedoglavic: A probabilistic algorithm to test local algebraic observability in polynomial
# time. J. Symb. Comput. 33 (2002) 735-755 it is decided.
PREDATORS = """model Predators
  parameter Real a = 0.8; parameter Real b = 0.5; parameter Real c = 0.6; parameter Real d = 0.4;
  input Real u; output Real y(start = 1.0, fixed = true); Real x(start = 0.7, fixed = true);
equation
  der(y) = a*y - b*y*x + u;
  der(x) = -c*x + d*y*x;
end Predators;"""

# The oscillator of B. C. Goodwin (1965) with the power of J. S. Griffith: Mathematics of cellular
# control processes. J. Theor. Biol. 20 (1968) 202-208. Scaling x2 and x3 is absorbed by alpha, gama
# and K: with unknown starts two directions are lost, and K/(alpha·gama) is determined.
GRIFFITH = """model Griffith
  parameter Real a = 1; parameter Real K = 0.5; parameter Real n = 10; parameter Real b = 0.1;
  parameter Real alpha = 0.3; parameter Real beta = 0.1; parameter Real gama = 0.2;
  parameter Real delta = 0.1;
  Real x1(start = 0.3, fixed = true); Real x2(start = 0.9, fixed = true);
  Real x3(start = 1.3, fixed = true); output Real y = x1;
equation
  der(x1) = a*K^n/(K^n + x3^n) - b*x1;
  der(x2) = alpha*x1 - beta*x2;
  der(x3) = gama*x2 - delta*x3;
end Griffith;"""

# The reaction of L. Michaelis and M. L. Menten (Biochem. Z. 49 (1913) 333-369) without a steady
# state: from y = S the complex is C = (y' + k1 e0 y)/(k1 y + k2), and its own equation tells all
# rates. With an unknown scale s of the sensor S, C and e0 scale with 1/s, k1 with s.
ENZYME = """model Enzyme
  parameter Real k1 = 0.9; parameter Real k2 = 0.4; parameter Real k3 = 0.6; parameter Real e0 = 0.5;
  parameter Real s = 1.0; Real S(start = 2, fixed = true); Real C(start = 0, fixed = true);
  output Real y = s*S;
equation
  der(S) = -k1*(e0 - C)*S + k2*C;
  der(C) = k1*(e0 - C)*S - (k2 + k3)*C;
end Enzyme;"""

RATES = {"k01": 0.3, "k12": 0.7, "k21": 0.5, "V": 2.0}
GOODWIN_STARTS = {
    "b": 0.4, "c": 0.6, "alpha": 0.8, "beta": 0.5, "gama": 0.7, "delta": 0.9, "sigma": 1.3
}  # fmt: skip
HIV_STARTS = {"lm": 1.1, "d": 0.2, "beta": 0.6, "a": 0.3, "k": 0.8, "u": 0.5, "c": 0.4,
              "q": 0.7, "b": 0.15, "h": 0.25}  # fmt: skip

MODELS = {
    "two compartments, one leak": Published(
        TWO_COMPARTMENTS.format(leak=0), RATES, inputs=("u",), nonlinear=False, states=2
    ),
    "two compartments, two leaks": Published(
        TWO_COMPARTMENTS.format(leak=0.2), RATES | {"k02": 0.2}, inputs=("u",), nonlinear=False,
        states=2, lost=("k01", "k02", "k12", "k21"), rank=4,
        determined=("k01 + k21", "k12·k21", "k12 + k02"),
    ),
    "three compartments": Published(
        THREE_COMPARTMENTS, {"k01": 0.3, "k12": 0.7, "k21": 0.5, "k13": 0.2, "k31": 0.4},
        inputs=("u",), nonlinear=False,
    ),
    "Lecourtier": Published(
        LECOURTIER, {"p1": 0.5, "p2": 1.2, "p3": 0.9, "p4": 0.7}, inputs=("u",),
        lost=("p2", "p4"), rank=3, determined=("p2·p4",),
    ),
    "SIR, share unknown": Published(
        SIR, {"beta": 0.8, "gamma": 0.3, "k": 0.5}, ("S", "I"), states=2,
        lost=("beta", "k", "start of S in run", "start of I in run"), rank=4,
    ),
    "SIR, share known": Published(SIR, {"beta": 0.8, "gamma": 0.3}, ("S", "I"), states=2),
    "SEIR, N known": Published(SEIR, {"b": 0.9, "nu": 0.5, "a": 0.3}, ("S", "E", "I")),
    "SEIR, share unknown": Published(
        SEIR, {"b": 0.9, "nu": 0.5, "a": 0.3, "k": 1.0}, ("S", "E", "I"),
        lost=("b", "k", *(f"start of {n} in run" for n in "SEI")), rank=6,
    ),
    "cholera": Published(
        CHOLERA,
        {"mu": 0.2, "bi": 0.7, "bw": 1.1, "a": 0.3, "xi": 0.4, "gam": 0.25, "k": 0.6},
        ("S", "I", "W", "R"), states=4,
    ),
    "Goodwin, starts unknown": Published(
        GOODWIN, GOODWIN_STARTS, ("x1", "x2", "x3", "x4"), states=4,
        lost=("alpha", "gama", "start of x2 in run", "start of x3 in run"), rank=9,
    ),
    "Goodwin, x2 and x3 known": Published(GOODWIN, GOODWIN_STARTS, ("x1", "x4"), states=4),
    "HIV": Published(
        HIV, HIV_STARTS, ("x", "y", "v"), outputs=("w", "z"), states=5,
        lost=("lm", "beta", "k", "c", "q", *(f"start of {n} in run" for n in "xyv")), rank=11,
    ),
    "HIV, starts known": Published(HIV, HIV_STARTS, outputs=("w", "z"), states=5),
    "pharmacokinetics": Published(
        PHARMACOKINETICS,
        {"a1": 0.5, "a2": 0.7, "b1": 0.4, "b2": 0.6, "ka": 1.1, "kc": 0.9, "n": 0.8},
        ("x1", "x2", "x3", "x4"), states=4,
    ),
    "batch reactor": Published(
        BATCH, {"mu": 0.6, "Ks": 0.8, "Y": 0.5, "Kd": 0.05}, ("x", "s"), states=2,
        lost=("Ks", "Y", "start of s in run"), rank=5,
    ),
    "minimal model of glucose": Published(
        MINIMAL, {"p1": 0.03, "p2": 0.02, "p3": 1.3e-5, "G0": 280.0}, inputs=("I",), states=2
    ),
    "Goodwin with Griffith's power": Published(
        GRIFFITH,
        {"a": 1.0, "K": 0.5, "n": 10.0, "b": 0.1, "alpha": 0.3, "beta": 0.1, "gama": 0.2,
         "delta": 0.1},
        ("x1", "x2", "x3"), rank=9, determined=("K/(alpha·gama)",),
        lost=("K", "alpha", "gama", "start of x2 in run", "start of x3 in run"),
    ),
    "enzyme": Published(
        ENZYME, {"k1": 0.9, "k2": 0.4, "k3": 0.6, "e0": 0.5}, ("S",), states=2
    ),
    "enzyme, sensor not calibrated": Published(
        ENZYME, {"k1": 0.9, "k2": 0.4, "k3": 0.6, "e0": 0.5, "s": 1.0}, ("S",), states=2,
        lost=("k1", "e0", "s", "start of S in run"), rank=5,
    ),
    "predators": Published(
        PREDATORS, {"a": 0.8, "b": 0.5, "c": 0.6, "d": 0.4}, ("x",), inputs=("u",), states=2,
        lost=("b", "start of x in run"), rank=4, determined=("b·(start of x in run)",),
    ),
}  # fmt: skip


def study_of(one: Published) -> Study:
    """A study with some data: they are not looked at."""
    time = np.linspace(0, 10, 30)
    table = pd.DataFrame({"time": time})
    for k, name in enumerate(one.inputs):
        table[name] = 1 + np.sin(time + k)
    for name in one.outputs:
        table[name] = 1.0
    case = Case(
        "run",
        table,
        inputs={n: n for n in one.inputs},
        outputs={n: n for n in one.outputs},
        free_start=tuple(one.free),
        fix=dict(one.fix),
    )
    tuners = [Tuner(n, start=v) for n, v in one.starts.items()]
    return Study(load_model(one.text), tuners, [case])


def check(found: Structural, one: Published) -> None:
    assert {n for n, ok in found.identifiable.items() if not ok} == set(one.lost)
    assert found.rank == (len(found.identifiable) if one.rank is None else one.rank)
    said = {i.text for g in found.groups for i in g.invariants}
    assert set(one.determined) <= said


@pytest.mark.parametrize("name", MODELS)
def test_published_model_is_judged_as_in_the_literature(name: str) -> None:
    found = structural(study_of(MODELS[name]))
    assert found.method == "Taylor series"
    check(found, MODELS[name])
    # the decision leaves no doubt: what counts is far from what does not
    assert found.kept > (1e-6 if "power" in name else 1e-5)
    assert found.dropped < 1e-90


def test_the_published_models_are_of_both_kinds_and_hard_enough() -> None:
    hard = {m.text for m in MODELS.values() if m.nonlinear and m.states >= 3}
    assert len({m.text for m in MODELS.values()}) >= 8
    assert len(hard) >= 4
    assert any(m.lost for m in MODELS.values() if m.text in hard)
    assert any(not m.lost for m in MODELS.values() if m.text in hard)


@pytest.mark.parametrize(
    "name", ["two compartments, two leaks", "Lecourtier", "SIR, share unknown", "batch reactor"]
)
def test_simulations_with_random_inputs_come_to_the_same_verdict(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulated(setup: Setup, objective: ResidualFunction) -> tuple[SimulationProbe, str]:
        return SimulationProbe(setup, objective), "as a test"

    monkeypatch.setattr("estimica.infer.identifiability.structural.run.probe_of", simulated)
    found = structural(study_of(MODELS[name]))
    assert (found.method, found.exact) == ("simulation", False)
    assert found.text.startswith("numerically, near these values: whatever the data, only")
    check(found, MODELS[name])


def drawn(one: Published, seed: int) -> Published:
    """The same model elsewhere: a factor of two for one standard deviation."""
    random = np.random.default_rng(seed)
    values = {n: v * np.exp(0.7 * random.standard_normal()) for n, v in one.starts.items()}
    return replace(one, starts=values, determined=())


def draws_agree(
    name: str, seeds: Sequence[int], numerical: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulated(setup: Setup, objective: ResidualFunction) -> tuple[SimulationProbe, str]:
        return SimulationProbe(setup, objective), "as a test"

    if numerical:
        monkeypatch.setattr("estimica.infer.identifiability.structural.run.probe_of", simulated)
    for seed in seeds:
        check(structural(study_of(drawn(MODELS[name], seed)), seed=seed), MODELS[name])


@pytest.mark.parametrize("seed", [0, 3, 13])  # saturated nearly everywhere
def test_the_numerical_verdict_on_goodwins_oscillator_does_not_depend_on_the_draw(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws_agree("Goodwin with Griffith's power", [seed], True, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("numerical", [True, False])
@pytest.mark.parametrize(
    "name",
    ["Goodwin with Griffith's power", "Goodwin, starts unknown", "two compartments, two leaks",
     "SIR, share unknown", "batch reactor", "enzyme", "enzyme, sensor not calibrated", "HIV"],
)  # fmt: skip
def test_twenty_draws_of_a_published_model_agree_with_the_literature(
    name: str, numerical: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws_agree(name, range(20), numerical, monkeypatch)


# A cascade whose parameters spread over sixteen decades, as those of cell models do; its dose ends
# at a known time. One dose leaves a scale open (k and the receptors turn over together), two do not.
CASCADE = """model Cascade
  parameter Real R0 = 3e7; parameter Real turn = 1.5e-3; parameter Real k1 = 3.7e-3;
  parameter Real k2 = 2.3e-3; parameter Real k3 = 9e-4; parameter Real k4 = 6e4;
  parameter Real k5 = 0.43; parameter Real k6 = 0.03; parameter Real k7 = 0.012;
  parameter Real A0 = 0.027; parameter Real g1 = 5.6e-8; parameter Real g2 = 41;
  parameter Real dose = 1; Real R(start = R0, fixed = true); Real B(start = 0, fixed = true);
  Real P(start = 0, fixed = true); Real A(start = A0, fixed = true); Real C(start = 0, fixed = true);
  Real Q(start = 0, fixed = true); Real L; output Real y = g1*(P + C); output Real z = g2*Q;
equation
  L = if time < 3000 then dose else 0;
  der(R) = -(k1*L*R - k2*B) - turn*(R - 68190);
  der(B) = k1*L*R - k2*B - k6*B;
  der(P) = k6*B - k6*P - (k3*A*P - k4*C) + k5*C;
  der(A) = k7*Q - (k3*A*P - k4*C);
  der(C) = k3*A*P - k4*C - k5*C;
  der(Q) = k5*C - k7*Q;
end Cascade;"""


def test_sixteen_decades_of_parameters_are_judged_exactly_up_to_the_first_event() -> None:
    model = load_model(CASCADE)
    assert isinstance(model, ModelicaModel)
    wanted = [n for n in model.system.parameters if n != "dose"]
    values = {q.name: q.value for q in model.quantities()}
    time = np.linspace(0, 3600, 13)
    table = pd.DataFrame({"time": time, "y": 1.0, "z": 1.0})
    cases = [
        Case(f"run {dose}", table, outputs={"y": "y", "z": "z"}, fix={"dose": dose})
        for dose in (0.1, 30.0)
    ]
    tuners = [Tuner(n, start=float(str(values[n])), scale="log") for n in wanted]
    for seed in range(3):
        found = structural(Study(model, tuners, cases), seed=seed)
        assert (found.rank, found.n, found.exact) == (12, 12, True)


def test_a_power_of_a_state_that_starts_at_zero_is_judged_by_simulation() -> None:
    # x^1.5 has no power series at zero
    text = """model Power
      parameter Real a = 1; parameter Real K = 0.5; parameter Real b = 2; input Real u;
      Real x(start = 0, fixed = true); output Real y(start = 0, fixed = true);
    equation
      der(x) = u - b*x; der(y) = a*x^1.5/(K + x^1.5) - y;
    end Power;"""
    one = Published(text, {"a": 1.0, "K": 0.5, "b": 2.0}, inputs=("u",))
    found = structural(study_of(one))
    assert (found.method, found.because) == ("simulation", "it has no power series at its start")
    check(found, one)


def test_only_the_product_of_resistance_and_capacity_can_ever_be_determined() -> None:
    model, table = rc_table()
    case = Case("run", table, inputs={"u": "u"}, outputs={"v": "v"})
    found = structural(Study(model, [Tuner("R", start=2.0), Tuner("C", start=1.0)], [case]))
    assert (found.rank, found.n) == (1, 2)
    assert found.text == "whatever the data, only R·C is determined of 'R' and 'C'"


def test_a_variable_that_would_tell_them_apart_is_named() -> None:
    found = structural(study_of(MODELS["predators"]))
    assert found.helpful == {"x": 5}
    assert found.text.endswith("; measuring 'x' too would determine all")


def test_sums_of_conductances_in_a_circuit_of_linear_equations_are_found() -> None:
    # two conductances side by side: the equations of the node are solved together
    text = """model Parallel
      parameter Real G1 = 1; parameter Real G2 = 2; parameter Real C = 0.5;
      Real i1; Real i2; Real w; input Real u; output Real v(start = 0, fixed = true);
    equation
      C*der(v) = i1 + i2; i1 = G1*w; i2 = G2*w; w + 0.1*i1 + 0.1*i2 = u - v;
    end Parallel;"""
    one = Published(
        text, {"G1": 1.0, "G2": 2.0, "C": 0.5}, inputs=("u",), outputs=("v", "w"),
        lost=("G1", "G2"), rank=2, determined=("G1 + G2",),
    )  # fmt: skip
    study = study_of(one)
    assert isinstance(study.model, ModelicaModel)
    steps = TaylorModel(study.model.system, ["v", "w"]).steps
    assert any(isinstance(s, Loop) for s in steps)
    found = structural(study)
    assert found.method == "Taylor series"
    check(found, one)


FUNCTIONS = """model Functions
  parameter Real a = 0.7; parameter Real b = 0.4; parameter Real c = 1.3; parameter Real d = 0.2;
  input Real u; Real x(start = 0.6, fixed = true); Real z(start = 0.3, fixed = true);
  output Real y = x + log(2 + z);
equation
  der(x) = -a*sin(x) + b*exp(-x)*cos(z) + tanh(c*u) + d*sqrt(1 + x^2);
  der(z) = -a*atan(z) + b*abs(x)^1.5 - d*z^3/(1 + z^2) + asin(0.1*x) + log10(3 + u) + sinh(0.1*z);
end Functions;"""


def test_series_agrees_with_the_simulation_near_the_start() -> None:
    model = load_model(FUNCTIONS)
    names = ("a", "b", "c", "d", "x")
    values = {"a": 0.7, "b": 0.4, "c": 1.3, "d": 0.2, "x": 0.6}
    with localcontext() as context:
        context.prec = 50
        experiment = Experiment(names, values, {"u": (0.5, 0.25)}, 0.0, 1.0)
        series = TaylorModel(model.system, ["y"]).series(experiment, 24)
        table = np.array([series.advance()[0] for _ in range(24)])
        t = Decimal("0.1")
        summed = sum(row * t**k for k, row in enumerate(table))
    run = model.response(
        [0.0, 0.1],
        {"u": {"time": np.array([0.0, 1.0]), "value": np.array([0.5, 0.75]), "hold": "linear"}},
        outputs=["y"],
        wrt=names,
        options=Options(rtol=1e-12, atol=1e-14),
    ).at(np.array([values[n] for n in names]))
    exact = np.array([run.Y[1, 0], *run.YS[1, 0]])
    assert summed.astype(float) == pytest.approx(exact, rel=1e-9)


def test_a_model_with_events_is_judged_by_simulation_and_says_why() -> None:
    text = """model Limited
      parameter Real a = 1; parameter Real b = 2; parameter Real c = 0.5; input Real u;
      output Real y(start = 0, fixed = true);
    equation
      der(y) = -a*y + b*c*(if u > 0.5 then u else 0.5);
    end Limited;"""
    one = Published(
        text, {"a": 1.0, "b": 2.0, "c": 0.5}, inputs=("u",), lost=("b", "c"), rank=2,
        determined=("b·c",),
    )  # fmt: skip
    found = structural(study_of(one))
    assert (found.method, found.because) == ("simulation", "it has events")
    check(found, one)


def test_formulas_are_judged_at_random_points() -> None:
    x = np.linspace(0, 1, 5)
    found = structural(curve("a*exp(-b*c*x)", x, np.exp(-x), {"a": 1.0, "b": 2.0, "c": 0.5}))
    assert found.rank == 2
    assert [i.text for g in found.groups for i in g.invariants] == ["b·c"]


def test_an_input_that_the_study_holds_at_a_number_stays_there() -> None:
    one = MODELS["predators"]
    study = study_of(Published(one.text, {"a": 0.8, "d": 0.4}, inputs=("u",)))
    table = study.cases[0].data
    still = Case("run", table, inputs={"u": 0.0}, outputs={"y": "y"}, fix={"y": 0.0})
    found = structural(study.with_(cases=[still]))  # without prey or supply nothing ever happens
    assert found.rank == 0
    assert found.text.startswith("'a' cannot be seen in the measured outputs, whatever the data")


def test_the_same_seed_gives_the_same_verdict() -> None:
    first, again = (structural(study_of(MODELS["SIR, share unknown"]), seed=4) for _ in range(2))
    assert first == again


def test_a_study_without_unknowns_has_nothing_to_judge() -> None:
    study = study_of(MODELS["predators"])
    bare = study.with_(tuners=[], cases=[Case("run", study.cases[0].data, outputs={"y": "y"})])
    with pytest.raises(FitError, match=r"F060: study 'Predators' has no unknowns; add a tuner"):
        structural(bare)


def test_a_model_that_cannot_be_evaluated_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for probe in (structural_probe.SeriesProbe, SimulationProbe):
        monkeypatch.setattr(probe, "at", lambda *_: None)
    with pytest.raises(FitError, match=r"F061: the model cannot be evaluated near these values"):
        structural(study_of(MODELS["predators"]))


def test_a_model_whose_series_take_too_long_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structural_probe, "LONGEST", 0.0)
    found = structural(study_of(MODELS["predators"]))
    assert (found.method, found.because) == ("simulation", "its power series take too long")
    check(found, MODELS["predators"])


def test_each_case_brings_its_own_unknowns() -> None:
    one = MODELS["predators"]
    study = study_of(one)
    first = study.cases[0]
    cases = [Case(n, first.data, inputs=first.inputs, outputs=first.outputs, free_start=("x",))
             for n in ("run 1", "run 2")]  # fmt: skip
    found = structural(study.with_(cases=cases))
    assert (found.rank, found.n) == (5, 6)
    assert len(prepare(study.with_(cases=cases)).calibration().unknowns) == 6
