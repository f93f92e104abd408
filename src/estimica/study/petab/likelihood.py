"""Likelihood: how probable the measurements of a PEtab problem are, with its gradient.

As the PEtab documentation defines it: every sample takes log σ + log(2π)/2 + ((m - y)/σ)²/2 from
the logarithm of the likelihood, or log 2σ + |m - y|/σ with Laplace noise, where m and y are
transformed, and the logarithm of the slope of the transformation at m is added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError, StudyError
from estimica.compiled.model.interface import Model
from estimica.flat import calculus
from estimica.flat import expression as ex
from estimica.flat.evaluate import evaluate
from estimica.flat.expression import Expression
from estimica.study.estimation import Solver
from estimica.study.petab.build import PetabModel, Sample
from estimica.study.petab.problem import Observable

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_LN10 = math.log(10.0)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The logarithm of the likelihood at one point, and what it was computed from."""

    value: float
    chi2: float
    simulated: Mapping[str, Vector]  # one number for each sample of an experiment
    sigma: Mapping[str, Vector]
    gradient: Mapping[str, float]  # by the estimated parameters on their linear scale


class LikelihoodEvaluator:
    """Computes likelihoods of one problem at many points."""

    def __init__(
        self, built: PetabModel, model: Model, solver: Solver, *, slopes: bool = False
    ) -> None:
        self.built, self.model, self.solver = built, model, solver
        self.estimated = built.problem.estimated if slopes else ()
        self._experiments = {n: _Case(self, n) for n in built.courses}

    def at(self, values: Mapping[str, float] | None = None) -> Likelihood:
        """The likelihood where estimated parameters have these values; else nominal ones."""
        known = {**self.built.problem.nominal, **(values or {})}
        for name in set(values or {}) - set(self.built.problem.parameters):
            raise StudyError("Q130", f"there is no parameter '{name}' in the parameter table")
        parts = {n: case.at(known) for n, case in self._experiments.items()}
        gradient = dict.fromkeys(self.estimated, 0.0)
        for part in parts.values():
            for n, slope in part.gradient.items():
                gradient[n] += slope
        return Likelihood(
            sum(p.value for p in parts.values()),
            sum(p.chi2 for p in parts.values()),
            {n: p.simulated for n, p in parts.items()},
            {n: p.sigma for n, p in parts.items()},
            gradient,
        )


@dataclass(frozen=True, eq=False)
class _Part:
    value: float
    chi2: float
    simulated: Vector
    sigma: Vector
    gradient: Mapping[str, float]


class _Case:
    """One experiment: the model's parameters as functions of the problem's."""

    def __init__(self, judge: LikelihoodEvaluator, name: str) -> None:
        built = judge.built
        self.name, self.judge = name, judge
        self.samples = built.samples[name]
        self.course = built.courses[name]
        aliases = built.problem.aliases
        own = {aliases.get(n, n): ex.name(n) for n in built.problem.parameters}
        self.settings: dict[str, Expression] = {**own, **_own(self.course.settings, aliases)}
        free = set(judge.estimated)
        self.wrt = tuple(n for n, e in self.settings.items() if ex.names_in(e) & free)
        self.slopes = {
            n: {
                p: calculus.partial(self.settings[n], ex.name(p))
                for p in sorted(ex.names_in(self.settings[n]) & free)
            }
            for n in self.wrt
        }
        wanted = [s.output.name for s in self.samples]
        wanted += [s.noise.variable for s in self.samples if s.noise.variable]
        self.names = tuple(dict.fromkeys(wanted))
        self.times = np.unique([s.time for s in self.samples])
        place = {n: k for k, n in enumerate(self.names)}
        self.rows = np.searchsorted(self.times, [s.time for s in self.samples])
        self.columns = np.array([place[s.output.name] for s in self.samples])
        self.noise_columns = np.array([place.get(s.noise.variable, -1) for s in self.samples])

    def at(self, values: Mapping[str, float]) -> _Part:
        """Simulate at these values of the problem's parameters, and compare."""
        given = {n: evaluate(e, values) for n, e in self.settings.items()}
        judge = self.judge
        response = judge.model.response(
            self.times,
            None,
            given,
            outputs=self.names,
            wrt=self.wrt,
            begin=self.course.begin,
            options=judge.solver.options,
        )
        run = response.at()
        if not run.ok:
            raise SimulationError("R090", f"experiment '{self.name}': {run.text}")
        simulated = run.Y[self.rows, self.columns]
        known = np.array([s.noise.known or math.nan for s in self.samples])
        open_ = self.noise_columns >= 0
        sigma = np.where(open_, run.Y[self.rows, self.noise_columns], known)
        value, chi2, by_y, by_sigma = log_likelihood_of_samples(self.samples, simulated, sigma)
        gradient = dict.fromkeys(judge.estimated, 0.0)
        if self.wrt:
            Y = run.YS[self.rows, self.columns]
            S = np.where(open_[:, None], run.YS[self.rows, self.noise_columns], 0.0)
            total = by_y @ Y + by_sigma @ S
            for k, n in enumerate(self.wrt):
                for p, slope in self.slopes[n].items():
                    gradient[p] += float(total[k]) * evaluate(slope, values)
        return _Part(value, chi2, simulated, sigma, gradient)


