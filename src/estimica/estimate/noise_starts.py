"""Where the search for noise levels begins that nobody has given a start, and below which levels
noise counts as none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.quantities import Quantity
from estimica.estimate.unknowns import Unknowns
from estimica.source.formula import parse_formula
from estimica.study.noise.process import PREDICTION, output_sigma
from estimica.study.record.noise import SigmaFormula
from estimica.study.record.samples import MeasuredOutput, Record
from estimica.study.study import Study
from estimica.study.tuner import Tuner

#: of how far an output moves from sample to sample, noise of measuring is taken to be this part at
#: first, and noise in a state of the same unit, too: both are then felt. Starts that are too large
#: are safe; far too small ones change nothing that is predicted, and the search would stay there
SHARE = 0.3
#: of the size of a state whose unit was not measured, over one stretch between samples
UNSEEN = 0.01
#: noise below this part of its first guess is none: predictions differ by less than a
#: hundred-millionth of their variance
NOTHING = 1e-4
#: a search that begins below this part of the first guess stays there: what it gains grows with the
#: square, and is less than what a cost is known to
SILENT = 1e-2


def with_noise_starts(
    study: Study, records: tuple[Record, ...]
) -> tuple[Study, tuple[Record, ...], dict[str, float]]:
    """The study of a prediction with starts of its noise levels, records whose noise is it, and
    the values at which such noise counts as none."""
    if study.estimation.criterion != PREDICTION:
        return study, records, {}
    records = tuple(replace(r, outputs=tuple(_modelled(r, m) for m in r.outputs)) for r in records)
    guesses = _guesses(study, records)
    tuners = [_started(t, guesses.get(t.name)) for t in study.tuners]
    floors = {name: NOTHING * guess for name, guess in guesses.items()}
    return study.with_(tuners=tuners), records, floors


def is_no_noise(unknowns: Unknowns, values: Vector, floors: Mapping[str, float]) -> Flags:
    """Which unknowns are noise levels at a lower bound so small that there is no noise."""
    pairs = zip(unknowns.items, values, strict=True)
    # what rounding leaves of a bound whose logarithm is searched
    near = 1 + 1e-9
    return np.array(
        [
            u.kind == "tuner" and u.name in floors and v <= near * min(floors[u.name], u.min)
            for u, v in pairs
        ],
        bool,
    )


def _modelled(record: Record, m: MeasuredOutput) -> MeasuredOutput:
    """An output whose samples each have the noise that the filter predicts."""
    text = str(output_sigma(m.name, record.case.columns_of_outputs[m.name]))
    return replace(m, sigma=SigmaFormula(parse_formula(text, "sigma"), {}))


def _started(tuner: Tuner, guess: float | None) -> Tuner:
    if guess is None:
        return tuner
    first = min(max(guess, tuner.min), tuner.max)
    start = first if tuner.start is None else tuner.start
    if tuner.min > 0 or tuner.scale != "log" or not tuner.active or start <= 0:
        return replace(tuner, start=start)
    if start <= SILENT * guess:  # as an earlier fit that needed no noise has left it
        start = first
    # without a bound, noise that is not there would go on to smaller decades for ever
    return replace(tuner, start=start, min=min(NOTHING * min(start, guess), tuner.max))


def _guesses(study: Study, records: Sequence[Record]) -> dict[str, float]:
    """A first value for every tuner that only noise speaks of."""
    known = {q.name: q for q in study.model.quantities()}
    own = {t.name for t in study.tuners if t.name not in known and not t.drives}
    guesses: dict[str, float] = {}
    moved = _moves(records)

    def note(level: float | str, size: float, typical: Mapping[str, float]) -> None:
        if isinstance(level, str):
            for name, guess in _of_formula(level, size, own, typical).items():
                guesses.setdefault(name, guess)

    for record in records:
        typical = _typical(study, record, known)
        for m in record.outputs:
            level = output_sigma(m.name, record.case.columns_of_outputs[m.name])
            note(level, SHARE * moved[m.name][0], typical)
    for record in records[:1]:
        typical = _typical(study, record, known)
        for state, level in study.process_noise.items():
            size, step = _of_state(known.get(state), state, known, moved)
            note(level, float(size / np.sqrt(step)), typical)
        for state, level in study.filter.spreads.items():
            note(level, 10 * _of_state(known.get(state), state, known, moved)[0], typical)
    return guesses


def _of_formula(
    text: str, size: float, own: Collection[str], typical: Mapping[str, float]
) -> dict[str, float]:
    """The values of its `own` names at each of which a formula has about this size.

    Without the others where it has a value then (a + b*T), else with all alike (a*b).
    """
    formula = parse_formula(text, "noise")
    free = [n for n in formula.names if n in own]
    held = {n: typical.get(n, 1.0) for n in formula.names if n not in own}

    def root(names: Sequence[str]) -> float | None:
        def at(value: float) -> float:
            return abs(float(formula.at({**held, **{n: value * (n in names) for n in free}})))

        one, two = at(1.0), at(2.0)
        if not (0 < one < np.inf and one < two < np.inf):
            return None
        return float((size / one) ** (1 / np.log2(two / one)))

    together = root(free)
    found = {name: root([name]) or together or size for name in free}
    return {n: v for n, v in found.items() if 0 < v < np.inf}


def _typical(study: Study, record: Record, known: Mapping[str, Quantity]) -> dict[str, float]:
    """Sizes of what formulas of noise may speak of: what is measured, then what is known."""
    sizes = {n: abs(float(q.value)) for n, q in known.items() if isinstance(q.value, (int, float))}
    sizes |= {n: q.nominal for n, q in known.items() if q.nominal}
    sizes |= {t.name: abs(t.start) for t in study.tuners if t.start is not None}
    sizes |= {n: float(np.sqrt(np.mean(s.value**2))) for n, s in record.inputs.items()}
    sizes |= {m.name: m.rms for m in record.outputs}
    return {n: v if 0 < v < np.inf else 1.0 for n, v in sizes.items()}


def _moves(records: Sequence[Record]) -> dict[str, tuple[float, float]]:
    """Of every output how far it moves from sample to sample, and the seconds between them."""
    found: dict[str, tuple[float, float]] = {}
    for m in (m for r in records for m in r.outputs):
        if len(m.value) > 1 and m.name not in found:
            size = float(np.std(np.diff(m.value))) or 1e-3 * m.rms
            found[m.name] = size, float(np.median(np.diff(m.time))) or 1.0
        found.setdefault(m.name, (m.rms, 1.0))
    return found


def _of_state(
    q: Quantity | None,
    state: str,
    known: dict[str, Quantity],
    moved: dict[str, tuple[float, float]],
) -> tuple[float, float]:
    """How far noise moves a state between two samples, at first, and their distance."""
    step = float(np.median([s for _, s in moved.values()])) if moved else 1.0
    if state in moved:
        return SHARE * moved[state][0], moved[state][1]
    unit = q.unit if q is not None else ""
    alike = [own for n, own in moved.items() if unit and n in known and known[n].unit == unit]
    if alike:
        return SHARE * alike[0][0], alike[0][1]
    value = q.value if q is not None and isinstance(q.value, (int, float)) else None
    size = (q.nominal if q is not None else None) or value or 1.0
    return UNSEEN * abs(float(size)), step
