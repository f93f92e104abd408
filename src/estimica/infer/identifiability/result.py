"""Identifiability: which unknowns the data determine, which no data would, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from estimica.base.arrays import Vector
from estimica.base.result import Outcome, Result
from estimica.base.text import listed
from estimica.estimate.conclusion.identifiability import count
from estimica.estimate.fit.result import Identifiability as FitIdentifiability
from estimica.estimate.identify.accuracy import Practical
from estimica.estimate.identify.invariants import Group
from estimica.estimate.identify.twins import Twin
from estimica.infer.identifiability.structural.run import (
    NUMERICAL,
    Structural,
    lost_in_words,
)
from estimica.infer.second_model.result import SecondModel
from estimica.infer.sensitivity.result import SensitivityMeasures
from estimica.study.study import Study


@dataclass(frozen=True)
class Correlated:
    """Unknowns that are determined, but hardly one without the other."""

    names: tuple[str, ...]
    correlation: float  # the largest among them, by size

    @property
    def text(self) -> str:
        """In words."""
        names = listed([f"'{n}'" for n in self.names])
        return (
            f"{names} are determined, but their errors go together (correlation up to "
            f"{self.correlation:.3g}): trust them only jointly, fix one, or excite what "
            "tells them apart"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Identifiability(Result):
    """What a study says about its unknowns: rank, invariants, correlations, structure."""

    presenter = "estimica.infer.identifiability.present"
    main_kind = "correlation"

    study: str  # what the study is called
    names: tuple[str, ...]  # of the unknowns
    values: Vector  # of all unknowns, in the order of `names`
    at_bound: tuple[str, ...]  # unknowns that are held at a bound
    data: FitIdentifiability  # what the data determine
    correlation: Vector  # NaN where an unknown is not determined or held at a bound
    correlated: tuple[Correlated, ...]  # pairs that the data hardly tell apart
    vif: Vector  # variance inflation: R_i²; infinite where not determined, NaN at a bound
    structural: Structural | None  # what the model determines, whatever the data
    measures: SensitivityMeasures  # how sensitive the outputs are
    run: str = ""  # its number in the run store
    second: SecondModel | None = None  # what is left open, in another model
    practical: tuple[Practical, ...] = ()  # whether errors leave anything of the values
    twins: tuple[Twin, ...] = ()  # other values that fit as well
    twin_advice: tuple[str, ...] = ()  # what to do about them
    hardly: tuple[str, ...] = ()  # advice on those of which they do not
    origin: Study | None = None  # what was asked

    @property
    def rank(self) -> int:
        """Directions that the data determine, unknowns at bounds counted in."""
        return self.data.rank

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return self.data.n

    @property
    def null_directions(self) -> tuple[Mapping[str, float], ...]:
        """Relative changes that leave every output as it is."""
        return self.data.null_directions

    @property
    def invariants(self) -> tuple[str, ...]:
        """Combinations of undetermined unknowns that are determined: `R·C`."""
        return tuple(i.text for g in self.data.groups for i in g.invariants)

    @property
    def fix(self) -> tuple[str, ...]:
        """What to fix so that the rest is determined, best conditioned."""
        return self.data.fix

    @property
    def advice(self) -> tuple[str, ...]:
        """What is not determined and what would help, one sentence each."""
        said = [
            f"{words}; {prospect(self.structural, group)}"
            for words, group in zip(self.data.advice, self.data.groups, strict=True)
        ]
        said += [
            *self.hardly,
            *self.twin_advice,
            *(c.text for c in self.correlated),
            *self._structural_only(),
        ]
        return (*said, *(self.second.advice if self.second else ()))

    def _structural_only(self) -> list[str]:
        """What the structure forbids though the numbers seemed to allow it."""
        structural = self.structural
        if structural is None or structural.n - structural.rank <= len(self.null_directions):
            return []
        bounded = any(self.at_bound)
        if bounded:
            return []
        return [
            f"by the structure of the model only {structural.rank} of {structural.n} directions "
            f"can be determined, though the data seem to determine {self.rank}: {structural.text}"
        ]

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return Outcome("done", self.text)

    @property
    def text(self) -> str:
        """The verdict in a sentence."""
        if self.rank >= self.n:
            what = "the unknown" if self.n == 1 else f"all {self.n} unknowns"
            if self.hardly:
                some = "it" if self.n == 1 else f"{len(self.hardly)} of them"
                return f"the data determine {what} by rank, but practically not {some}"
            return f"the data determine {what}"
        return f"the data determine {self.rank} of {self.n} directions"

    def plot(self, kind: str = "correlation", *names: str) -> Any:
        """A Plotly figure: "correlation" of the unknowns, or "ellipses" of sensitivity."""
        return super().plot(kind, *names)

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *self.advice])


# --- prospect: what better data could make of the directions that these data leave open ---------

HELP = "excite the inputs more, or at other speeds, start elsewhere, or measure longer"


SAME = "of the same inputs and outputs"


def prospect(structural: Structural | None, group: Group) -> str:
    """How many of a group's open directions better data could determine, in words."""
    if structural is None:
        return "whether better data could help was not asked"
    touching = [g for g in structural.groups if set(g.names) & set(group.names)]
    if not touching:
        return f"better data can help: the model's structure allows it, so {HELP}"
    lost = min(structural.open_among(group.names), group.free)
    if lost == group.free:
        can = "can help" if structural.exact else f"seem to help ({NUMERICAL})"
        return f"no better data {SAME} {can}{_measured(structural)}"
    words = "; ".join(lost_in_words(g) for g in touching)
    words = words if structural.exact else f"{NUMERICAL}, {words}"
    if not lost:
        return f"better data can help in part, so {HELP}; {words}{_measured(structural)}"
    return (
        f"of these {count(group.free)} open directions better data can determine "
        f"{count(group.free - lost)}, so {HELP}; {count(lost)} cannot be determined: {words}"
        f"{_measured(structural)}"
    )


def _measured(structural: Structural) -> str:
    """What else would help if it were measured."""
    whole = [f"'{n}'" for n, rank in structural.helpful.items() if rank == structural.n]
    helpful = whole or [f"'{n}'" for n in structural.helpful]
    return f", but measuring {' or '.join(helpful)} too would" if helpful else ""