def _own(settings: Mapping[str, Expression], aliases: Mapping[str, str]) -> dict[str, Expression]:
    """Settings in the names of the tables."""
    names = {inner: outer for outer, inner in aliases.items()}

    def leaf(e: Expression) -> Expression:
        return ex.name(names.get(e.target, e.target)) if e.op == "name" else e

    return {n: ex.rewrite([e], leaf)[0] for n, e in settings.items()}


def log_likelihood_of_samples(
    samples: Sequence[Sample], simulated: Vector, sigma: Vector
) -> tuple[float, float, Vector, Vector]:
    """Log-likelihood and χ² of samples, and the slopes of the first by each y and each σ."""
    value, chi2 = 0.0, 0.0
    by_y, by_sigma = np.zeros(len(samples)), np.zeros(len(samples))
    for k, sample in enumerate(samples):
        y, s = float(simulated[k]), float(sigma[k])
        if not s > 0:
            raise StudyError(
                "Q131", f"the noise of '{sample.output.name}' is {s:g}; it must be positive"
            )
        observable = sample.output.observable
        seen, jacobian = _transformed(observable, sample.value)
        expected, _ = _transformed(observable, y)
        slope = _slope(observable, y)
        r = (expected - seen) / s
        chi2 += r * r
        if observable.distribution == "laplace":
            value -= math.log(2.0 * s) + abs(r) - jacobian
            by_y[k] = -math.copysign(1.0, r) * slope / s
            by_sigma[k] = (abs(r) - 1.0) / s
        else:
            value -= math.log(s) + _HALF_LOG_TWO_PI + 0.5 * r * r - jacobian
            by_y[k] = -r * slope / s
            by_sigma[k] = (r * r - 1.0) / s
    return value, chi2, by_y, by_sigma


def jacobian_of(built: PetabModel) -> float:
    """What the transformations of all measurements add to the logarithm of the likelihood."""
    samples = (s for own in built.samples.values() for s in own)
    return sum(_transformed(s.output.observable, s.value)[1] for s in samples)


def _transformed(observable: Observable, x: float) -> tuple[float, float]:
    """A value on the scale of the comparison, and the logarithm of the slope there."""
    if observable.transformation == "lin":
        return x, 0.0
    if x <= 0:
        return math.nan, math.nan
    if observable.transformation == "log":
        return math.log(x), -math.log(x)
    return math.log10(x), -math.log(x * _LN10)


def _slope(observable: Observable, x: float) -> float:
    if observable.transformation == "lin":
        return 1.0
    return 1.0 / x if observable.transformation == "log" else 1.0 / (x * _LN10)
