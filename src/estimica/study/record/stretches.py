"""Stretches of a study: cases with gaps as several cases, each begun from what is not known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem
from estimica.base.text import duration
from estimica.data.calendar import Calendar
from estimica.study.case import Case, StartValue
from estimica.study.record.gaps import between, find_gaps
from estimica.study.record.samples import Record, data_of, examine
from estimica.study.stretch import PART, Gap, Partition, Stretch, begun_as
from estimica.study.study import Study

#: states of a model from which on its gaps are bridged unless the case asks for stretches. Chosen:
#: one stretch seldom tells so many start values apart, and each costs a column of derivatives
MANY_STATES = 20
#: time stamps below which a stretch tells of nothing but noise (chosen)
FEWEST = 3
UNBOUNDED = (-math.inf, math.inf)
#: by how much longer than at its start a delay that is tuned may turn out to be (chosen)
TUNED_DELAY = 1.5


@dataclass(frozen=True)
class _Division:
    """A case with gaps: its stretches, or itself where it is bridged, and a word on it."""

    gaps: tuple[Gap, ...]
    cases: tuple[Case, ...]
    stretches: tuple[Stretch, ...]
    problem: Problem


def in_stretches(study: Study) -> Study:
    """The study with its cases between gaps; the same where there is none, or where it was done."""
    divisions = {c.name: d for c in study.active_cases if (d := _division(study, c)) is not None}
    if not divisions:
        return study
    cases: list[Case] = []
    for case in study.cases:
        divided = divisions.get(case.name)
        cases += [case] if divided is None else divided.cases
    old = study.partition
    named = {
        case.name: stretch
        for d in divisions.values()
        for case, stretch in zip(d.cases, d.stretches, strict=False)  # none of a bridged case
    }
    partition = Partition(
        {**old.cases, **{c.name: c for c in study.cases if c.name in divisions}},
        {**old.stretches, **named},
        {**old.gaps, **{n: d.gaps for n, d in divisions.items()}},
        (*old.notes, *(d.problem.text for d in divisions.values())),
    )
    return study.with_(cases=cases, partition=partition)


def gap_problem(study: Study, case: Case) -> Problem | None:
    """What is to be said of the gaps of a case, if it has any."""
    division = _division(study, case)
    return None if division is None else division.problem


def _division(study: Study, case: Case) -> _Division | None:
    if not study.model.has_time or case.name in study.partition.gaps:
        return None
    if case.name in study.partition.stretches:
        return None
    gaps = find_gaps(case)
    record = examine(case)[0] if gaps else None
    if record is None or not record.outputs:
        return None
    last = max(float(m.time[-1]) for m in record.outputs)
    gaps = tuple(g for g in gaps if g.begin < last and g.end > record.begin)
    if not gaps:
        return None
    why = _why_bridged(study, case)
    where = f"case '{case.name}'"
    if why:
        message = f"{_told(case, gaps)}; the simulation goes on through {_it(gaps)} {why}"
        return _Division(gaps, (case,), (), Problem("C111", where, message, warning=True))
    return _split(study, record, gaps, last)


def _why_bridged(study: Study, case: Case) -> str:
    """Why a case is simulated across its gaps; "" where it is split."""
    held = "with the inputs that there were before"
    handling = case.gaps or study.estimation.gaps
    if handling == "bridge":
        return held
    states = study.bare.start_states
    if states is None:
        return (
            f"{held}, since the model cannot be begun elsewhere: not all of its states can be set; "
            "give each stretch as a case of its own where that is wrong"
        )
    if case.change:
        return f"{held}, since the case has changes; give each stretch as a case of its own"
    if _remembered(study, case) is None:
        return f"{held}, since nobody knows before a simulation how long the model's delays are"
    if len(states) > MANY_STATES and case.gaps is None:
        return (
            f"{held}, since a stretch would have {len(states)} start values of its own; "
            'write gaps = "split" in the case to have them'
        )
    return ""


def _split(study: Study, record: Record, gaps: tuple[Gap, ...], last: float) -> _Division | None:
    case, states = record.case, study.bare.start_states or ()
    parts = between(gaps, record.begin, last)
    late = _remembered(study, case) or 0.0
    kept: list[tuple[float, float]] = []
    short = 0
    for k, (begin, end) in enumerate(parts):
        own = len(case.start_values) if k == 0 else len(states)
        samples, stamps = _samples(record, begin if k == 0 else begin + late, end)
        if samples > own and stamps >= FEWEST:
            kept.append((begin, end))
        elif samples:
            short += 1
    if not kept:
        return None
    names = _names(study, case.name, len(kept))
    stretches = tuple(Stretch(case.name, k, *ends) for k, ends in enumerate(kept, start=1))
    cases = tuple(
        _case(case, name, ends, states, late, is_first=ends == parts[0])
        for name, ends in zip(names, kept, strict=True)
    )
    begun = len(cases) - (kept[0] == parts[0])
    words = [_told(case, gaps), _simulated(begun, len(cases), states)]
    if late:
        words.append(
            f"the samples of the first {duration(late)} behind a gap are left out, since the "
            "model's delays remember inputs from within it"
        )
    if short:
        few = "1 stretch has" if short == 1 else f"{short} stretches have"
        words.append(f"{few} too few samples and {'is' if short == 1 else 'are'} left out")
    advice = f'write gaps = "bridge" to simulate through {_it(gaps)} with the inputs held'
    message = "; ".join(filter(None, words))
    problem = Problem("C110", f"case '{case.name}'", message, advice, warning=True)
    return _Division(gaps, cases, stretches, problem)


def _remembered(study: Study, case: Case) -> float | None:
    """Seconds behind a gap during which delays bring up what was before; None: nobody knows."""
    tuned = {
        name: t.start
        for t in study.active_tuners
        for name, text in study.driven(t).items()
        if t.start is not None and text.strip() == t.name
    }
    try:
        late, other = (
            study.bare.longest_delay({**{n: k * v for n, v in tuned.items()}, **case.fixed})
            for k in (1.0, TUNED_DELAY)
        )
    except EstimicaError:
        return None
    if late is None or other is None or not math.isfinite(late):
        return None
    return late if late == other else TUNED_DELAY * late


def _case(
    case: Case,
    name: str,
    ends: tuple[float, float],
    states: Sequence[str],
    late: float,
    *,
    is_first: bool,
) -> Case:
    """A case for one stretch; behind a gap nothing is known of the states but their bounds.

    Samples before the past of the delays is known, `late` seconds on, do not count.
    """
    begin, end = ends
    until = end if case.to is None else min(case.to, end)
    if is_first:
        return replace(begun_as(case, name), to=until)
    given = case.start_values
    bounds = {n: (given[n].min, given[n].max) for n in states if n in given}
    free: dict[str, float | StartValue] = {
        n: StartValue(None, *bounds.get(n, UNBOUNDED)) for n in states
    }
    since = begin + late if case.from_ is None else max(case.from_, begin + late)
    stretch = replace(
        case,
        begin=begin,
        from_=since,
        to=until,
        free_start=free,
        fix={n: v for n, v in case.fix.items() if n not in free},
    )
    return begun_as(stretch, name)


def _samples(record: Record, begin: float, end: float) -> tuple[int, int]:
    """Samples that count within a stretch, and the time stamps that they have."""
    inside = [m.time[(m.time >= begin) & (m.time <= end)] for m in record.outputs]
    return sum(map(len, inside)), len(np.unique(np.concatenate(inside)))


def _names(study: Study, name: str, count: int) -> list[str]:
    """The case's own name, and that with numbers; names of other cases are passed over."""
    taken = {c.name for c in study.cases}
    names, number = [name], 2
    while len(names) < count:
        if f"{name}{PART}{number}" not in taken:
            names.append(f"{name}{PART}{number}")
        number += 1
    return names


