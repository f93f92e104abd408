"""Names of a run in a study: equal ones, mapped ones, and what is proposed for the rest.

A fit of a motor finds `R`; in a model of a vehicle that resistance is `mot.R`. The table
`[from_fit]` says so: `"mot.R" = "R"`. Nothing is guessed: what only looks alike is proposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from estimica.base.errors import StudyError
from estimica.base.suggest import did_you_mean
from estimica.study.carry.values import FoundValue, RunValues
from estimica.study.study import FIXED, Study
from estimica.study.toml.write import toml_key
from estimica.study.units import Conversion, UnknownUnit, conversion

TABLE = "from_fit"
RUN, STUDY = "run", "study"  # keys of the table that say where values are from
MOST = 4  # names that a message lists


@dataclass(frozen=True)
class CarriedName:
    """A name of the study that takes the value of a name of the run."""

    name: str
    origin: str
    convert: Conversion

    def value(self, found: float) -> float:
        """A number of the run in the unit of the study."""
        return self.convert.scale * found + self.convert.offset


@dataclass(frozen=True)
class NameMatch:
    """Which names of a run a study takes, and what is said about the others."""

    carried: tuple[CarriedName, ...]
    remarks: tuple[str, ...]


def mapping_of(study: Study) -> dict[str, str]:
    """What the table `[from_fit]` maps: {name in the study: name in the run}."""
    table = study.tables.get(TABLE, {})
    if not isinstance(table, Mapping):
        return {}
    return {str(n): str(o) for n, o in table.items() if n not in (RUN, STUDY)}


def matched_names(
    study: Study, found: RunValues, mapping: Mapping[str, str] | None = None
) -> NameMatch:
    """The names of a study that take values of a run; an error where there is none.

    `mapping` comes before the table of the study. Names that are mapped go where they are sent and
    nowhere else; equal names go to their like. A run of this very study has its own names, and what
    it took from another one under them: for it the table says nothing.
    """
    own = found.study == study.name and not found.elsewhere
    chosen = {**({} if own else mapping_of(study)), **(mapping or {})}
    units = _units(study)
    _require_known(chosen, units, found)
    pairs = dict(chosen)
    pairs |= {n: n for n in found.tuners if n in units and n not in chosen.values()}
    carried = [_carried(name, origin, units[name], found) for name, origin in pairs.items()]
    left = [n for n in found.tuners if n not in pairs.values()]
    remarks = _proposals(left, units, pairs, found)
    missing = [n for n in mapping_of(study) if own and n in units and n not in found.tuners]
    if missing:
        remarks += (
            f"{found.about} has no {_some(missing)} of [{TABLE}], which stay as the model has "
            "them; begin it again to have it with them",
        )
    if not carried and not _carries_states(study, found):
        names = ", ".join(found.tuners) or "none"
        raise StudyError(
            "Q192",
            f"{found.about} has no tuner that this study's model knows; its tuners are {names}"
            + "".join(f"; {r}" for r in remarks),
        )
    return NameMatch(tuple(carried), remarks)


def _units(study: Study) -> dict[str, str]:
    """Tuners and parameters of a study with their units."""
    units = {q.name: q.unit for q in study.model.quantities() if q.role in FIXED}
    return units | {t.name: t.unit or units.get(t.name, "") for t in study.tuners}


def _carries_states(study: Study, found: RunValues) -> bool:
    cases = {c.name for c in study.cases}
    return bool(cases & (found.start_values.keys() | found.disturbances.keys()))


def _require_known(chosen: Mapping[str, str], units: Mapping[str, str], found: RunValues) -> None:
    for name, origin in chosen.items():
        entry = f'[{TABLE}] {toml_key(name)} = "{origin}"'
        if name not in units:
            hint = did_you_mean(name, units)
            raise StudyError("Q193", f"{entry}: there is no tuner or parameter '{name}'{hint}")
        if origin not in found.tuners:
            hint = did_you_mean(origin, found.tuners) or f" (it has {_some(found.tuners)})"
            raise StudyError("Q194", f"{entry}: {found.about} has no '{origin}'{hint}")


def _carried(name: str, origin: str, unit: str, found: RunValues) -> CarriedName:
    given = found.tuners[origin]
    return CarriedName(name, origin, _conversion(name, origin, given, unit, found))


def _conversion(
    name: str, origin: str, given: FoundValue, unit: str, found: RunValues
) -> Conversion:
    if not given.unit or not unit or given.unit == unit:
        return Conversion(1.0, 0.0)
    try:
        known = conversion(given.unit, unit)
    except UnknownUnit:
        return Conversion(1.0, 0.0)  # units that nobody knows contradict nothing
    if known is None:
        raise StudyError(
            "Q195",
            f"'{origin}' of {found.about} is in {given.unit}, '{name}' of this study in {unit}: "
            "they measure different things, so that the value cannot be carried over",
        )
    return known


def _proposals(
    left: Iterable[str], units: Mapping[str, str], taken: Mapping[str, str], found: RunValues
) -> tuple[str, ...]:
    """What could be meant by names that the study does not have: those with equal endings."""
    remarks = []
    for origin in left:
        alike = [n for n in units if n not in taken and _same_ending(n, origin)]
        if not alike:
            remarks.append(f"'{origin}' of {found.about} has no place in this study")
        elif len(alike) == 1:
            entry = f'[{TABLE}] {toml_key(alike[0])} = "{origin}"'
            remarks.append(
                f"'{origin}' of {found.about} is not carried over; if '{alike[0]}' is meant, "
                f"write {entry}"
            )
        else:
            remarks.append(
                f"'{origin}' of {found.about} is not carried over; it may be {_some(alike)}: "
                f'write which, as [{TABLE}] {toml_key(alike[0])} = "{origin}"'
            )
    return tuple(remarks)


def _same_ending(name: str, origin: str) -> bool:
    """Whether one name is the end of the other, as `R` and `mot.R`."""
    return name.endswith(f".{origin}") or origin.endswith(f".{name}")


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return (", ".join(f"'{n}'" for n in listed[:MOST]) or "nothing") + more
