"""Release: the steps in which unknowns were set free, and the fit at their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from estimica.base import view as show
from estimica.base.errors import InferError
from estimica.base.result import Outcome, Result
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.cost import Objective
from estimica.estimate.setup import Setup
from estimica.infer.likelihood_ratio.partial_fit import FreeState, fit_of
from estimica.study.study import Study
from estimica.study.tables.inference import ReleaseTable


class Ending(StrEnum):
    """How a release ended."""

    DONE = "done"
    STEPS = "step limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class SearchEnd:
    """How the search from one start ended; the first start is the null model's optimum."""

    cost: float
    status: str
    message: str


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model in which something more is free than in the null model."""

    released: tuple[str, ...]
    freedom: int  # how many unknowns were released, noise variances counted
    cost: float
    cost_reduction: float  # null model's cost − this one's
    risk: float  # of preferring it where the null model is as good
    risk_multiple: float  # the same for the best of n such candidates
    aic: float
    aicc: float
    bic: float
    outcome: SearchEnd
    acceptable: bool
    values: Mapping[str, float]  # of all unknowns, free or not
    noise: Mapping[str, float]  # variances by output
    starts: tuple[SearchEnd, ...]
    advice: tuple[str, ...] = ()
    law: str = ""  # of its cost reduction, where that is not a plain χ² or F
    state: FreeState | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Everything released, in one text."""
        return ", ".join(self.released)


@dataclass(frozen=True, eq=False)
class Step:
    """The null model, the candidates, and which of them was chosen."""

    number: int
    criterion: str
    free: tuple[str, ...]  # in the null model
    cost: float
    aic: float
    aicc: float
    bic: float
    values: Mapping[str, float]
    noise: Mapping[str, float]
    candidates: tuple[Candidate, ...]
    proposed: int | None  # by the rule
    chosen: int | None
    state: FreeState = field(repr=False)

    @property
    def choice(self) -> Candidate | None:
        """The candidate that became the next null model."""
        return None if self.chosen is None else self.candidates[self.chosen]

    def table(self) -> show.Table:
        """The candidates with cost, cost reduction and risk."""
        from estimica.infer.release.present import step_table

        return step_table(self)

    def _repr_html_(self) -> str:
        return show.html(self.table())

    def __repr__(self) -> str:
        return show.text(self.table())


@dataclass(frozen=True, eq=False, repr=False)
class Release(Result):
    """The way from the null model to the fit that the data ask for."""

    presenter = "estimica.infer.release.present"

    study: Study  # what was asked
    outcome: Outcome  # how it ended, and why
    criterion: str  # of the fits
    settings: ReleaseTable  # what was asked for
    seed: int  # of its random numbers
    steps: tuple[Step, ...]  # which tuners were released, and why
    fit: Fit  # the last fit: what the data ask for
    n_samples: int  # samples that count
    seconds: float  # how long it took
    run: str = ""  # its id in the store of runs
    #: what its searches were made with; made again where it is needed and not there
    context: tuple[Setup, Objective] | None = field(default=None, repr=False)

    @cached_property
    def _context(self) -> tuple[Setup, Objective]:
        from estimica.infer.release.search import search_context

        return self.context or search_context(self.study)

    @property
    def setup(self) -> Setup:
        """The study as it was prepared."""
        return self._context[0]

    @property
    def objective(self) -> Objective:
        """What was brought down."""
        return self._context[1]

    def __getstate__(self) -> dict[str, object]:
        """Without what is compiled, and without models that can be asked for again."""
        left_out = {"_context": None, "_models": None}
        return {n: v for n, v in vars(self).items() if n not in left_out} | {"context": None}

    @property
    def released(self) -> tuple[str, ...]:
        """Everything that was released, in the order in which it was."""
        return tuple(n for s in self.steps if s.choice for n in s.choice.released)

    @cached_property
    def held(self) -> tuple[str, ...]:
        """Candidates that were never released."""
        named = [n for s in self.steps for c in s.candidates for n in c.released]
        return tuple(n for n in dict.fromkeys(named) if n not in self.released)

    @cached_property
    def advice(self) -> tuple[str, ...]:
        """What the data do not tell apart, of candidates that were not released."""
        last = {c.name: c for s in self.steps for c in s.candidates}
        held = [c for c in last.values() if not set(c.released) & set(self.released)]
        return tuple(dict.fromkeys(a for c in held for a in c.advice))

    @cached_property
    def _models(self) -> dict[int, Fit]:
        """The models that were asked for: table, page and JSON all want them."""
        return {}

    def model(self, step: int) -> Fit:
        """The model after a step, as a fit; 0 is the null model of the first step."""
        if not 0 <= step <= len(self.steps):
            raise InferError(
                "I110", f"there is no step {step}: the release has {len(self.steps)} steps"
            )
        if step in self._models:
            return self._models[step]
        if step == 0:
            state = self.steps[0].state if self.steps else None
        else:
            one = self.steps[step - 1]
            state = one.choice.state if one.choice else one.state
        if state is None:
            return self.fit
        self._models[step] = fit_of(self.setup, self.objective, state)
        return self._models[step]

    def picture(  # type: ignore[override]  # of a step, not of unknowns
        self, kind: str = "reductions", *, step: int | None = None
    ) -> show.ViewElement:
        """What `plot` draws, as plain values."""
        picture: show.ViewElement = self._present().picture(self, kind, step)
        return picture

    def plot(  # type: ignore[override]  # of a step, not of unknowns
        self, kind: str = "reductions", *, step: int | None = None
    ) -> Any:
        """A Plotly figure.

        `kind` is "reductions" (bars of the cost reductions), "fit" or "residuals" of the model
        after `step`, by default the last one.
        """
        return show.figure(self.picture(kind, step=step))