# --- words ---------------------------------------------------------------------------------------


def _it(gaps: Sequence[Gap]) -> str:
    return "it" if len(gaps) == 1 else "them"


def _told(case: Case, gaps: Sequence[Gap]) -> str:
    longest = max(gaps, key=lambda g: g.seconds)
    where = f"from {_when(case, longest.begin)} to {_when(case, longest.end)}"
    if longest.missing:
        names = " and ".join(f"'{n}'" for n in longest.missing)
        where = f"of {names} {where}"
    if len(gaps) == 1:
        return f"a gap of {duration(longest.seconds)} {where}"
    return f"{len(gaps)} gaps, the longest of {duration(longest.seconds)} {where}"


def _when(case: Case, time: float) -> str:
    """An instant: a date where the file has dates, or a time."""
    data = data_of(case)
    origin = data.origins.get(data.time_name(case.time))
    if origin is None:
        return f"{time:.10g} s"
    shown = Calendar.of(origin).at(round(time))
    return shown.replace(tzinfo=None, microsecond=0).isoformat(" ")


def _simulated(begun: int, count: int, states: Sequence[str]) -> str:
    if count == 1:
        return "only one stretch is used"
    named = ", ".join(states[:4]) + (", …" if len(states) > 4 else "")
    own = f", those behind a gap from start values of their own ({named})" if states else ""
    return f"its {count} stretches are simulated apart{own}" if begun else ""
