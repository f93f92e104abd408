"""A study at the values of a run: its tuners start there, other parameters are held there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from estimica.study.carry.names import MOST, NameMatch, matched_names
from estimica.study.carry.values import RunValues
from estimica.study.case import Case, OutputColumn, StartValue
from estimica.study.origin import Origin, ValueChange
from estimica.study.stretch import is_stretch
from estimica.study.study import Study
from estimica.study.tuner import Tuner


@dataclass(frozen=True)
class CarriedStudy:
    """A study at the values of a run, and what became of each of them."""

    study: Study
    changes: tuple[ValueChange, ...]


def carried_study(
    study: Study, found: RunValues, mapping: Mapping[str, str] | None = None
) -> CarriedStudy:
    """The study with the values of a run; an error where none of them has a place in it.

    What a case fixes itself stands before a value that was found. A start outside the bounds of
    its tuner is moved to the nearest of them, which is told.
    """
    match = matched_names(study, found, mapping)
    own = _Carrier(study, found, match)
    tuners = [own.tuner(t) for t in study.tuners]
    own.hold()
    own.tell_left()
    cases = [own.case(c) for c in study.cases]
    if own.held and not study.active_cases:
        cases.append(Case("design", fix={**own.held}))
    named = [c for c in own.changes if not c.case]
    origin = Origin(
        run=found.run,
        command=found.command,
        study=found.study,
        values={c.name: c.new for c in named},
        units={c.name: c.unit for c in named},
        held=own.held,
        remarks=(*found.remarks, *match.remarks, *own.remarks),
    )
    changed = study.with_(tuners=tuners, cases=cases).with_origin(origin)
    return CarriedStudy(changed, tuple(own.changes))


class _Carrier:
    """Notes what becomes of the values while tuners and cases take theirs."""

    def __init__(self, study: Study, found: RunValues, match: NameMatch) -> None:
        self._study, self._found = study, found
        self._values = {c.name: c.value(found.tuners[c.origin].value) for c in match.carried}
        self._units = {q.name: q.unit for q in study.model.quantities()}
        self._given = {q.name: q.value for q in study.model.quantities()}
        self.changes: list[ValueChange] = []
        self.remarks: list[str] = []
        self.held: dict[str, float] = {}

    def tuner(self, tuner: Tuner) -> Tuner:
        """A tuner that starts at the value that was found for it."""
        if tuner.name not in self._values:
            return tuner
        wanted = self._values[tuner.name]
        start = within(wanted, tuner.min, tuner.max)
        on_log = tuner.scale == "log" or (tuner.prior is not None and tuner.prior.on != "value")
        if on_log and start <= 0:
            self.remarks.append(
                f"tuner '{tuner.name}' keeps its start: {wanted:.6g} has no logarithm"
            )
            return tuner
        if start != wanted:
            bound = f"its max {tuner.max:g}" if wanted > tuner.max else f"its min {tuner.min:g}"
            side = "above" if wanted > tuner.max else "below"
            self.remarks.append(
                f"tuner '{tuner.name}' starts at {start:.6g}: the value found, {wanted:.6g}, is "
                f"{side} {bound}"
            )
        old = tuner.start if tuner.start is not None else self._given.get(tuner.name)
        unit = tuner.unit or self._units.get(tuner.name, "")
        self.changes.append(
            ValueChange("tuner", tuner.name, "", _number(old), start, unit, found=wanted)
        )
        return replace(tuner, start=start)

    def hold(self) -> None:
        """Note the parameters that are held at their values."""
        own = {t.name for t in self._study.tuners}
        setters = {p: t.name for t in self._study.tuners for p in t.driven}
        for name, value in self._values.items():
            if name in own:
                continue
            if name in setters:
                self.remarks.append(
                    f"parameter '{name}' is not held at {value:.6g}: tuner '{setters[name]}' "
                    "sets it"
                )
                continue
            self.held[name] = value
            old = _number(self._given.get(name))
            unit = self._units.get(name, "")
            self.changes.append(ValueChange("parameter", name, "", old, value, unit, found=value))

    def tell_left(self) -> None:
        """Tuners about which the run says nothing."""
        left = [t.name for t in self._study.active_tuners if t.name not in self._values]
        if left and len(left) < len(self._study.active_tuners):
            names = ", ".join(f"'{n}'" for n in left[:MOST])
            more = f" and {len(left) - MOST} more" if len(left) > MOST else ""
            verb = "keeps its start" if len(left) == 1 else "keep their starts"
            self.remarks.append(f"{names}{more} {verb}: {self._found.about} has no value of it")

    def case(self, case: Case) -> Case:
        """A case with what is held, with its start values and disturbances."""
        fixed = [n for n in self.held if n in case.fix]
        if fixed and case.active:
            names = ", ".join(f"'{n}'" for n in fixed)
            self.remarks.append(f"case '{case.name}' sets {names} itself, and keeps it")
        if self.held:
            case = replace(case, fix={**self.held, **case.fix})
        starts = self._starts(case)
        if starts:
            case = replace(case, free_start={**case.start_values, **starts})
        stretches = self._stretches(case)
        if stretches:
            case = replace(case, own_starts={**case.own_starts, **stretches})
        outputs = self._disturbances(case)
        return replace(case, outputs={**case.outputs, **outputs}) if outputs else case

    def _starts(self, case: Case) -> dict[str, StartValue]:
        found = self._found.start_values.get(case.name, {})
        given = case.start_values
        self._tell_not_free(case.name, [n for n in found if n not in given])
        return {
            n: self._start("start", case.name, n, given[n], v)
            for n, v in found.items()
            if n in given
        }

    def _stretches(self, case: Case) -> dict[str, dict[str, float]]:
        """Start values of the stretches of a case behind gaps, by their names."""
        known = {c.name for c in self._study.cases}
        names = [
            n
            for n in {**self._found.start_values, **self._found.disturbances}
            if n not in known and is_stretch(n, case.name)
        ]
        return {n: own for n in names if (own := self._stretch(case, n))}

    def _stretch(self, case: Case, name: str) -> dict[str, float]:
        left = self._found.disturbances.get(name, {})
        for output in left:
            self.remarks.append(
                f"the disturbance of '{output}' in '{name}' is not carried over: the next fit "
                "finds it anew"
            )
        found, given = self._found.start_values.get(name, {}), case.start_values
        states = self._study.bare.start_states or ()
        self._tell_not_free(name, [n for n in found if n not in states])
        before = case.own_starts.get(name, {})
        return {
            n: self._moved(
                "start", name, n, replace(given.get(n, StartValue()), start=before.get(n)), v
            )
            for n, v in found.items()
            if n in states
        }

    def _tell_not_free(self, case: str, names: list[str]) -> None:
        """Start values that the run has found and this study does not look for."""
        if not names:
            return
        listed = ", ".join(f"'{n}'" for n in names[:MOST])
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        many = len(names) > 1
        self.remarks.append(
            f"the start value{'s' if many else ''} of {listed}{more} in case '{case}' "
            f"{'are' if many else 'is'} not carried over: this study does not estimate "
            f"{'them' if many else 'it'}"
        )

    def _disturbances(self, case: Case) -> dict[str, OutputColumn]:
        found = self._found.disturbances.get(case.name, {})
        outputs = {}
        for name, column in case.columns_of_outputs.items():
            if name in found and column.disturbance is not False:
                given = column.disturbance
                given = StartValue() if given is True else given
                moved = self._start("disturbance", case.name, name, given, found[name])
                outputs[name] = replace(column, disturbance=moved)
        return outputs

    def _start(
        self, kind: str, case: str, name: str, given: StartValue, value: float
    ) -> StartValue:
        return replace(given, start=self._moved(kind, case, name, given, value))

    def _moved(self, kind: str, case: str, name: str, given: StartValue, value: float) -> float:
        """A value that was found, within its bounds, which is told."""
        start = within(value, given.min, given.max)
        if start != value:
            self.remarks.append(
                f"the start of '{name}' in case '{case}' is moved from {value:.6g} to its bound "
                f"{start:.6g}"
            )
        unit = self._units.get(name, "")
        self.changes.append(ValueChange(kind, name, case, given.start, start, unit, found=value))
        return start


def within(value: float, low: float, high: float) -> float:
    """The nearest value between two bounds."""
    return float(min(max(value, low), high))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None
