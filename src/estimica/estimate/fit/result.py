"""Fit: the result of an estimation."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base import view
from estimica.base.arrays import Flags, Vector
from estimica.base.errors import FitError
from estimica.base.presenters import presenter
from estimica.base.result import Outcome, Result, Summary
from estimica.base.suggest import did_you_mean
from estimica.estimate.criteria.roughness import SMOOTH, Rough
from estimica.estimate.criteria.scoring import Noise, Scales
from estimica.estimate.fit.outputs import CaseFit, OutputComparison, make_read_only
from estimica.estimate.fit.verdict import ResidualVerdict
from estimica.estimate.identify.accuracy import Accuracy, Practical, Significance, practical
from estimica.estimate.identify.invariants import Group
from estimica.estimate.identify.twins import Twin, is_moved, twin_advice
from estimica.estimate.noise_starts import is_no_noise
from estimica.estimate.objective.residuals import Evaluations
from estimica.estimate.search.run import Iteration, Status
from estimica.estimate.unknowns import Unknowns
from estimica.execute.batches import WorkedBy
from estimica.study.case import Case
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from estimica.estimate.conclusion.simulation_error import Discretisation
    from estimica.estimate.setup import Setup


#: what makes DataFrames of a fit, named as text: it knows fits, and fits do not know it
_HANDOVER = "estimica.estimate.handover"
_FRAMES = f"{_HANDOVER}.frames"


def fit_outcome(status: Status, message: str) -> Outcome:
    """How an estimation ended, and what to try where that is not an optimum."""
    return Outcome(status, message, ok=status is Status.CONVERGED)


@dataclass(frozen=True)
class StartResult:
    """One start of a multistart."""

    number: int
    start: Mapping[str, float]
    values: Mapping[str, float]
    cost: float  # infinite where it failed
    status: str
    message: str
    drawn_again: int = 0  # times, since it could not be simulated


@dataclass(frozen=True, eq=False)
class Identifiability:
    """Which combinations of the unknowns the data determine."""

    rank: int
    n: int
    singular_values: Vector
    threshold: float
    null_directions: tuple[Mapping[str, float], ...]
    advice: tuple[str, ...]
    groups: tuple[Group, ...] = ()  # unknowns that cannot be told apart
    fix: tuple[str, ...] = ()  # what to fix so that the rest is determined


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Result):
    """What was found, how well it fits, and how far to trust it."""

    presenter = "estimica.estimate.fit.present"

    study: Study  # what was asked
    outcome: Outcome  # how the search ended
    criterion: str  # "oe", "ml", or one of your own
    cost: float  # the criterion at the estimate
    unknowns: Unknowns  # tuners, start values and disturbances that were found
    values: Vector  # of the unknowns, in their order
    at_bound: tuple[str, ...]  # for each unknown: "", "min" or "max"
    accuracy: Accuracy  # standard errors, intervals and covariance of the unknowns
    noise: Mapping[str, Noise]  # variance of each output's noise
    n_samples: int  # samples that count
    aic: float  # Akaike's information criterion; smaller is better
    bic: float  # the Bayesian one
    identifiability: Identifiability  # what the data determine
    cases: tuple[CaseFit, ...]  # measured and simulated outputs
    iterations: tuple[Iteration, ...]  # the way of the search
    evaluations: Evaluations  # how many simulations it took
    starts: tuple[StartResult, ...]  # of a multistart, the best first
    seconds: float  # on the clock
    setup: Setup = field(repr=False)
    run: str = ""  # its number in the run store
    n_independent: float = math.nan  # samples that tell of the noise, fewer behind a prefilter
    derivatives: str = ""  # how they were computed, where there is something to tell
    discretisation: Discretisation | None = None  # of Co-Simulation
    rough: Rough = SMOOTH  # what derivatives do not tell of, and why
    scales: Scales = field(default_factory=dict)  # of a robust loss, by output, as held at the end
    twins: tuple[Twin, ...] = ()  # other values that fit as well
    aicc: float = math.nan  # AIC corrected for few samples
    log_likelihood: float = math.nan  # of the data as they stand in their files, with all constants
    #: the cases as they were simulated: between gaps, each from start values of its own
    stretches: tuple[CaseFit, ...] = ()
    worked_by: WorkedBy = field(default=WorkedBy("scalar"))  # what has simulated several starts

    def __post_init__(self) -> None:
        """Nobody changes a number of a fit by mistake, not even within an array."""
        object.__setattr__(self, "stretches", self.stretches or self.cases)
        make_read_only([self.values, self.identifiability.singular_values])
        make_read_only(vars(self.accuracy).values())

    @property
    def n_free(self) -> int:
        """Number of unknowns, noise levels not counted."""
        return len(self.unknowns)

    @property
    def held(self) -> Flags:
        """The unknowns at a bound or acting in steps, whose rank is not asked for."""
        held = np.array([bool(b) for b in self.at_bound], bool)
        held[list(self.rough.unknowns)] = True
        return held

    @cached_property
    def no_noise(self) -> Flags:
        """The noise levels that have come out as none; nothing else depends on where they are."""
        return is_no_noise(self.unknowns, self.values, self.setup.noise_floors)

    @property
    def covariance(self) -> Vector:
        """Covariance of all unknowns, in the order of `unknowns`."""
        return self.accuracy.covariance

    @cached_property
    def estimates(self) -> dict[str, float]:
        """Values of the tuners by name."""
        return {
            u.name: float(v)
            for u, v in zip(self.unknowns.items, self.values, strict=True)
            if u.kind == "tuner"
        }

    def __getitem__(self, tuner: str) -> float:
        """The value of a tuner."""
        try:
            return self.estimates[tuner]
        except KeyError:
            raise FitError(
                "F011",
                f"the fit has no tuner '{tuner}'{did_you_mean(tuner, self.estimates)}",
            ) from None

    @property
    def parameters(self) -> pd.DataFrame:
        """A row for each tuner: value, stderr, ci95_low, ci95_high, at_bound, unit, …."""
        return self._table("tuner")

    @property
    def correlation(self) -> pd.DataFrame:
        """Correlations of all unknowns, with their labels; NaN where one is not determined."""
        frame: pd.DataFrame = presenter(f"{_FRAMES}:correlation_frame")(self)
        return frame

    def to_frame(self, case: str | None = None) -> pd.DataFrame:
        """Inputs, measured and simulated outputs and residuals over time, of one case or of all."""
        frame: pd.DataFrame = presenter(f"{_FRAMES}:curves_frame")(self, case)
        return frame

    def summary(self) -> Summary:
        """Facts, estimates, how well outputs are met, correlations: `print(fit.summary())`."""
        return Summary(tuple(presenter(f"{_FRAMES}:summary_tables")(self)))

    def to_arviz(self, draws: int = 4000, *, seed: int = 1) -> Any:
        """ArviZ `InferenceData` of draws from the asymptotic normal distribution of the estimate.

        What they are stands in its `attrs`; `es.bootstrap` and `es.sample` assume less.
        """
        return presenter(f"{_HANDOVER}.inference_data:fit_inference_data")(self, draws, seed)

    @property
    def start_values(self) -> pd.DataFrame:
        """A row for each free start value."""
        return self._table("start")

    @property
    def disturbances(self) -> pd.DataFrame:
        """A row for each free disturbance."""
        return self._table("disturbance")

    def case(self, name: str) -> CaseFit:
        """One case, or one stretch of a case with gaps."""
        for one in (*self.cases, *self.stretches):
            if one.name == name:
                return one
        names = [c.name for c in self.cases]
        raise FitError("F012", f"the fit has no case '{name}'{did_you_mean(name, names)}")

    def unit_of(self, output: OutputComparison) -> str:
        """The unit of an output: the model's, or where it has none that of the column."""
        if output.transfer is not None and not output.unit:
            above, below = (
                self._units.get(n, "") for n in (output.transfer.output, output.transfer.input)
            )
            return f"{above}/{below}" if above and below not in ("", "1") else above
        return self._units.get(output.name) or output.unit

    def residual_label(self, output: OutputComparison) -> str:
        """What the residuals of an output are of, with its unit: logarithms have none."""
        return output.transform or view.name_with_unit(output.name, self.unit_of(output))

    def residual_unit(self, output: OutputComparison) -> str:
        """The unit of its residuals as they are scored."""
        return "" if output.transform else self.unit_of(output)

    @cached_property
    def _units(self) -> dict[str, str]:
        return {q.name: q.unit for q in self.study.model.quantities() if q.unit}

    def study_case(self, name: str) -> Case:
        """The case as the study has it."""
        return next(c for c in self.study.cases if c.name == name)

    # -- how it shows itself --------------------------------------------------------------------

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What to know of it: what of its source it leaves out, whether residuals are coloured."""
        said = self.residual_verdict
        coloured = [said.text] if said.too_small else []
        return (*self.data_remarks, *coloured)

    @cached_property
    def data_remarks(self) -> tuple[str, ...]:
        """What to know of its data: gaps, repeated time stamps, what was not taken over."""
        repeated = [p.text for r in self.setup.first_records for p in r.warnings]
        return (*self.study.notes, *repeated, *self.study.partition.notes)

    @cached_property
    def residual_verdict(self) -> ResidualVerdict:
        """Whether residuals are white, and by how much standard errors are too small if not."""
        judged: ResidualVerdict = view.verdict("fit", self)
        return judged

    def quality(self) -> view.Table:
        """How well each output of each case is met."""
        return self.tables()[1]

    def picture(  # type: ignore[override]  # of all outputs: there are no names to choose
        self,
        kind: str = "fit",
        *,
        iterations: int | None = None,
        against: str | None = None,
        by: str | None = None,
    ) -> view.ViewElement:
        """What `plot` draws, as plain values."""
        picture: view.ViewElement = self._present().picture(self, kind, iterations, against, by)
        return picture

    def plot(  # type: ignore[override]  # it draws all outputs: there are no names to choose
        self,
        kind: str = "fit",
        *,
        iterations: int | None = None,
        against: str | None = None,
        by: str | None = None,
    ) -> Any:
        """A Plotly figure.

        `kind` is "fit" (measured and simulated), "residuals", "parity" (simulated against
        measured), "iterations" (the simulation after each of them), "path" (tuners over the
        iterations), "cost", or "starts" (the waterfall of a multistart); `iterations` says how many
        of them are drawn, with "residuals" the last ones. Fits and residuals are drawn `against`
        any input, output or column instead of time, in groups of like values of another, `by`.
        """
        return view.figure(self.picture(kind, iterations=iterations, against=against, by=by))

    def page(self, *, against: str | None = None, by: str | None = None) -> view.Page:
        """All of it as a page, for files, the store and the workbench."""
        page: view.Page = self._present().page(self, against, by)
        return page

    def report(
        self, path: str | PathLike[str], *, against: str | None = None, by: str | None = None
    ) -> Path:
        """Write a self-contained HTML page with tables and plots; returns where it is.

        Fits are drawn `against` a variable and in groups `by` another where these are given.
        """
        return view.write(self.page(against=against, by=by), path)

    def trouble(self, k: int) -> str:
        """Why an unknown has no interval of its own on both sides; empty where it has."""
        if self.no_noise[k]:
            return "none is needed: at its lower bound"
        if self.at_bound[k]:
            return f"at its {self.at_bound[k]}"
        return "" if self.accuracy.identifiable[k] else "not determined by these data"

    @cached_property
    def practical(self) -> tuple[Practical, ...]:
        """For each unknown, whether its error leaves anything of its value."""
        triples = zip(self.unknowns.items, self.values, self.accuracy.stderr, strict=True)
        levels = self.setup.noise_floors
        return tuple(
            practical(u, float(v), float(e), u.kind == "tuner" and u.name in levels)
            for u, v, e in triples
        )

    @property
    def advice(self) -> tuple[str, ...]:
        """What the data do not determine, or hardly, and what to do about it."""
        return (*self.identifiability.advice, *self.practical_advice, *twin_advice(self))

    @property
    def practical_advice(self) -> tuple[str, ...]:
        """Of unknowns that the rank calls determined, and their errors do not."""
        return tuple(
            f"'{u.label}' is {p.remark}; a profile shows what the data do say of it: "
            f"estimica profile STUDY {shlex.quote(u.label)}"
            for u, p, seen in zip(
                self.unknowns.items, self.practical, self.accuracy.identifiable, strict=True
            )
            if seen and p.standing is Significance.LOST and p.reason
        )

    def remark(self, k: int) -> str:
        """What to know about an unknown beyond its numbers."""
        remarks = (self.trouble(k) or self._doubt(k), self._cut(k), self._condition(k))
        return "; ".join(filter(None, remarks))

    def _doubt(self, k: int) -> str:
        """What its error leaves of its value, and with which others the data are met as well."""
        label = self.unknowns.items[k].label
        other = [f"{t.values[label]:.4g}" for t in self.twins if is_moved(self, t.values[label], k)]
        also = f"fits as well with {' or '.join(dict.fromkeys(other))}" if other else ""
        return "; ".join(filter(None, [self.practical[k].remark, also]))

    def conditions(self, k: int) -> tuple[str, ...]:
        """The unknowns at bounds that the error of unknown `k` takes as staying there.

        They are those without which it would not be determined.
        """
        if self.accuracy.held[k] or not np.isfinite(self.accuracy.stderr[k]):
            return ()
        held = self.accuracy.held & ~self.no_noise
        pairs = zip(self.unknowns.items, self.at_bound, held, strict=True)
        return tuple(u.label for u, bound, stays in pairs if bound and stays)

    def vanished(self) -> tuple[str, ...]:
        """Unknowns on a logarithm that have shrunk until they have no effect: zero is their bound.

        Errors of the others take them as staying there.
        """
        alone = [np.flatnonzero(row) for row in self.accuracy.null_directions]
        chosen = [int(places[0]) for places in alone if len(places) == 1]
        items = self.unknowns.items
        return tuple(
            items[j].label for j in chosen if items[j].log and self.values[j] < items[j].start
        )

    def _condition(self, k: int) -> str:
        at_bound = " and ".join(f"'{n}'" for n in self.conditions(k))
        conditions = [f"its error holds for {at_bound} staying at a bound"] if at_bound else []
        if np.isfinite(self.accuracy.stderr[k]) and self.vanished():
            gone = " and ".join(f"'{n}'" for n in self.vanished())
            conditions.append(f"its error holds for {gone} staying near zero; a profile tells more")
        return "; ".join(conditions)

    def _cut(self, k: int) -> str:
        """Which ends of its interval a bound has cut off."""
        ends = [w for w, cut in zip(("min", "max"), self.accuracy.clipped[k], strict=True) if cut]
        ends = [w for w in ends if w != self.at_bound[k]]
        return f"interval cut off at its {' and '.join(ends)}" if ends else ""

    def _table(self, kind: str) -> pd.DataFrame:
        import pandas as pd

        chosen = [k for k, u in enumerate(self.unknowns.items) if u.kind == kind]
        items, a = self.unknowns.items, self.accuracy
        index: pd.Index
        if kind == "tuner":
            index = pd.Index([items[k].name for k in chosen], name="name", dtype=object)
        else:
            pairs = [(items[k].case, items[k].name) for k in chosen]
            index = pd.MultiIndex.from_tuples(pairs, names=["case", "name"])
        return pd.DataFrame(
            {
                "value": self.values[chosen],
                "stderr": a.stderr[chosen],
                "ci95_low": a.interval[chosen, 0],
                "ci95_high": a.interval[chosen, 1],
                "at_bound": [bool(self.at_bound[k]) for k in chosen],
                "identifiable": a.identifiable[chosen],
                "start": [items[k].start for k in chosen],
                "min": [items[k].min for k in chosen],
                "max": [items[k].max for k in chosen],
                "unit": [items[k].unit for k in chosen],
                "description": [items[k].description for k in chosen],
            },
            index=index,
        )

    def write_modelica(self, path: str | PathLike[str], name: str | None = None) -> Path:
        """Write a class `name` that extends the model with the estimates as modifiers.

        Load it together with the original: `es.load_model(path, libraries=[folder_of_original])`.
        """
        from estimica.estimate.fit.modelica import write_modelica

        return write_modelica(self, path, name)

    def write_ssv(self, path: str | PathLike[str], name: str | None = None) -> Path:
        """Write the estimates and what the study fixes as a parameter set of SSP 1.0 (.ssv).

        Tools that import FMUs apply it to one; its `name` is that of the study where none is given.
        """
        from estimica.estimate.fit.files import write_ssv

        return write_ssv(self, path, name)

    def write_csv(self, path: str | PathLike[str], case: str | None = None) -> tuple[Path, ...]:
        """Write inputs, measured and simulated outputs and residuals over time.

        Without `case`, each case of several gets its own file, with its name in the file's.
        """
        from estimica.estimate.fit.files import write_csv

        return write_csv(self, path, case)
