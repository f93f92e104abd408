"""NoiseSearch: in which states noise helps, in the order in which it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from estimica.base import view as show
from estimica.base.result import Outcome, Result
from estimica.estimate.fit.result import Fit
from estimica.infer.release.result import Ending, Release
from estimica.study.study import Study


@dataclass(frozen=True, eq=False, repr=False)
class NoiseSearch(Result):
    """The steps in which noise was put into states, and the fit at their end."""

    presenter = "estimica.infer.find_noise.present"

    study: Study  # as it was asked, without the noise that was tried
    release: Release  # of the noise levels that were tried
    states: Mapping[str, str]  # by the tuner that is the noise in it
    run: str = ""  # its number in the run store

    @property
    def found(self) -> tuple[str, ...]:
        """The states whose noise was kept, that which helps most first."""
        return tuple(self.states[n] for n in self.release.released)

    @property
    def fit(self) -> Fit:
        """The fit with the noise that was kept."""
        return self.release.fit

    @property
    def given_noise(self) -> dict[str, float | str]:
        """The noise of the study that was not in question."""
        tried = set(self.states.values())
        return {n: v for n, v in self.study.process_noise.items() if v != 0 and n not in tried}

    @property
    def process_noise(self) -> dict[str, float | str]:
        """What to write into `[process_noise]`: the noise that was given, and that was kept."""
        return self.given_noise | {self.states[n]: n for n in self.release.released}

    @property
    def outcome(self) -> Outcome:
        """How it ended, and what it says."""
        from estimica.infer.find_noise.present import verdict

        ended = self.release.outcome
        if ended.status == Ending.INTERRUPTED:
            return ended
        return Outcome(ended.status, verdict(self), ok=ended.ok)

    def picture(  # type: ignore[override]  # of a step, not of unknowns
        self, kind: str = "gains", *, step: int | None = None
    ) -> show.ViewElement:
        """What `plot` draws, as plain values."""
        picture: show.ViewElement = self._present().picture(self, kind, step)
        return picture

    def plot(  # type: ignore[override]  # of a step, not of unknowns
        self, kind: str = "gains", *, step: int | None = None
    ) -> Any:
        """A Plotly figure.

        `kind` is "gains" (bars of what noise in each state gains), "fit" or "residuals" of the
        model after `step`, by default the last one.
        """
        return show.figure(self.picture(kind, step=step))
