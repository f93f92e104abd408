"""RunValues: what a run found, by name, as its stored result tells it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from estimica.base.errors import StudyError

#: what a design that stands on a front is called: the third of run 2mdscvjam31 is 2mdscvjam31.3
MEMBER = "."
#: commands whose values are those of the fit at their end
STEPWISE = ("release", "find-noise")


@dataclass(frozen=True)
class FoundValue:
    """A number that was found, in its unit."""

    value: float
    unit: str = ""


@dataclass(frozen=True)
class RunValues:
    """Tuners by name, start values and disturbances by case, and which run has found them."""

    run: str  # empty where the result was not stored
    command: str
    study: str
    tuners: Mapping[str, FoundValue] = field(default_factory=dict)
    start_values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    disturbances: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()  # what has to be known of them
    words: str = ""  # where they are from, if that is told in other words
    elsewhere: bool = False  # of another study, which may be called alike

    @property
    def about(self) -> str:
        """Where they are from, in words."""
        if self.words:
            return self.words
        what = f"{self.command} of '{self.study}'"
        return f"run {self.run} ({what})" if self.run else f"the {what}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.tuners or self.start_values or self.disturbances)


def values_of_object(result: Mapping[str, Any], member: int | None = None) -> RunValues:
    """What the JSON object of a result says was found; of a front, its design `member`, from 1.

    A command that began with the values of another run has those too, behind its own.
    """
    command, study = str(result.get("command", "")), str(result.get("study", ""))
    run = str(result.get("run", "") or "")
    own: Mapping[str, Any] = result
    if command in STEPWISE:
        own = _mapping(result.get("fit"))
    if _is_front(result):
        tuners, chosen = _of_front(result, run, member)
        run = f"{run}{MEMBER}{chosen}" if run else run
    elif member is not None:
        raise StudyError(
            "Q190", f"run '{run}' is one {command}, without a design {member}; leave .{member} out"
        )
    elif command == "optimise":
        tuners = _found(result.get("tuners"))
    elif command == "backcalculate":
        tuners = _of_laws(result)
    else:
        tuners = _found(own.get("parameters"))
    before = _mapping(_mapping(result.get("from")).get("values"))
    return RunValues(
        run,
        command,
        study,
        {**_found(before), **tuners},
        _by_case(own.get("start_values")),
        _by_case(own.get("disturbances")),
    )


def _is_front(result: Mapping[str, Any]) -> bool:
    return isinstance(result.get("front"), list)


def _of_front(
    result: Mapping[str, Any], run: str, member: int | None
) -> tuple[dict[str, FoundValue], int]:
    """The tuners of one design of a front, and its number."""
    designs: Sequence[Any] = result["front"]
    knee = result.get("knee")
    if member is None or not 1 <= member <= len(designs):
        good = f"; the knee is {run}{MEMBER}{knee + 1}" if isinstance(knee, int) else ""
        if not designs:
            raise StudyError("Q191", f"run '{run}' is a front without a design")
        wrong = "" if member is None else f", and none is number {member}"
        raise StudyError(
            "Q191",
            f"run '{run}' is a front of {len(designs)} designs{wrong}: say which, as "
            f"{run}{MEMBER}1{good}",
        )
    tuners = _mapping(_mapping(designs[member - 1]).get("tuners"))
    return {n: FoundValue(v) for n, v in _numbers(tuners)}, member


def _of_laws(result: Mapping[str, Any]) -> dict[str, FoundValue]:
    """What a back-calculation found to be constant."""
    units = _mapping(result.get("units"))
    found = {}
    for law in result.get("laws") or ():
        best = _mapping(law)
        name = str(best.get("of", ""))
        if best.get("rank") == 1 and best.get("kind") == "constant" and name:
            for _, value in _numbers(_values(best.get("parameters"))):
                found[name] = FoundValue(value, str(units.get(name) or ""))
    return found


def _found(entries: object) -> dict[str, FoundValue]:
    """Entries that hold a number under `value`, with their units."""
    told = _mapping(entries)
    units = {n: str(_mapping(e).get("unit") or "") for n, e in told.items()}
    return {n: FoundValue(v, units[n]) for n, v in _numbers(_values(entries))}


def _by_case(entries: object) -> dict[str, dict[str, float]]:
    found = {str(case): dict(_numbers(_values(own))) for case, own in _mapping(entries).items()}
    return {case: own for case, own in found.items() if own}


def _values(entries: object) -> dict[str, object]:
    return {str(n): _mapping(e).get("value") for n, e in _mapping(entries).items()}


def _numbers(entries: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Only finite numbers: a result that ended early may have others."""
    for name, value in entries.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and math.isfinite(float(value)):  # type: ignore[arg-type]
            yield str(name), float(value)  # type: ignore[arg-type]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
