"""How profiles show themselves: words, a table, a picture, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.result import Outcome, finite
from estimica.base.text import rounded, short
from estimica.base.view import (
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
from estimica.estimate.unknowns import Unknowns
from estimica.infer.profile.branch import Ending
from estimica.infer.profile.result import Profile, ProfileCurve, ProfileEnd
from estimica.infer.refit import doubts

GREY, STRONG = 7, 1  # of the palette
CUT = (Ending.INTERRUPTED, Ending.FAILED)  # the curve ends there, the profile does not


def outcome(profile: Profile) -> Outcome:
    """How it went."""
    said = []
    if profile.better is not None:
        said.append(better_in_words(profile))
    failed = [c.unknown.label for c in profile.curves if _has(c, Ending.FAILED)]
    if failed:
        said.append(f"profiles that could not be followed to their ends: {', '.join(failed)}")
    open_ = [c.unknown.label for c in profile.curves if _has(c, Ending.FLAT)]
    if open_:
        said.append(f"not bounded by these data: {', '.join(open_)}")
    if profile.failures:
        said.append(f"{profile.failures} refits failed on the way")
    doubted = doubts(profile.fit)
    if profile.interrupted:
        message = "; ".join([walked_in_words(profile), *said])
        return Outcome("interrupted", f"interrupted; {message}{doubted}", ok=False)
    message = ("; ".join(said) or "every profile was followed to its ends") + doubted
    if failed and len(failed) == len(profile.curves):
        return Outcome("failed", message, ok=False)
    return Outcome("done", message)


def walked_in_words(profile: Profile) -> str:
    """How many sides had come to their end when it was interrupted, and which had not."""
    sides = [e for c in profile.curves for e in (c.low, c.high)]
    ended_ = [e for e in sides if e.ending is not Ending.INTERRUPTED]
    rest = [c.unknown.label for c in profile.curves if _has(c, Ending.INTERRUPTED)]
    said = f"{len(ended_)} of {len(sides)} sides had come to their end"
    return f"{said}; still open: {', '.join(rest)}" if rest else said


def _has(curve: ProfileCurve, ending: Ending) -> bool:
    return ending in (curve.low.ending, curve.high.ending)


def better_in_words(profile: Profile) -> str:
    """What to know about an optimum that the fit did not find."""
    assert profile.better is not None
    values = ", ".join(f"{n} = {v:.6g}" for n, v in profile.better.values.items())
    lost = all(e.ending is Ending.FAILED for c in profile.curves for e in (c.low, c.high))
    ends = (
        "no interval holds around it" if lost else "the intervals are those around the better one"
    )
    return (
        f"a better optimum exists at {values} with cost {profile.better.cost:.8g} instead of "
        f"{profile.cost:.8g}: the fit is not at the global optimum; start it there; {ends}"
    )


def tables(profile: Profile) -> tuple[Table, ...]:
    """All there is to read."""
    return (intervals(profile),)


def intervals(profile: Profile) -> Table:
    """A row for each unknown."""
    share = f"{100 * profile.level:g} %"
    columns = (
        "unknown",
        "value",
        f"{share} from",
        "to",
        "t interval from",
        "to ",
        "unit",
        "remark",
    )
    rows = [_row(profile, c) for c in profile.curves]
    title = f"{profile.fit.study.name}: profiles"
    status, message = outcome(profile)
    note = f"{status}: {message}. Threshold: {profile.threshold}."
    if profile.worked_by.is_worth_a_word:
        words = profile.worked_by.words
        note += f" {words[:1].upper()}{words[1:]}."
    return without_empty(Table(columns, tuple(rows), title, note), "unit", "remark")


def _row(profile: Profile, c: ProfileCurve) -> tuple[object, ...]:
    k = [u.label for u in profile.fit.unknowns.items].index(c.unknown.label)
    error = float(profile.fit.accuracy.stderr[k])
    if not (math.isfinite(error) and error > 0):
        error = (c.high.value - c.low.value) / 4
    linear = (float(x) for x in profile.fit.accuracy.interval[k])
    numbers = (c.value, c.low.value, c.high.value, *linear)
    shown = [rounded(x, error) if math.isfinite(x) else None for x in numbers]
    remark = "; ".join(m for m in (c.low.message, c.high.message, *c.notes) if m)
    return c.unknown.label, *shown, "" if c.unknown.unit == "1" else c.unknown.unit, remark


def picture(profile: Profile, names: Sequence[str] = ()) -> Curves:
    """The rise of the cost over each unknown, its threshold, and the parabola of the t interval."""
    panels: list[Panel] = []
    for c in [profile[n] for n in names] or profile.curves:
        top = 2.5 * c.rise
        rise = c.costs - profile.lowest
        seen = rise <= max(top, 0.0)
        if seen.sum() < 2:
            seen[:] = True
        listed = not panels
        x = c.values[seen]
        curves = [
            Curve("profile", x, rise[seen], marked=True, colour=0, listed=listed),
            Curve(
                "threshold",
                np.array([x[0], x[-1]]),
                np.full(2, c.rise),
                dashed=True,
                colour=STRONG,
                listed=listed,
            ),
        ]
        curves += _parabola(profile, c, x, top, listed)
        heading = name_with_unit(c.unknown.label, c.unknown.unit)
        cut = [e.message for e in (c.low, c.high) if e.ending in CUT]
        heading += f": {'; '.join(cut)}" if cut else ""
        panels.append(Panel("rise of the cost", tuple(curves), group=heading))
    return Curves(tuple(panels), f"{profile.fit.study.name}: profiles", "", 220)


def _parabola(
    profile: Profile, c: ProfileCurve, x: np.ndarray, top: float, listed: bool
) -> list[Curve]:
    """What the profile were if the model were linear, on the scale of the search."""
    unknowns = profile.fit.unknowns
    k = [u.label for u in unknowns.items].index(c.unknown.label)
    own, accuracy = Unknowns([unknowns.items[k]]), profile.fit.accuracy
    low, high = (own.coordinates(v[None])[0] for v in accuracy.interval[k])
    centre = own.coordinates(np.array([c.value]))[0]
    # a bound may have cut off one end
    half = high - centre if accuracy.clipped[k, 0] else centre - low
    if not (math.isfinite(half) and half > 0) or profile.level != 0.95 or accuracy.clipped[k].all():
        return []
    fine = np.linspace(x[0], x[-1], 101)
    away = np.array([own.coordinates(v[None])[0] for v in fine]) - centre
    rise = c.rise * (away / half) ** 2
    seen = rise <= top
    if not seen.any():
        return []
    return [Curve("linear model", fine[seen], rise[seen], colour=GREY, dashed=True, listed=listed)]


def page(profile: Profile) -> Page:
    """Everything about profiles on one page."""
    count = len(profile.curves)
    profiles = f"{count} profile{'' if count == 1 else 's'}"
    lead = (
        f"{profiles} at {100 * profile.level:g} %; {short(profile.seconds):g} s, "
        f"{profile.worked_by.words}."
    )
    study = profile.fit.study
    told = Page(f"Profiles: {study.name}", tuple(_sections(profile)), lead)
    first = (study_summary(study, "profile"), Section(ANSWER, _answer(profile)))
    return with_reproduction(told, "profile", study, first=first, run=profile.run)


def _answer(profile: Profile) -> str:
    said = status_line(*outcome(profile))
    words = [f"{said[:1].upper()}{said[1:]}."]
    percent = f"{100 * profile.level:g} %"
    for c in profile.curves[:MOST_TOLD]:
        low, high = c.low, c.high
        below = f"from {short(low.value):g}" if low.found else f"below: {low.message}"
        above = f"to {short(high.value):g}" if high.found else f"above: {high.message}"
        words.append(f"{c.unknown.label} = {short(c.value):g}, {percent} {below}, {above}.")
    return "\n\n".join(words)


def _sections(profile: Profile) -> Iterator[Section]:
    text = f"{_WORDS} The threshold is {profile.threshold}."
    yield Section("Intervals", text, (replace(intervals(profile), title="", note=""),))
    yield Section("Profiles", _PICTURE, (replace(picture(profile), title=""),))
    failures = tuple(
        (c.unknown.label, short(value), message)
        for c in profile.curves
        for end in (c.low, c.high)
        for value, message in end.failures
    )
    if failures:
        table = Table(("unknown", "held at", "what happened"), failures)
        yield Section("Failed refits", _FAILED, (table,))


MOST_TOLD = 8  # unknowns whose intervals are told in words
_WORDS = (
    "Each unknown is held at values around its estimate and all others are fitted again. The "
    "interval holds the values for which the cost stays below the threshold."
)
_PICTURE = (
    "Where the profile follows the dashed parabola, the standard error says all; where it leaves "
    "it, the interval of the profile is the one to trust. A profile that does not reach the "
    "threshold says that the data do not bound the unknown on that side."
)
_FAILED = "No interval ends at such a point: the walk went on with shorter steps, or says so."


# --- as JSON -------------------------------------------------------------------------------------


def as_object(profile: Profile) -> dict[str, object]:
    """Intervals and curves of all profiles; an open end is None, as all that is not finite."""
    status, message = profile.outcome
    told: dict[str, dict[str, object]] = {"tuner": {}, "start": {}, "disturbance": {}}
    for curve in profile.curves:
        u = curve.unknown
        one = _curve(profile, curve)
        if u.kind == "tuner":
            told["tuner"][u.name] = one
        else:
            of_case = told[u.kind].setdefault(u.case, {})
            assert isinstance(of_case, dict)
            of_case[u.name] = one
    better = profile.better
    plain = finite(
        {
            "command": "profile",
            "run": profile.run,
            "study": profile.fit.study.name,
            "outcome": {"status": status, "message": message},
            "level": profile.level,
            "threshold": profile.threshold,
            "criterion": profile.fit.criterion,
            "cost": profile.cost,
            "parameters": told["tuner"],
            "start_values": told["start"],
            "disturbances": told["disturbance"],
            "better_optimum": None
            if better is None
            else {"cost": better.cost, "values": dict(better.values), "unknown": better.unknown},
            "failed": profile.failures,
            "refits": profile.refits,
            "seconds": profile.seconds,
            "worked_by": profile.worked_by.to_dict(),
        }
    )
    assert isinstance(plain, dict)
    return plain


def _curve(profile: Profile, curve: ProfileCurve) -> dict[str, object]:
    labels = [u.label for u in profile.fit.unknowns.items]
    name = "ci95" if profile.level == 0.95 else "interval"
    return {
        "value": curve.value,
        name: list(curve.interval),
        "low": _end(curve.low),
        "high": _end(curve.high),
        "rise": curve.rise,
        "notes": list(curve.notes),
        "unit": curve.unknown.unit,
        "curve": {
            "value": curve.values.tolist(),
            "cost": curve.costs.tolist(),
            "others": {
                label: curve.refits[:, k].tolist()
                for k, label in enumerate(labels)
                if label != curve.unknown.label
            },
        },
    }


def _end(end: ProfileEnd) -> dict[str, object]:
    return {
        "value": end.value,
        "ending": str(end.ending),
        "message": end.message,
        "failures": [{"at": value, "message": message} for value, message in end.failures],
    }
