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
#: difference between the search and the engine that is worth a word. Chosen: two digits are read
TOLD = 0.01

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


def outcome(free_input: FreeInput) -> Outcome:
    """How it went."""
    parts = [
        f"standard errors {_change(free_input)} those of the {_reference(free_input)}",
    ]
    if free_input.difference > TOLD:
        parts.append(
            f"the search saw standard errors {100 * free_input.difference:.1f} % off; "
            "all numbers here are the engine's"
        )
    if free_input.passed > KEPT:
        parts.append(f"a limit is passed by {100 * free_input.passed:.2g} % of its range")
    parts += [f"{n[:1].lower()}{n[1:]}" for n in free_input.notes]
    message = "; ".join(parts)
    if free_input.interrupted:
        return Outcome("interrupted", f"interrupted; {message}", ok=False)
    return Outcome("done", message)


def _reference(free_input: FreeInput) -> str:
    return free_input.reference.text.split(":")[0]


def _change(free_input: FreeInput) -> str:
    """By how much standard errors are below those of the reference, in words."""
    gain = 100 * free_input.gain
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


def tables(free_input: FreeInput) -> tuple[Table, ...]:
    """All there is to read."""
    return (errors(free_input),)


def errors(free_input: FreeInput) -> Table:
    """A row for each unknown: its standard errors and the gain."""
    body = []
    for k, name in enumerate(free_input.names):
        before, after = float(free_input.reference.stderr[k]), float(free_input.design.stderr[k])
        gain = 100 * (1 - after / before) if before > 0 and math.isfinite(before) else math.nan
        size = abs(float(free_input.values[k]))
        numbers = [float(free_input.values[k]), before, after]
        numbers.append(100 * after / size if size else math.nan)
        cells = [short(x) if math.isfinite(x) else None for x in (*numbers, gain)]
        unit = free_input.units.get(name, "")
        remark = "" if k in free_input.counted else "estimated too"
        body.append((name, *cells, "" if unit == "1" else unit, remark))
    columns = ("unknown", "value", "reference", "design", "%", "gain %", "unit", "remark")
    inputs = ", ".join(free_input.designed)
    title = f"{free_input.study}: standard errors to be expected, input {inputs}"
    note = f"{status_line(*outcome(free_input))}. The reference is the {free_input.reference.text}."
    table = Table(columns, tuple(body), title, note)
    return without_empty(table, "unit", "remark")


def attempts(free_input: FreeInput) -> Table:
    """A row for each start of the search."""
    body = tuple(
        (a.start, short(math.exp(a.criterion)) if math.isfinite(a.criterion) else None,
         a.iterations, _how(a))
        for a in free_input.attempts
    )  # fmt: skip
    return Table(("start", _measure(free_input), "iterations", "it ended"), body)


def _measure(free_input: FreeInput) -> str:
    return "R" if free_input.criterion == "R" else "relative error"


def _how(attempt: Attempt) -> str:
    if attempt.ended in WELL:
        return "at an optimum"
    return WORDS.get(attempt.ended, attempt.ended.replace("_", " ").lower())


# --- pictures ------------------------------------------------------------------------------------


