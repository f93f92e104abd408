"""Assessment: the criteria of a study at many samples of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Flags, Vector
from estimica.base.result import Outcome, Result
from estimica.execute.batches import WorkedBy
from estimica.optimise.assess.families import Family
from estimica.optimise.assess.global_sensitivity import GlobalSensitivity
from estimica.optimise.assess.samples import Samples
from estimica.optimise.criteria.score import CensoredColumn, CriterionInCase, FailedDesign
from estimica.optimise.design import Design
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd


AT_LEAST = ", at least"  # ends the name of a column of what was not reached


@dataclass(frozen=True)
class FailedSample:
    """A sample that could not be simulated."""

    number: int
    case: str
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Result):
    """Samples and what they are worth.

    A value is NaN where its sample failed or was not simulated, and where the window of its
    criterion ended before there was one; `at_least` has then what is known of it.
    """

    presenter = "estimica.optimise.assess.present"
    main_kind = "auto"

    study: Study  # what was asked
    samples: Samples  # designs that were tried
    places: tuple[CriterionInCase, ...]  # criteria by case: the columns of `values`
    values: Vector  # (N, K)
    at_least: Vector  # (N, K) of what was not reached, otherwise NaN
    done: Flags  # which samples were simulated
    failures: tuple[FailedSample, ...]  # what could not be computed, and why
    interrupted: bool = False  # whether it was stopped before its end
    seconds: float = 0.0  # how long it took
    run: str = ""  # its id in the store of runs
    command: str = "sweep"  # `sweep` or `montecarlo`
    design: str = ""  # how the samples were chosen
    levels: tuple[float, ...] = (0.05, 0.5, 0.95)  # of the quantiles that are told
    local: LocalSensitivity | None = None  # slopes at the design
    sensitivity: GlobalSensitivity | None = None  # what scatters how much of each criterion
    seed: int | None = None  # of the samples
    remark: str = ""  # what to know of how they were drawn
    #: of each sample the cases that the model has ended by itself, and how
    ended: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    families: tuple[Family, ...] = ()  # the signals behind the criteria, of some of the samples
    worked_by: WorkedBy | None = None  # what has simulated the samples; None without simulations

    def named(self, command: str, design: str, levels: Sequence[float] = ()) -> Assessment:
        """The same as the result of a command."""
        chosen = tuple(levels) or self.levels
        return replace(self, command=command, design=design, levels=chosen)

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        count = f"{int(self.done.sum())} of {len(self.samples)} samples"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        if self.interrupted:
            return Outcome("interrupted", f"interrupted after {count}{failed}", ok=False)
        if self.failures and not self.good.any():
            message = f"no sample could be simulated: {self.failures[0].message}"
            return Outcome("failed", message, ok=False)
        remark = f"; {self.remark}" if self.remark else ""
        return Outcome("done", f"{count}{failed}{remark}")

    @cached_property
    def good(self) -> Flags:
        """Samples that were simulated."""
        return np.asarray(np.isfinite(self.least).all(axis=1), bool)

    @cached_property
    def open(self) -> Flags:
        """What was not reached in samples that were simulated, (N, K)."""
        return np.isfinite(self.at_least)

    @cached_property
    def least(self) -> Vector:
        """Values, and what they are at least where they were not reached, (N, K)."""
        return np.where(self.open, self.at_least, self.values)

    @property
    def weighted(self) -> Vector:
        """Every value over its demand; NaN where it was not reached."""
        return self.values / self._demands

    @property
    def weighted_least(self) -> Vector:
        """Every value over its demand, at least."""
        return self.least / self._demands

    @property
    def _demands(self) -> Vector:
        return np.array([p.demand for p in self.places])

    @cached_property
    def largest(self) -> Vector:
        """The largest weighted criterion of each sample, those only watched left out.

        NaN where one of them was not reached; `largest_at_least` says what is known then.
        """
        counted = self._counted
        return np.where(self.open[:, counted].any(axis=1), np.nan, self.largest_at_least)

    @cached_property
    def largest_at_least(self) -> Vector:
        """What `largest` is at least."""
        counted = self._counted
        if not counted:
            return np.zeros(len(self.values))
        largest: Vector = self.weighted_least[:, counted].max(axis=1)
        return largest

    @property
    def _counted(self) -> list[int]:
        return [k for k, p in enumerate(self.places) if p.role != "watch"]

    def column(self, k: int, rows: Flags | None = None) -> CensoredColumn:
        """Criterion `k` in the samples that were simulated and that count, or in some of them."""
        chosen = self.good & self.drawn if rows is None else rows & self.good
        return CensoredColumn(self.places[k], self.values[chosen, k], self.at_least[chosen, k])

    @cached_property
    def held(self) -> Flags:
        """Whether each demand holds, (N, K); what is only watched holds, what failed does not.

        Nor does the demand of what was not reached.
        """
        weighted = self.weighted
        held = np.repeat(self.good[:, None], len(self.places), axis=1)
        with np.errstate(invalid="ignore"):
            for k, place in enumerate(self.places):
                if place.role == "equal":
                    held[:, k] &= np.abs(weighted[:, k] - 1) <= 1e-6
                elif place.role != "watch":
                    held[:, k] &= weighted[:, k] <= 1 + 1e-9
        return held

    @property
    def satisfied(self) -> Flags:
        """Samples in which all demands hold; a sample that failed satisfies none."""
        return np.asarray(self.held.all(axis=1), bool)

    @property
    def drawn(self) -> Flags:
        """Samples that were reached and that count; the others serve a sensitivity analysis."""
        return np.asarray(self.done & (np.arange(len(self.done)) < self.samples.draws), bool)

    @property
    def best(self) -> int | None:
        """The sample whose largest weighted criterion is least; those that satisfy go first.

        None where in no sample all criteria were reached.
        """
        known = np.isfinite(self.largest) & self.good
        if not known.any():
            return None
        pool = self.satisfied if self.satisfied.any() else known
        return int(np.argmin(np.where(pool, self.largest, np.inf)))

    @property
    def probability_satisfied(self) -> tuple[float, tuple[float, float]]:
        """The share of samples in which all demands hold, with its 95 % interval (Wilson).

        A sample that failed counts as one that does not.
        """
        return share_of(self.satisfied[self.drawn])

    def quantiles(self, levels: Sequence[float]) -> pd.DataFrame:
        """Quantiles of every criterion over the samples that were simulated.

        What was not reached is larger than all that was: a quantile among it is NaN.
        """
        import pandas as pd

        rows = [
            [np.nan if (q := own.quantile(v).value) is None else q for v in levels]
            for own in map(self.column, range(len(self.places)))
        ]
        labels = pd.Index([p.label for p in self.places], name="criterion", dtype=object)
        return pd.DataFrame(rows, index=labels, columns=[float(v) for v in levels])

    def to_frame(self) -> pd.DataFrame:
        """A row for each sample: its parameters and its criteria."""
        return self.table_of_samples

    @property
    def table_of_samples(self) -> pd.DataFrame:
        """A row for each sample: parameters, criteria, whether all demands hold.

        A criterion that was not reached in some has a second column, of what it is at least there.
        """
        import pandas as pd

        columns = {n: self.samples.values[:, k] for k, n in enumerate(self.samples.names)}
        for k, p in enumerate(self.places):
            columns[p.label] = self.values[:, k]
            if self.open[:, k].any():
                columns[f"{p.label}{AT_LEAST}"] = self.at_least[:, k]
        return pd.DataFrame({**columns, "satisfied": self.satisfied})

    def effects_table(self) -> show.Table:
        """What each parameter does to each criterion."""
        from estimica.optimise.assess.effects import effects_table

        return effects_table(self)

    def plot(self, kind: str = "auto", *names: str) -> Any:
        """A Plotly figure.

        `kind` is "families" (the signals behind the criteria over time), "curves" (the criteria
        along one parameter, or one at a time), "map" (a grid of two parameters),
        "scatter", "parallel", "tornado", "distribution", "cdf" or "sensitivity"; "auto" takes what
        suits the samples. `names` are the criteria to show; without any the largest
        criterion/demand, or all.
        """
        return super().plot(kind, *names)

    def write(self, path: str | PathLike[str]) -> Path:
        """All samples as CSV, or as Parquet where the path ends so; returns where it is."""
        from estimica.optimise.assess.present import write_samples

        return write_samples(self, Path(path))


def share_of(held: Flags) -> tuple[float, tuple[float, float]]:
    """The share that holds, with its 95 % interval."""
    count = len(held)
    share = float(held.sum()) / count if count else float("nan")
    return share, _wilson(share, count)


def _wilson(share: float, count: int) -> tuple[float, float]:
    """The score interval of a share: right also near 0 and 1 (Wilson 1927)."""
    if not count:
        return float("nan"), float("nan")
    z = 1.959963984540054
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    # of none and of all it ends at 0 and 1, of which rounding leaves 1e-17
    low, high = float(middle - half), float(middle + half)
    return 0.0 if share == 0.0 else low, 1.0 if share == 1.0 else high


@dataclass(frozen=True, eq=False)
class LocalSensitivity:
    """Values and derivatives of the criteria at one point of the parameters.

    Both are NaN where a criterion was not reached there.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    point: Vector
    values: Vector  # (K,)
    derivatives: Vector  # (K, n)
    differenced: tuple[str, ...] = ()  # criteria whose derivatives are not exact

    @property
    def relative(self) -> Vector:
        """Per cent of the criterion for one per cent of the parameter; NaN where it is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = self.derivatives * self.point / self.values[:, None]
        return np.where(np.isfinite(relative), relative, np.nan)


def local_sensitivity(design: Design, point: Vector) -> LocalSensitivity | None:
    """The derivatives at `point`; None where it cannot be simulated."""
    unknowns = design.unknowns
    q = unknowns.coordinates(point)
    at_point = design.at(q, slopes=True)
    if isinstance(at_point, FailedDesign) or at_point.slopes is None:
        return None
    return LocalSensitivity(
        tuple(u.name for u in unknowns.items),
        tuple(p.label for p in design.places),
        point,
        at_point.values,
        np.where(at_point.reached[:, None], at_point.slopes / unknowns.slopes(q), np.nan),
        tuple(sorted(design.differenced)),
    )
