"""Pictures of families of curves: bands and single runs, by colour whether the demands hold."""

from __future__ import annotations

import numpy as np

from estimica.base.arrays import Flags, Indices, Vector
from estimica.base.errors import DesignError
from estimica.base.view import Curve, Curves, Panel, Ribbon, name_with_unit
from estimica.optimise.assess.families import Family
from estimica.optimise.assess.result import Assessment

RED, GREEN, PINK, BLUE, GREY = 1, 2, 3, 0, 7
SINGLE = 45  # runs of one panel that are drawn as lines; chosen: more make a carpet
MOST_PANELS = 12  # of a page
STRENGTH = 0.65  # of a single run, so that many of them show where they are dense
DIGITS = 5  # of numbers in JSON: more than a picture shows
IN_JSON = 20  # single runs of a family in JSON
EVERY = 2  # of the times of a curve, which of them JSON has: it stays small

ABOUT = (
    "The signals that the criteria look at, in many samples: the band, the median, and single runs "
    "in the colour of whether the demands on this signal hold. Runs that have not settled within "
    "their window are dashed and apart: they have no number. The extremes of every criterion are "
    "always among the single runs."
)

HOLD, HOLD_NOT, OPEN = "demands hold", "demands do not hold", "not settled"


def kinds_of_runs(assessment: Assessment, family: Family) -> dict[str, Flags]:
    """Which of a family's runs satisfy the demands on its signal, do not, or have not settled."""
    counted = [k for k in family.places if assessment.places[k].role != "watch"]
    open_ = np.asarray(assessment.open[family.rows][:, list(family.places)].any(axis=1), bool)
    held = np.asarray(assessment.held[family.rows][:, counted].all(axis=1), bool)
    return {HOLD: held & ~open_, HOLD_NOT: ~held & ~open_, OPEN: open_}


def family_curves(assessment: Assessment, names: tuple[str, ...] = ()) -> Curves:
    """A panel for each signal of each case; with `names` only those that these criteria look at."""
    chosen = [
        f
        for f in assessment.families
        if not names or any(assessment.places[k].criterion.name in names for k in f.places)
    ]
    if not chosen:
        raise DesignError(
            "O079",
            "there are no curves over time: the criteria look at no signal, or curves = 0; "
            "set curves = 100 in the table",
        )
    panels: list[Panel] = []
    listed: set[str] = set()
    for family in chosen[:MOST_PANELS]:
        panels.append(_panel(assessment, family, listed))
    title = f"{assessment.study.name}: {_count(assessment, chosen[0])}"
    return Curves(tuple(panels), title, "time [s]", panel_height=240)


def _count(assessment: Assessment, family: Family) -> str:
    drawn, every = len(family.rows), int((assessment.good & assessment.drawn).sum())
    return f"{drawn} of {every} runs" if drawn < every else f"all {drawn} runs"


def _panel(assessment: Assessment, family: Family, listed: set[str]) -> Panel:
    def once(name: str) -> bool:
        """Whether the legend has it: at its first appearance."""
        new = name not in listed
        listed.add(name)
        return new

    low, middle, high = _band(assessment, family)
    lines = []
    colours = {HOLD: GREEN, HOLD_NOT: RED, OPEN: PINK}
    shown = _single(assessment, family)
    for word, rows in kinds_of_runs(assessment, family).items():
        name = _word(assessment, family) if word == OPEN else word
        for k in np.flatnonzero(rows):
            if k in shown:
                lines.append(
                    Curve(name, family.time, family.values[k], colour=colours[word],
                          strength=STRENGTH, dashed=word == OPEN, listed=once(name))
                )  # fmt: skip
    lines.append(Curve("median", family.time, middle, colour=BLUE, listed=once("median")))
    if family.reference is not None:
        reference = Curve("reference", family.time, family.reference, dashed=True, colour=GREY,
                          listed=once("reference"))  # fmt: skip
        lines.append(reference)
    name = _band_name(assessment)
    band = Ribbon(name, family.time, low, high, colour=BLUE, strength=0.18, listed=once(name))
    group = _heading(assessment, family)
    return Panel(name_with_unit(family.signal, family.unit), tuple(lines), group=group,
                 ribbons=(band,))  # fmt: skip


