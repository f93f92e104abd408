"""By hand: the tuners set to any values, and at once how well the model then meets the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base import view
from estimica.base.arrays import Vector
from estimica.base.errors import FitError, SimulationError
from estimica.base.result import DONE, Outcome, Result, plain_object
from estimica.base.suggest import did_you_mean
from estimica.base.thinning import thin_element
from estimica.compiled.model.interface import Evaluation, Model
from estimica.estimate.conclusion.comparison import calibrated
from estimica.estimate.fit.outputs import CaseFit, joined_stretches
from estimica.estimate.fit.pictures import picture as fit_picture
from estimica.estimate.fit.result import Fit, Identifiability, fit_outcome
from estimica.estimate.identify.accuracy import Accuracy
from estimica.estimate.objective.cost import Objective, Point, scored_by
from estimica.estimate.objective.predictor import (
    CasePredictor,
    Failure,
    Prediction,
    Predictor,
    split,
)
from estimica.estimate.objective.residuals import Evaluations, ResidualFunction
from estimica.estimate.search.run import Status
from estimica.estimate.setup import prepare
from estimica.estimate.unknowns import Unknown, Unknowns
from estimica.execute.threads import one_thread
from estimica.simulate.failure import failure_text
from estimica.simulate.response import Response, numbers
from estimica.study.study import Study

POINTS = 600  # of a curve


@dataclass(frozen=True, eq=False, repr=False)
class HandFit(Result):
    """Measured and simulated curves at some values, and how far they are apart."""

    presenter = "estimica.estimate.by_hand"

    study: str  # what the study is called
    values: Mapping[str, float]  # of all tuners, start values and disturbances
    cost: float  # infinite where a simulation failed
    fit_percent: Mapping[str, Mapping[str, float]]  # by case and output; 100 is perfect
    errn: Mapping[str, Mapping[str, float]]  # the normed error in percent, for those who ask
    curves: view.Curves  # measured and simulated, to be drawn
    failure: str = ""  # why there is nothing to see

    @property
    def outcome(self) -> Outcome:
        """Whether there is something to see."""
        return Outcome("failed", self.failure, ok=False) if self.failure else DONE


def tables(hand_fit: HandFit) -> tuple[view.Table]:
    """How well every output is met."""
    rows = tuple(
        (case, output, view.Rounded(percent, 3))
        for case, outputs in hand_fit.fit_percent.items()
        for output, percent in outputs.items()
    )
    note = hand_fit.failure or f"cost {hand_fit.cost:.7g}"
    return (view.Table(("case", "output", "fit %"), rows, f"{hand_fit.study}, by hand", note),)


def picture(hand_fit: HandFit, kind: str = "", names: Sequence[str] = ()) -> view.Curves:
    """The curves; there is one picture."""
    return hand_fit.curves


def as_object(hand_fit: HandFit) -> dict[str, object]:
    """All but the curves as plain values; what is not finite is None."""
    return plain_object(
        {
            "values": dict(hand_fit.values),
            "cost": hand_fit.cost,
            "fit_percent": hand_fit.fit_percent,
            "errn": hand_fit.errn,
            "failure": hand_fit.failure,
        }
    )


class ByHand:
    """A study prepared once; each look at other values is one simulation of every case."""

    def __init__(self, study: Study, *, points: int = POINTS) -> None:
        self._points = points
        self._setup = setup = prepare(study)
        study = setup.study  # in stretches, where its data have gaps
        self._fitted = without_derivatives(study, setup.calibration(), setup.held)
        self._others: ResidualFunction | None = None
        if setup.of_role("validate"):
            self._others = without_derivatives(study, setup.unfitted(), setup.held)
        self._scored: Objective | None = None

    @property
    def unknowns(self) -> tuple[Unknown, ...]:
        """What can be set: tuners, and start values and disturbances of calibrating cases."""
        return self._fitted.unknowns.items

    def at(self, values: Mapping[str, float] | None = None) -> HandFit:
        """The model beside the data at these values; what is not named keeps its start.

        A simulation that fails is a value too: `failure` says why.
        """
        chosen, theirs = self._chosen(values or {})
        named, name = self._fitted.unknowns.named(chosen), self._setup.study.name
        with one_thread():
            tried = self._fit(chosen, theirs)
            if isinstance(tried, Failure):
                words = f"case '{tried.case}' cannot be simulated at these values: {tried.message}"
                return HandFit(name, named, math.inf, {}, {}, view.Curves(()), words)
            curves = thin_element(fit_picture(tried), self._points)
        met = [c for c in tried.cases if c.outputs]
        percent = {c.name: {o.name: o.fit_percent for o in c.outputs} for c in met}
        errn = {c.name: {o.name: o.errn_percent for o in c.outputs} for c in met}
        return HandFit(name, named, tried.cost, percent, errn, curves)

    def fit(self, values: Mapping[str, float] | None = None) -> Fit:
        """A fit that ends at these values without a search: to be drawn and written, not judged."""
        with one_thread():
            tried = self._fit(*self._chosen(values or {}))
        if isinstance(tried, Failure):
            raise FitError(
                "F142",
                f"case '{tried.case}' cannot be simulated at these values: {tried.message}",
            )
        return tried

    def _chosen(self, values: Mapping[str, float]) -> tuple[Vector, Vector]:
        """Values of all unknowns, and of those of the validating cases."""
        unknowns, others = self._fitted.unknowns, self._others and self._others.unknowns
        chosen, theirs = _starts(unknowns), _starts(others) if others else np.zeros(0)
        labels = [u.label for u in unknowns.items]
        further = [u.label for u in others.items] if others else []
        for name, value in values.items():
            if name not in labels and name not in further:
                hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
                raise FitError("F140", f"by hand: there is no '{name}' to be set{hint}")
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
                raise FitError(
                    "F141", f"by hand: '{name}' is set to {value!r}, which is not a number"
                )
            if not math.isfinite(value):
                raise FitError("F141", f"by hand: '{name}' is set to {value}; give a finite number")
            if name in labels:
                chosen[labels.index(name)] = value
            if name in further:
                theirs[further.index(name)] = value
        n = len(self._setup.tuners)
        theirs[:n] = chosen[:n] if len(theirs) else theirs
        return chosen, theirs

    def _fit(self, values: Vector, theirs: Vector) -> Fit | Failure:
        cost = self._cost(values)
        if isinstance(cost, Failure):
            return cost
        known = calibrated(self._fitted, _point(values, cost))
        if self._others is not None:
            known |= calibrated(self._others, _point(theirs, math.nan))
        stretches = tuple(known[r.case.name] for r in self._setup.records)
        return self._as_fit(values, cost, stretches)

    def _cost(self, values: Vector) -> float | Failure:
        """The criterion with its priors; robust scales are taken once, so that costs compare."""
        one = self._fitted
        predictions = one.predict(values)
        if isinstance(predictions, Failure):
            return predictions
        residuals = one.residuals(predictions)
        broken = one.not_finite(residuals, values)
        if broken is not None:
            return broken
        self._scored = self._scored or scored_by(one, residuals)
        with np.errstate(over="ignore", invalid="ignore"):
            cost = self._scored.criterion.score(residuals, one.sigmas(predictions)).cost
        for unknown, value in zip(one.unknowns.items, values, strict=True):
            if unknown.prior is not None:
                cost += unknown.prior.distance(float(value)) ** 2
        return float(cost)

    def _as_fit(self, values: Vector, cost: float, stretches: tuple[CaseFit, ...]) -> Fit:
        """What the pictures of a fit are drawn from, without anything that a search tells."""
        n = len(values)
        nothing = Identifiability(0, n, np.zeros(0), 0.0, (), ())
        return Fit(
            study=self._setup.study,
            outcome=fit_outcome(Status.CONVERGED, "set by hand"),
            criterion=self._fitted.wanted.name,
            cost=cost,
            unknowns=self._fitted.unknowns,
            values=values,
            at_bound=("",) * n,
            accuracy=Accuracy.none(n),
            noise={},
            n_samples=self._fitted.n_samples,
            aic=math.nan,
            bic=math.nan,
            identifiability=nothing,
            cases=joined_stretches(stretches, self._setup.study.partition),
            stretches=stretches,
            iterations=(),
            evaluations=Evaluations(),
            starts=(),
            seconds=0.0,
            setup=self._setup,
        )


def by_hand(study: Study, *, points: int = POINTS) -> ByHand:
    """Prepare a study for fitting by hand: `.at({"tau": 2.0})` shows the model beside the data.

    `points` is about how many a curve has at most.
    """
    return ByHand(study, points=points)


def _starts(unknowns: Unknowns) -> Vector:
    return unknowns.values(unknowns.clipped(unknowns.start))


def _point(values: Vector, cost: float) -> Point:
    nothing = np.zeros((0, 0))
    return Point(values, values, cost, nothing, np.zeros(0), math.nan)


# --- Plain prediction: a case simulated without derivatives, which is quicker.


def without_derivatives(
    study: Study, objective: ResidualFunction, held: Mapping[str, float]
) -> ResidualFunction:
    """The same cases for `predict` alone; cases that know no other way keep theirs.

    `held` are the parameters that inactive tuners set.
    """
    start = objective.unknowns.values(objective.unknowns.start)
    predictors = []
    for one in objective.predictors:
        fixed = {**held, **study.fixed_of(one.record.case)}
        predictors.append(_plain(study.model_of(one.record.case), one, fixed, start))
    return ResidualFunction(objective.unknowns, predictors, objective.blocks, objective.wanted)


def _plain(model: Model, one: Predictor, fixed: Mapping[str, float], start: Vector) -> Predictor:
    if type(one) is not CasePredictor or not isinstance(one.response, Response):
        return one
    return PlainPredictor(model, one, fixed, start)


class PlainPredictor(Predictor):
    """A case over time whose tuners are set like any other parameter."""

    def __init__(
        self, model: Model, of: CasePredictor, fixed: Mapping[str, float], start: Vector
    ) -> None:
        super().__init__(of.record, of.links, of.places)
        self.times, self._of = of.times, of
        self.levels = of.levels
        tuned, _ = self.links.at(start[self._tuners])
        parameters, starts = split(model, fixed)
        followed, begun = split(
            model, dict(zip(self.links.parameters, map(float, tuned), strict=True))
        )
        parameters |= followed
        starts |= begun
        starts |= dict(zip(self.places.starts, map(float, start[self._starts]), strict=True))
        assert isinstance(of.response, Response)
        response = model.response(
            self.times,
            dict(self.record.inputs),
            parameters,
            starts,
            outputs=of.simulated,
            begin=self.record.begin,
            options=replace(of.response.options, tuner_scales=()),
        )
        assert isinstance(response, Response)
        self.response: Response = response
        entries = numbers(
            response.configuration.tuning.equations,
            dict.fromkeys(followed, 1.0),
            dict.fromkeys([*begun, *self.places.starts], 1.0),
        )
        self._entries = np.array([response.place(n) for n in entries], int)
        self._signs = np.array(list(entries.values()))

    def at(self, values: Vector) -> list[Prediction] | str:
        """Outputs of the case at values of all unknowns, or why there are none."""
        parameters, chain = self.links.at(values[self._tuners])
        constants = self.response.values.copy()
        own = np.concatenate([parameters, values[self._starts]])
        constants[self._entries] = own * self._signs
        try:
            run = self.response.at_values(constants, self.times)
        except SimulationError as error:
            return error.message
        if not run.ok:
            return failure_text(self.response, run)
        predictions = []
        for k, extra in enumerate(self.extras):
            value, slope = self.picked(run, k)
            predictions.append(Prediction(value if extra is None else value + values[extra], slope))
        return self.with_levels(predictions, values, run, chain[:0, :0])

    def picked(self, run: Evaluation, k: int, name: str = "") -> tuple[Vector, Vector]:
        """Values of output `k`, or of another variable, at its own stamps; there are no slopes."""
        value = run.Y[self._of.rows(k), self._of.simulated.index(name) if name else k]
        return value, np.empty((len(value), 0))
