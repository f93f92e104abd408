"""Assessment: the criteria of a study at many samples of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from estimica.optimise.samples import Samples
from estimica.optimise.score import Place
from estimica.study.study import Study

if TYPE_CHECKING:
    import pandas as pd

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FailedSample:
    """A sample that could not be simulated."""

    number: int
    case: str
    message: str


@dataclass(frozen=True, eq=False)
class Assessment:
    """Samples and what they are worth; a row of NaN where a sample failed or was not reached."""

    study: Study
    samples: Samples
    places: tuple[Place, ...]
    values: Vector  # (N, K)
    done: Mask
    failures: tuple[FailedSample, ...]
    interrupted: bool = False
    seconds: float = 0.0
    run: str = ""
    command: str = "sweep"
    design: str = ""  # how the samples were chosen
    levels: tuple[float, ...] = (0.05, 0.5, 0.95)  # of the quantiles that are told

    def named(self, command: str, design: str, levels: Sequence[float] = ()) -> Assessment:
        """The same as the result of a command."""
        chosen = tuple(levels) or self.levels
        return replace(self, command=command, design=design, levels=chosen)

    def outcome(self) -> tuple[str, str]:
        """How it ended, in words."""
        count = f"{int(self.done.sum())} of {len(self.samples)} samples"
        failed = f", {len(self.failures)} failed" if self.failures else ""
        if self.interrupted:
            return "interrupted", f"interrupted after {count}{failed}"
        if self.failures and not self.good.any():
            return "failed", f"no sample could be simulated: {self.failures[0].message}"
        return "done", f"{count}{failed}"

    def to_dict(self) -> dict[str, object]:
        """Plain values: what `--json` prints."""
        from estimica.optimise.assessment_json import as_object

        return as_object(self)

    @cached_property
    def good(self) -> Mask:
        """Samples that were simulated."""
        return np.asarray(np.isfinite(self.values).all(axis=1), bool)

    @property
    def weighted(self) -> Vector:
        """Every value over its demand."""
        found: Vector = self.values / np.array([p.demand for p in self.places])
        return found

    @cached_property
    def largest(self) -> Vector:
        """The largest weighted criterion of each sample, those only watched left out."""
        counted = [k for k, p in enumerate(self.places) if p.role != "watch"]
        if not counted:
            return np.zeros(len(self.values))
        found: Vector = self.weighted[:, counted].max(axis=1)
        return found

    @property
    def satisfied(self) -> Mask:
        """Samples in which all demands hold; a sample that failed satisfies none."""
        tolerance = 1e-9
        held = self.good.copy()
        for k, place in enumerate(self.places):
            column = self.weighted[:, k]
            with np.errstate(invalid="ignore"):
                if place.role == "equal":
                    held &= np.abs(column - 1) <= 1e-6
                elif place.role != "watch":
                    held &= column <= 1 + tolerance
        return held

    @property
    def probability_satisfied(self) -> tuple[float, tuple[float, float]]:
        """The share of samples in which all demands hold, with its 95 % interval (Wilson)."""
        count = int(self.done.sum())
        share = float(self.satisfied.sum()) / count if count else float("nan")
        return share, _wilson(share, count)

    def quantiles(self, levels: Sequence[float]) -> pd.DataFrame:
        """Quantiles of every criterion over the samples that were simulated."""
        import pandas as pd

        found = np.quantile(self.values[self.good], levels, axis=0)
        labels = pd.Index([p.label for p in self.places], name="criterion", dtype=object)
        return pd.DataFrame(found.T, index=labels, columns=[float(v) for v in levels])

    @property
    def table_of_samples(self) -> pd.DataFrame:
        """A row for each sample: parameters, criteria, whether all demands hold."""
        import pandas as pd

        columns = {n: self.samples.values[:, k] for k, n in enumerate(self.samples.names)}
        columns |= {p.label: self.values[:, k] for k, p in enumerate(self.places)}
        return pd.DataFrame({**columns, "satisfied": self.satisfied})


def _wilson(share: float, count: int) -> tuple[float, float]:
    """The score interval of a share: right also near 0 and 1 (Wilson 1927)."""
    if not count:
        return float("nan"), float("nan")
    z = 1.959963984540054
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return float(middle - half), float(middle + half)
