"""The result of a second model check: directions, what they change there, and words about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from estimica.base.result import Outcome, Result
from estimica.base.view import ViewElement
from estimica.estimate.fit.result import Fit


@dataclass(frozen=True)
class Effect:
    """How much one output of the second model changes, relative to its RMS."""

    case: str
    output: str
    change: float


@dataclass(frozen=True, eq=False)
class Direction:
    """An undetermined direction: relative changes of the tuners, the largest 1."""

    changes: Mapping[str, float]
    here: float  # largest relative change of an output of the fitted study along it
    effects: tuple[Effect, ...]
    matters: bool
    failure: str = ""  # why the second model could not be evaluated along it

    @property
    def largest(self) -> Effect | None:
        """The output that changes most."""
        return max(self.effects, key=lambda e: e.change, default=None)


@dataclass(frozen=True, eq=False, repr=False)
class SecondModel(Result):
    """What the undetermined directions of a fit do to another model."""

    presenter = "estimica.infer.second_model.present"

    fit: Fit  # the fit that it is about
    other: str  # what the second model is called
    change: float  # of the values along a direction, relative
    threshold: float  # share of its size by which an output must change to count
    directions: tuple[Direction, ...]  # what each undetermined direction does
    missing: tuple[str, ...] = ()  # tuners that the second model does not have

    @property
    def ok(self) -> bool:
        """Whether nothing that is left open matters."""
        return not any(d.matters for d in self.directions)

    @property
    def text(self) -> str:
        """The verdict in a sentence."""
        count, bad = len(self.directions), sum(d.matters for d in self.directions)
        if not count:
            return f"the data determine all tuners: nothing is left open for '{self.other}'"
        what = "the undetermined direction" if count == 1 else f"the {count} undetermined ones"
        if not bad:
            none = "does not change" if count == 1 else "do not change"
            return f"{what} {none} the outputs of '{self.other}': what was left open may stay so"
        if count == 1:
            return f"the undetermined direction changes the outputs of '{self.other}'"
        return f"{bad} of {count} undetermined directions change the outputs of '{self.other}'"

    @property
    def advice(self) -> tuple[str, ...]:
        """A sentence about every direction, and about tuners that the second model lacks."""
        said = [self._about(d) for d in self.directions]
        if self.missing:
            names = ", ".join(f"'{n}'" for n in self.missing)
            verb = "is" if len(self.missing) == 1 else "are"
            said.append(f"{names} {verb} not in '{self.other}' and cannot change it")
        return tuple(said)

    def _about(self, direction: Direction) -> str:
        moved = _in_words(direction, self.change)
        if direction.failure:
            return f"{moved} makes '{self.other}' fail: {direction.failure}"
        largest = direction.largest
        assert largest is not None
        where = f"'{largest.output}' of case '{largest.case}' in '{self.other}'"
        if direction.matters:
            return (
                f"{moved} goes unnoticed in '{self.fit.study.name}' but changes {where} by "
                f"{_percent(largest.change)} (RMS): fit it to data of '{self.other}' too"
            )
        return (
            f"{moved} goes unnoticed in '{self.fit.study.name}' and changes no output of "
            f"'{self.other}' by more than {_percent(max(largest.change, 1e-8))}: any value will do"
        )

    def __repr__(self) -> str:
        if not self.directions:
            return self.text
        return "\n".join([super().__repr__(), *self.advice])

    def bars(self) -> ViewElement:
        """What `plot` draws: how much each output changes."""
        return self.picture()

    @property
    def outcome(self) -> Outcome:
        """How it ended: with its verdict."""
        return Outcome("done", self.text)


def signed(share: float) -> str:
    """A change in percent with its sign."""
    return f"{100 * share:+.3g} %".replace("-", "−")


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _in_words(direction: Direction, change: float) -> str:
    moved = [f"'{n}' by {signed(c * change)}" for n, c in direction.changes.items()]
    if len(moved) == 1:
        return f"moving {moved[0]}"
    return f"moving {', '.join(moved[:-1])} and {moved[-1]} together"