def _heading(assessment: Assessment, family: Family) -> str:
    """The case, and how many runs of this signal have not settled: they have no number."""
    open_ = int(kinds_of_runs(assessment, family)[OPEN].sum())
    case = f"{family.case}: " if family.case else ""
    criteria = ", ".join(dict.fromkeys(assessment.places[k].criterion.name for k in family.places))
    told = f", {_word(assessment, family)} in {open_} of {len(family.rows)}" if open_ else ""
    return f"{case}{criteria}{told}"


def _word(assessment: Assessment, family: Family) -> str:
    """What a criterion of the family is where it was not reached, as "not settled"."""
    for k in family.places:
        if assessment.open[family.rows, k].any():
            return assessment.places[k].open_word
    return OPEN


def _single(assessment: Assessment, family: Family) -> set[int]:
    """Runs that are drawn as lines: the extremes of every criterion, then some of each kind."""
    count = len(family.rows)
    if count <= SINGLE:
        return set(range(count))
    least = assessment.least[family.rows][:, list(family.places)]
    chosen = {int(f(column)) for column in least.T for f in (np.argmin, np.argmax)}
    for rows in kinds_of_runs(assessment, family).values():
        places: Indices = np.flatnonzero(rows)
        share = max(3, round(SINGLE * len(places) / count))  # each kind is seen, however rare
        chosen |= set(places[np.linspace(0, len(places) - 1, share).astype(int)].tolist()
                      if len(places) else [])  # fmt: skip
    return chosen


def _levels(assessment: Assessment) -> tuple[float, float]:
    """Of the band: the outer quantiles of a Monte Carlo, all runs of a sweep."""
    if assessment.command != "montecarlo":
        return 0.0, 1.0
    return min(assessment.levels), max(assessment.levels)


def _band_name(assessment: Assessment) -> str:
    low, high = _levels(assessment)
    if (low, high) == (0.0, 1.0):
        return "from the lowest to the highest run"
    return f"{100 * low:g} % to {100 * high:g} % of the runs at each time"


def _band(assessment: Assessment, family: Family) -> tuple[Vector, Vector, Vector]:
    low, high = _levels(assessment)
    first, middle, last = family.quantiles([low, 0.5, high])
    return first, middle, last


def families_object(assessment: Assessment) -> list[dict[str, object]]:
    """Bands and some single runs of every signal, rounded to what can be seen."""
    return [_object(assessment, family) for family in assessment.families]


def _object(assessment: Assessment, family: Family) -> dict[str, object]:
    low, middle, high = _band(assessment, family)
    kinds = kinds_of_runs(assessment, family)
    chosen = sorted(_single(assessment, family))
    chosen = [chosen[k] for k in np.unique(np.linspace(0, len(chosen) - 1, IN_JSON).astype(int))]
    runs = [
        {
            "sample": int(family.rows[k]),
            "holds": None if kinds[OPEN][k] else bool(kinds[HOLD][k]),
            "settled": not kinds[OPEN][k],
            "values": _rounded(family.values[k][::EVERY]),
        }
        for k in chosen
    ]
    return {
        "case": family.case,
        "signal": family.signal,
        "unit": family.unit,
        "criteria": [assessment.places[k].criterion.name for k in family.places],
        "simulated": len(family.rows),
        "counts": {word: int(rows.sum()) for word, rows in kinds.items()},
        "levels": list(_levels(assessment)),
        "time": _rounded(family.time[::EVERY]),
        "low": _rounded(low[::EVERY]),
        "median": _rounded(middle[::EVERY]),
        "high": _rounded(high[::EVERY]),
        "runs": runs,
    }


def _rounded(values: Vector) -> list[float]:
    return [float(f"{v:.{DIGITS}g}") for v in values.tolist()]