def picture(free_input: FreeInput, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """Designed inputs and what they do, with limits, over those of the reference."""
    panels = [*_inputs(free_input), *_outputs(free_input)]
    return Curves(tuple(panels), f"{free_input.study}: free-form input")


def _inputs(free_input: FreeInput) -> Iterator[Panel]:
    limits = free_input.limits
    end = 2 * float(free_input.times[-1]) - float(free_input.times[-2])
    for k, name in enumerate(free_input.designed):
        unit = free_input.units.get(name, "")
        low, high = float(limits.lower[k]), float(limits.upper[k])
        bounded = math.isfinite(low) and math.isfinite(high)
        curves = [
            _held("reference", free_input.reference.signals[name], end, GREY, listed=k == 0),
            _held("design", free_input.design.signals[name], end, STRONG, listed=k == 0),
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


def _outputs(free_input: FreeInput) -> Iterator[Panel]:
    limits = free_input.limits
    for k, name in enumerate(free_input.shown):
        unit = free_input.units.get(name, "")
        before, after = free_input.reference.courses[:, k], free_input.design.courses[:, k]
        curves = [
            Curve(
                "reference", free_input.seen, before, unit, colour=GREY, strength=0.6, listed=False
            ),
            Curve("design", free_input.seen, after, unit, colour=0, listed=False),
        ]
        bands = ()
        if name in limits.names:
            i = limits.names.index(name)
            curves += [
                Curve(
                    "limit", free_input.seen[[0, -1]], np.full(2, float(end)), unit, dashed=True,
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


def gains(free_input: FreeInput) -> Bars:
    """Standard errors of design and reference as shares of the values, tuner by tuner."""
    groups = []
    for k in free_input.counted:
        size = abs(float(free_input.values[k])) or 1.0
        before, after = (
            100 * float(e.stderr[k]) / size for e in (free_input.reference, free_input.design)
        )
        side = "below" if after <= before else "above"
        remark = f"{100 * abs(1 - after / before):.0f} % {side} the reference"
        bars = (Bar("reference", before), Bar("design", after, remark, strong=True))
        groups.append((free_input.names[k], bars))
    return Bars(tuple(groups), "standard error, % of the value", "Standard errors to be expected")


# --- the page ------------------------------------------------------------------------------------


def page(free_input: FreeInput) -> Page:
    """Everything about a design on one page."""
    lead = (
        f"Input {', '.join(free_input.designed)} of {len(free_input.stamps)} pieces over "
        f"{len(free_input.times)} samples, criterion {free_input.criterion}; "
        f"{short(free_input.seconds):g} s."
    )
    page = Page(f"Input design: {free_input.study}", tuple(_sections(free_input)), lead)
    status = status_line(*outcome(free_input))
    answer = Section(ANSWER, f"{status[:1].upper()}{status[1:]}.")
    more = (
        f"The input to be designed is {', '.join(free_input.designed)}, piece by piece, for "
        f"{KINDS[free_input.criterion]}."
    )
    first = (
        (study_summary(free_input.origin, "design-input", more), answer)
        if free_input.origin
        else (answer,)
    )
    return with_reproduction(
        page, "design-input", free_input.origin, first=first, run=free_input.run
    )


def _sections(free_input: FreeInput) -> Iterator[Section]:
    over = ""
    if len(free_input.scenarios) > 1:
        which = "the worst" if free_input.worst else "the mean"
        over = f", {which} of {len(free_input.scenarios)} sets of values"
    text = (
        f"The input was searched for {KINDS[free_input.criterion]}{over}, all other unknowns being "
        f"estimated too. The reference is the {free_input.reference.text}. Standard errors are "
        "those of the engine's own sensitivities at the nominal values."
    )
    yield Section(
        "Result", text, (replace(errors(free_input), title="", note=""), _plain(gains(free_input)))
    )
    yield Section("Input and outputs", _COURSES, (replace(picture(free_input), title=""),))
    how = (
        f"Derivatives by the input: {free_input.way}. Standard errors as the search saw them "
        f"differ from the engine's by at most {100 * free_input.difference:.2g} %."
    )
    yield Section("Searches", how, (attempts(free_input),))


def _plain(bars: Bars) -> Bars:
    return replace(bars, title="")


def as_object(free_input: FreeInput) -> dict[str, object]:
    """The design, its reference and all attempts; what is not finite is None."""
    status, message = outcome(free_input)
    counted = [free_input.names[k] for k in free_input.counted]
    plain = finite(
        {
            "command": "design-input",
            "run": free_input.run,
            "study": free_input.study,
            "outcome": {"status": status, "message": message},
            "kind": "free",
            "criterion": free_input.criterion,
            "over": "worst" if free_input.worst else "mean",
            "input": list(free_input.designed),
            "tuners": counted,
            "values": dict(zip(free_input.names, map(float, free_input.values), strict=True)),
            "best": _expected(free_input, free_input.design),
            "reference": _expected(free_input, free_input.reference),
            "gain_percent": dict(zip(counted, map(float, 100 * free_input.gain), strict=True)),
            "scenarios": [dict(s) for s in free_input.scenarios],
            "candidates": [
                {
                    "label": a.start,
                    "value": a.criterion,
                    "iterations": a.iterations,
                    "ended": a.ended,
                }
                for a in free_input.attempts
            ],
            "derivatives": free_input.way,
            "difference_percent": 100 * free_input.difference,
            "limit_passed_percent": 100 * free_input.passed,
            "pieces": {
                "time": free_input.stamps.tolist(),
                **{
                    n: s.at(free_input.stamps).tolist()
                    for n, s in free_input.design.signals.items()
                },
            },
            "samples": {
                "time": free_input.times.tolist(),
                **{n: v.tolist() for n, v in free_input.inputs.items()},
            },
            "seconds": free_input.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def _expected(free_input: FreeInput, one: Expected) -> dict[str, object]:
    return {
        "about": one.text,
        "value": one.criterion,
        "stderr": dict(zip(free_input.names, map(float, one.stderr), strict=True)),
        "energy": dict(zip(free_input.designed, map(float, one.energy), strict=True)),
    }
