"""CrossValidation: predictions of what was left out, beside the fit of everything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from estimica.base import view as show
from estimica.base.arrays import Indices, Vector
from estimica.base.result import Outcome, Result
from estimica.estimate.fit.outputs import OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.execute.batches import WorkedBy
from estimica.infer.refit import unfinished
from estimica.study.record.transfer import Transfer

Array = TypeVar("Array", Vector, npt.NDArray[np.int8])
#: ratios of errors: about the same, clearly worse. Chosen: words for a number that is told too
AS_WELL, WORSE = 1.1, 1.5
#: ratio of standard errors from which on tuners scatter too much. Chosen: a standard deviation of
#: five folds is itself off by a third, and folds share most of their data
SCATTERS = 3.0


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One fold: the tuners found without it, and its outputs as they predict them."""

    number: int
    name: str  # what was left out
    status: str
    message: str
    values: Vector | None  # of the tuners; None where nothing was found
    outputs: tuple[tuple[str, OutputComparison], ...]  # case and output
    kept: tuple[str, ...] = ()  # unknowns that only the left-out samples determine

    @property
    def failed(self) -> bool:
        """Whether it has no predictions."""
        return not self.outputs


@dataclass(frozen=True, eq=False)
class Prediction:
    """One output of one case: fitted with all data, and predicted without each of its parts."""

    case: str
    fitted: OutputComparison
    left_out: OutputComparison | None  # all folds together; None where all failed

    @property
    def ratio(self) -> float:
        """The error of the prediction over that of the fit."""
        if self.left_out is None or self.fitted.rmse == 0:
            return math.nan
        return self.left_out.rmse / self.fitted.rmse


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Result):
    """How well the fits without a part predict that part, and how far their tuners scatter."""

    presenter = "estimica.infer.crossvalidation.present"
    main_kind = "predictions"

    fit: Fit  # the fit that it is about
    by: str  # what is left out: parts of the time, or cases
    count: int  # folds that were asked for
    folds: tuple[FoldResult, ...]  # what each part showed
    seconds: float  # how long it took
    interrupted: bool = False  # whether it was stopped before its end
    run: str = ""  # its id in the store of runs
    worked_by: WorkedBy = field(default=WorkedBy("scalar"), kw_only=True)  # what simulated them

    @property
    def failed(self) -> int:
        """Folds without predictions."""
        return sum(f.failed for f in self.folds)

    @cached_property
    def outputs(self) -> tuple[Prediction, ...]:
        """Every output of every calibrating case."""
        return tuple(
            Prediction(case.name, output, self._pooled(case.name, output))
            for case in self.fit.cases
            if case.role == "calibrate"
            for output in case.outputs
        )

    @property
    def tuners(self) -> tuple[str, ...]:
        """Names of the tuners."""
        return tuple(self.fit.estimates)

    @property
    def values(self) -> Vector:
        """Tuners of every fold that found some, (folds, tuners)."""
        own = [f.values for f in self.folds if f.values is not None and not f.failed]
        return np.array(own) if own else np.zeros((0, len(self.tuners)))

    @property
    def stderr(self) -> Vector:
        """Standard errors by the jackknife: √((K − 1)/K Σ(value − mean)²) over the folds.

        Infinite where the data do not determine a tuner: its values stay near where they began.
        """
        values = self.values
        if len(values) < 2:
            return np.full(len(self.tuners), np.nan)
        k = len(values)
        spread = np.sum((values - values.mean(axis=0)) ** 2, axis=0)
        known = self.fit.accuracy.identifiable[: len(self.tuners)]
        return np.where(known, np.sqrt((k - 1) / k * spread), np.inf)

    @cached_property
    def verdict(self) -> str:
        """What it means, in a few sentences."""
        if self.interrupted and not self.folds:
            return "it was interrupted before any fold was done"
        if all(f.failed for f in self.folds):
            return "no fold could be fitted and predicted"
        said = ". ".join([*self._errors_in_words(), *self._scatter_in_words()])
        if self.interrupted:
            return f"of the {len(self.folds)} of {self.count} folds that were done: {said}"
        return said

    @property
    def outcome(self) -> Outcome:
        """How it ended: "done", "interrupted" or "failed", and in words."""
        if self.interrupted:
            done = f"stopped after {len(self.folds)} of {self.count} folds"
            return Outcome("interrupted", f"{done}{unfinished(self.fit)}", ok=False)
        if all(f.failed for f in self.folds):
            return Outcome("failed", "no fold could be fitted and predicted", ok=False)
        failed = f"; {self.failed} of {self.count} folds failed" if self.failed else ""
        return Outcome("done", f"{self.verdict}{failed}{unfinished(self.fit)}")

    def tuner_table(self) -> show.Table:
        """A row for each tuner: how far it scatters over the folds."""
        return self.tables()[1]

    def plot(self, kind: str = "predictions", *names: str) -> Any:
        """A Plotly figure: "predictions" over the data, or "tuners" over the folds."""
        return super().plot(kind, *names)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n\n{self.outcome.message}."

    def _pooled(self, case: str, output: OutputComparison) -> OutputComparison | None:
        case_of = self.fit.study.partition.case_of
        outputs = [(case_of(c), o) for f in self.folds for c, o in f.outputs]
        parts = [o for c, o in outputs if (c, o.name) == (case, output.name)]
        if not parts:
            return None
        order = np.argsort(np.concatenate([o.time for o in parts]), kind="stable")

        def joined(pieces: list[Vector]) -> Vector:
            return np.asarray(np.concatenate(pieces)[order])

        return replace(
            output,
            time=joined([o.time for o in parts]),
            measured=joined([o.measured for o in parts]),
            simulated=joined([o.simulated for o in parts]),
            compared=joined([o.compared for o in parts]),
            reference=joined([o.reference for o in parts]),
            sigma=_all_of([o.sigma for o in parts], order),
            beyond=_all_of([o.beyond for o in parts], order),
            transfer=_together([o.transfer for o in parts if o.transfer is not None]),
        )

    def _errors_in_words(self) -> list[str]:
        known = [o for o in self.outputs if math.isfinite(o.ratio)]
        found = []
        for low, high, how in (
            (0.0, AS_WELL, "predicted as well as fitted"),
            (AS_WELL, WORSE, "predicted somewhat worse than fitted"),
            (WORSE, math.inf, "predicted much worse than fitted: the model does not carry over"),
        ):
            own = [o for o in known if low <= o.ratio < high]
            if own:
                worst = max(o.ratio for o in own)
                are = "is" if len(own) == 1 else "are"
                found.append(f"{self._listed(own)} {are} {how} (RMSE {worst:.3g} times as large)")
        return found

    def _listed(self, outputs: list[Prediction]) -> str:
        several = len({o.case for o in self.outputs}) > 1
        names = [f"{o.fitted.name} of {o.case}" if several else o.fitted.name for o in outputs]
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    def _scatter_in_words(self) -> list[str]:
        errors = np.array([self.fit.parameters["stderr"][n] for n in self.tuners], float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.stderr / errors
        wild = [n for n, r in zip(self.tuners, ratio, strict=True) if r > SCATTERS]
        if not wild:
            return []
        worst = float(np.nanmax(np.where(np.isfinite(ratio), ratio, np.nan)))
        names = wild[0] if len(wild) == 1 else f"{', '.join(wild[:-1])} and {wild[-1]}"
        verb = "scatters" if len(wild) == 1 else "scatter"
        return [
            f"{names} {verb} over the folds up to {worst:.2g} times more than their standard "
            "errors say"
        ]


def _together(parts: list[Transfer]) -> Transfer | None:
    return parts[0].joined(parts) if parts else None


def _all_of(parts: Sequence[Array | None], order: Indices) -> Array | None:
    """What every sample has of its own, in order; None where they have nothing."""
    known = [p for p in parts if p is not None]
    return np.concatenate(known)[order] if len(known) == len(parts) else None
