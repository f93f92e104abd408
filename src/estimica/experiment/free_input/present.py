"""How a free-form input shows itself: words, tables, pictures, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.result import Outcome, finite
from estimica.base.signals import Hold, Signal
from estimica.base.text import short
from estimica.base.view import (
    Band,
    Bar,
    Bars,
    Curve,
    Curves,
    Page,
    Panel,
    Section,
    Table,
    name_with_unit,
    status_line,
    without_empty,
)
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.experiment.free_input.problem.limits import KEPT
from estimica.experiment.free_input.result import Attempt, Expected, FreeInput

STRONG, GREY = 1, 7  # of the palette
TOLD = 0.01  # difference between the search and the engine that is worth a word

#: IPOPT's endings that say nothing is wrong
WELL = ("Solve_Succeeded", "Solved_To_Acceptable_Level", "Feasible_Point_Found")
WORDS = {
    "Maximum_Iterations_Exceeded": "after all its iterations",
    "Maximum_WallTime_Exceeded": "out of time",
    "User_Requested_Stop": "interrupted",
    "Search_Direction_Becomes_Too_Small": "where no step helped any more",
    "Infeasible_Problem_Detected": "without keeping all limits",
    "Restoration_Failed": "without keeping all limits",
    "Invalid_Number_Detected": "where the model could not be evaluated",
}
KINDS = {
    "D": "the determinant of the covariance (D)",
    "A": "the mean relative variance (A)",
    "E": "the variance in the worst direction (E)",
    "S_min": "the variance in the worst direction (S_min)",
    "R": "the ratio of the greatest and least sensitivity (R)",
}
_COURSES = (
    "The design is drawn over the reference; a shaded band is what the input may do, dashed lines "
    "are limits of variables."
)


def outcome(found: FreeInput) -> Outcome:
    """How it went."""
    said = [
        f"standard errors {_change(found)} those of the {_reference(found)}",
    ]
    if found.difference > TOLD:
        said.append(
            f"the search saw standard errors {100 * found.difference:.1f} % off; "
            "all numbers here are the engine's"
        )
    if found.passed > KEPT:
        said.append(f"a limit is passed by {100 * found.passed:.2g} % of its range")
    message = "; ".join(said)
    if found.interrupted:
        return Outcome("interrupted", f"interrupted; {message}", ok=False)
    return Outcome("done", message, ok=found.passed <= KEPT)


def _reference(found: FreeInput) -> str:
    return found.reference.text.split(":")[0]


def _change(found: FreeInput) -> str:
    """By how much standard errors are below those of the reference, in words."""
    gain = 100 * found.gain
    if not np.isfinite(gain).all():
        return "cannot be compared with"
    low, high = float(gain.min()), float(gain.max())
    if low >= 0:
        span = f"{low:.0f} %" if high - low < 0.5 else f"{low:.0f} to {high:.0f} %"
        return f"are {span} below"
    if high <= 0:
        span = f"{-high:.0f} %" if high - low < 0.5 else f"{-high:.0f} to {-low:.0f} %"
        return f"are {span} above"
    return f"lie between {-low:.0f} % above and {high:.0f} % below"


# --- tables --------------------------------------------------------------------------------------


def tables(found: FreeInput) -> tuple[Table, ...]:
    """All there is to read."""
    return (errors(found),)


def errors(found: FreeInput) -> Table:
    """A row for each unknown: its standard errors and the gain."""
    body = []
    for k, name in enumerate(found.names):
        before, after = float(found.reference.stderr[k]), float(found.design.stderr[k])
        gain = 100 * (1 - after / before) if before > 0 and math.isfinite(before) else math.nan
        size = abs(float(found.values[k]))
        numbers = [float(found.values[k]), before, after]
        numbers.append(100 * after / size if size else math.nan)
        shown = [short(x) if math.isfinite(x) else None for x in (*numbers, gain)]
        unit = found.units.get(name, "")
        remark = "" if k in found.counted else "found along"
        body.append((name, *shown, "" if unit == "1" else unit, remark))
    columns = ("unknown", "value", "reference", "design", "%", "gain %", "unit", "remark")
    title = f"{found.study}: standard errors to be expected, input {', '.join(found.designed)}"
    note = f"{status_line(*outcome(found))}. The reference is the {found.reference.text}."
    made = Table(columns, tuple(body), title, note)
    return without_empty(made, "unit", "remark")


def attempts(found: FreeInput) -> Table:
    """A row for each start of the search."""
    body = tuple(
        (a.start, short(math.exp(a.criterion)) if math.isfinite(a.criterion) else None,
         a.iterations, _how(a))
        for a in found.attempts
    )  # fmt: skip
    return Table(("start", _measure(found), "iterations", "it ended"), body)


def _measure(found: FreeInput) -> str:
    return "R" if found.criterion == "R" else "relative error"


def _how(attempt: Attempt) -> str:
    if attempt.ended in WELL:
        return "at an optimum"
    return WORDS.get(attempt.ended, attempt.ended.replace("_", " ").lower())


# --- pictures ------------------------------------------------------------------------------------


def picture(found: FreeInput, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """Designed inputs and what they do, with limits, over those of the reference."""
    panels = [*_inputs(found), *_outputs(found)]
    return Curves(tuple(panels), f"{found.study}: free-form input")


def _inputs(found: FreeInput) -> Iterator[Panel]:
    limits = found.limits
    end = 2 * float(found.times[-1]) - float(found.times[-2])
    for k, name in enumerate(found.designed):
        unit = found.units.get(name, "")
        low, high = float(limits.lower[k]), float(limits.upper[k])
        bounded = math.isfinite(low) and math.isfinite(high)
        curves = [
            _held("reference", found.reference.signals[name], end, GREY, listed=k == 0),
            _held("design", found.design.signals[name], end, STRONG, listed=k == 0),
        ]
        bands = (Band("allowed", low, high),) if bounded else ()
        yield Panel(
            name_with_unit(name, unit), tuple(curves), bands, group="" if k else "designed input"
        )


def _held(name: str, signal: Signal, end: float, colour: int, listed: bool) -> Curve:
    t, u = np.append(signal.time, end), np.append(signal.value, signal.value[-1])
    held = signal.hold is Hold.PREVIOUS
    strength = 0.6 if colour == GREY else 1.0
    return Curve(name, t, u, stepped=held, colour=colour, strength=strength, listed=listed)


def _outputs(found: FreeInput) -> Iterator[Panel]:
    limits = found.limits
    for k, name in enumerate(found.shown):
        unit = found.units.get(name, "")
        before, after = found.reference.courses[:, k], found.design.courses[:, k]
        curves = [
            Curve("reference", found.seen, before, unit, colour=GREY, strength=0.6, listed=False),
            Curve("design", found.seen, after, unit, colour=0, listed=False),
        ]
        bands = ()
        if name in limits.names:
            i = limits.names.index(name)
            curves += [
                Curve(
                    "limit", found.seen[[0, -1]], np.full(2, float(end)), unit, dashed=True,
                    colour=STRONG, listed=False,
                )
                for end in (limits.low[i], limits.high[i])
                if math.isfinite(end)
            ]  # fmt: skip
        yield Panel(
            name_with_unit(name, unit),
            tuple(curves),
            bands,
            group="" if k else "variables of the model",
        )


def gains(found: FreeInput) -> Bars:
    """Standard errors of design and reference as shares of the values, tuner by tuner."""
    groups = []
    for k in found.counted:
        size = abs(float(found.values[k])) or 1.0
        before, after = (100 * float(e.stderr[k]) / size for e in (found.reference, found.design))
        side = "below" if after <= before else "above"
        told = f"{100 * abs(1 - after / before):.0f} % {side} the reference"
        bars = (Bar("reference", before), Bar("design", after, told, strong=True))
        groups.append((found.names[k], bars))
    return Bars(tuple(groups), "standard error, % of the value", "Standard errors to be expected")


# --- the page ------------------------------------------------------------------------------------


def page(found: FreeInput) -> Page:
    """Everything about a design on one page."""
    lead = (
        f"Input {', '.join(found.designed)} of {len(found.stamps)} pieces over "
        f"{len(found.times)} samples, criterion {found.criterion}; {short(found.seconds):g} s."
    )
    told = Page(f"Input design: {found.study}", tuple(_sections(found)), lead)
    said = status_line(*outcome(found))
    answer = Section(ANSWER, f"{said[:1].upper()}{said[1:]}.")
    more = (
        f"The input to be designed is {', '.join(found.designed)}, piece by piece, for "
        f"{KINDS[found.criterion]}."
    )
    first = (
        (study_summary(found.origin, "design-input", more), answer) if found.origin else (answer,)
    )
    return with_reproduction(told, "design-input", found.origin, first=first, run=found.run)


def _sections(found: FreeInput) -> Iterator[Section]:
    over = ""
    if len(found.scenarios) > 1:
        which = "the worst" if found.worst else "the mean"
        over = f", {which} of {len(found.scenarios)} sets of values"
    text = (
        f"The input was searched for {KINDS[found.criterion]}{over}, all other unknowns being "
        f"estimated too. The reference is the {found.reference.text}. Standard errors are those "
        "of the engine's own sensitivities at the nominal values."
    )
    yield Section("Result", text, (replace(errors(found), title="", note=""), _plain(gains(found))))
    yield Section("Input and outputs", _COURSES, (replace(picture(found), title=""),))
    how = (
        f"Derivatives by the input: {found.way}. Standard errors as the search saw them differ "
        f"from the engine's by at most {100 * found.difference:.2g} %."
    )
    yield Section("Searches", how, (attempts(found),))


def _plain(bars: Bars) -> Bars:
    return replace(bars, title="")


def as_object(found: FreeInput) -> dict[str, object]:
    """The design, its reference and all attempts; what is not finite is None."""
    status, message = outcome(found)
    counted = [found.names[k] for k in found.counted]
    plain = finite(
        {
            "command": "design-input",
            "run": found.run,
            "study": found.study,
            "outcome": {"status": status, "message": message},
            "kind": "free",
            "criterion": found.criterion,
            "over": "worst" if found.worst else "mean",
            "input": list(found.designed),
            "tuners": counted,
            "values": dict(zip(found.names, map(float, found.values), strict=True)),
            "best": _expected(found, found.design),
            "reference": _expected(found, found.reference),
            "gain_percent": dict(zip(counted, map(float, 100 * found.gain), strict=True)),
            "scenarios": [dict(s) for s in found.scenarios],
            "candidates": [
                {
                    "label": a.start,
                    "value": a.criterion,
                    "iterations": a.iterations,
                    "ended": a.ended,
                }
                for a in found.attempts
            ],
            "derivatives": found.way,
            "difference_percent": 100 * found.difference,
            "limit_passed_percent": 100 * found.passed,
            "pieces": {
                "time": found.stamps.tolist(),
                **{n: s.at(found.stamps).tolist() for n, s in found.design.signals.items()},
            },
            "samples": {
                "time": found.times.tolist(),
                **{n: v.tolist() for n, v in found.inputs.items()},
            },
            "seconds": found.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _expected(found: FreeInput, one: Expected) -> dict[str, object]:
    return {
        "about": one.text,
        "value": one.criterion,
        "stderr": dict(zip(found.names, map(float, one.stderr), strict=True)),
        "energy": dict(zip(found.designed, map(float, one.energy), strict=True)),
    }
