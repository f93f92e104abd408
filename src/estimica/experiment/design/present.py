"""How an input design shows itself: words, a table, pictures, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import ExperimentError
from estimica.base.result import Outcome, finite
from estimica.base.signals import Hold
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.base.view import (
    Bar,
    Bars,
    Curve,
    Curves,
    Heat,
    Page,
    Panel,
    Section,
    Table,
    name_with_unit,
    status_line,
    without_empty,
)
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.experiment.design.information import InformationMeasures, mean_variance
from estimica.experiment.design.result import Candidate, InputDesign

MOST_ROWS = 30  # of a printed table; of more candidates the best are shown
SHOWN = 15  # of these; chosen: half a page
STRONG, GREY = 1, 7  # of the palette
WORDS = {
    "R": "least R",
    "S_min": "greatest S_min",
    "D": "greatest determinant",
    "A": "least sum of relative variances",
    "E": "least variance in the worst direction",
}
_MEASURES = (
    "S_min and S_i,min are the sensitivities in the worst direction and of each tuner while the "
    "others adapt: the larger the better. R is the ratio of the greatest and the least "
    "sensitivity, R_i that of each tuner alone and with the others adapting: the closer to 1 the "
    "better; a large R_i says that a tuner is correlated with others."
)
_SPECTRUM = "The lines that are used, with their shares of the power."


def outcome(design: InputDesign) -> Outcome:
    """How it went."""
    failed = [c for c in design.tried if c.error]
    lost = f"; {len(failed)} of {len(design.tried)} candidates failed" if failed else ""
    if design.interrupted and not design.tried:
        message = "interrupted before any candidate was tried"
        return Outcome("interrupted", message, ok=False)
    after = f"interrupted after {len(design.tried)} candidates, there may be better ones; "
    if design.chosen is None:
        status = "interrupted" if design.interrupted else "failed"
        if len(failed) == len(design.tried) and failed:
            message = f"no candidate could be tried: {failed[0].error}"
            return Outcome(status, message, ok=False)
        message = "no candidate tells all tuners apart; look at S_i,min of each, or fix one"
        return Outcome(status, f"{after}{message}" if design.interrupted else message, ok=False)
    j = design.chosen.judgement
    assert j is not None
    measures = f"R {j.measures.R:.4g}, S_min {j.measures.S_min:.4g}"
    message = f"the best is {design.about}: {measures}{lost}"
    if design.interrupted:
        return Outcome("interrupted", f"{after}{message}", ok=False)
    return Outcome("done", message)


# --- numbers -------------------------------------------------------------------------------------


def rows(design: InputDesign) -> list[dict[str, object]]:
    """A row for each candidate, every measure a column."""
    return [_numbers(design, c) for c in design.tried]


def _numbers(design: InputDesign, c: Candidate) -> dict[str, object]:
    row: dict[str, object] = {"candidate": c.label, **c.settings}
    names = design.bench.names
    if c.judgement is not None:
        m, stderr = c.judgement.measures, c.judgement.stderr
        row |= {"S_min": m.S_min}
        row |= {f"S_i_min[{n}]": float(x) for n, x in zip(names, m.S_i_min, strict=True)}
        row |= {"R": m.R}
        row |= {f"R_i[{n}]": float(x) for n, x in zip(names, m.R_i, strict=True)}
        row |= {"D": m.D, "A": c.judgement.A}
        if stderr is not None:
            known = c.judgement.known
            row |= {"D_sigma": known.D, "A_sigma": mean_variance(known)}
            row |= {f"stderr[{n}]": float(x) for n, x in zip(names, stderr, strict=True)}
    return {**row, "best": c is design.chosen, "error": c.error}


def tables(design: InputDesign) -> tuple[Table, ...]:
    """All there is to read."""
    return (table(design),)


def table(design: InputDesign) -> Table:
    """Candidates with their measures; of very many only the best."""
    listed = list(design.tried)
    criterion = design.settings.criterion
    notes = [status_line(*outcome(design)), *design.notes]
    if len(listed) > MOST_ROWS:
        listed.sort(key=lambda c: _score(c.judgement, criterion))
        telling = sum(math.isfinite(_score(c.judgement, criterion)) for c in listed)
        listed = listed[: min(max(telling, 1), SHOWN)]
        notes.append(f"The {len(listed)} best of {len(design.tried)} candidates are shown")
    failed = [c for c in design.tried if c.error]
    if failed and design.chosen is not None:
        notes.append(f"{failed[0].label} failed: {failed[0].error}")
    keys = list(dict.fromkeys(k for c in listed for k in c.settings))
    with_label = any(c.label != _label(c) for c in listed)
    every = " / ".join(design.bench.names)
    with_noise = "" if design.bench.sigma is None else " with σ"
    columns = ["candidate"] if with_label else list(keys)
    columns += ["S_min", f"S_i,min {every}", "R", f"R_i {every}", _scale(criterion) + with_noise]
    columns += [f"std. error {every}", "remark"]
    body = tuple(_row(design, c, keys, with_label) for c in listed)
    table = Table(
        tuple(columns), body, f"{design.bench.name}: {_subject(design)}", ". ".join(notes)
    )
    return without_empty(table, f"std. error {every}", "remark")


def _label(c: Candidate) -> str:
    return ", ".join(f"{n} = {v:.6g}" for n, v in c.settings.items())


def _subject(design: InputDesign) -> str:
    which = ", ".join(design.bench.designed)
    return f"input {which}, {WORDS[design.settings.criterion]}"


def _row(
    design: InputDesign, c: Candidate, keys: list[str], with_label: bool
) -> tuple[object, ...]:
    first = [c.label] if with_label else [short(c.settings[k]) for k in keys]
    if c.judgement is None:
        return (*first, *[None] * 6, "failed")
    m, stderr = c.judgement.measures, c.judgement.stderr
    return (
        *first,
        _number(m.S_min),
        _each(m.S_i_min),
        _number(m.R),
        _each(m.R_i),
        _number(c.judgement.value(_scale(design.settings.criterion))),
        "" if stderr is None else _each(stderr),
        "best" if c is design.chosen else "",
    )


def _scale(criterion: str) -> str:
    """The column beside S_min and R."""
    return "D" if criterion in ("R", "S_min") else criterion


def _number(value: float) -> float | None:
    return short(value) if math.isfinite(value) else None


def _each(values: Vector) -> str:
    """One number for each tuner."""
    return " / ".join(f"{v:.3g}" for v in values)


def _score(judgement: InformationMeasures | None, criterion: str) -> float:
    return math.inf if judgement is None else judgement.score(criterion)


def errors(design: InputDesign) -> Table | None:
    """Standard errors to be expected of the best, in units and as shares of the values."""
    j = None if design.chosen is None else design.chosen.judgement
    if j is None or j.stderr is None or j.relative is None:
        return None
    bench = design.bench
    body = []
    for place, k in enumerate(bench.counted):
        u = bench.unknowns[k]
        share = 100 * float(j.relative[place])
        numbers = (float(bench.values[k]), float(j.stderr[place]), share)
        cells = [short(x) if math.isfinite(x) else None for x in numbers]
        body.append((u.name, *cells, "" if u.unit == "1" else u.unit))
    columns = ("tuner", "value", "std. error", "%", "unit")
    table = Table(columns, tuple(body), "Standard errors to be expected of the best")
    return without_empty(table, "unit")


# --- pictures ------------------------------------------------------------------------------------


def kinds(design: InputDesign) -> list[str]:
    """What can be drawn."""
    found_kinds = ["measures"] if _axes(design) else []
    found_kinds += ["spectrum"] if design.spectrum is not None else []
    return found_kinds + (["outputs"] if design.inputs else [])


def picture(design: InputDesign, kind: str = "", names: Sequence[str] = ()) -> Curves | Heat | Bars:
    """One of the pictures; the first that there is unless told."""
    known = kinds(design)
    if not known or (kind and kind not in known):
        hint = did_you_mean(kind, known) or f"; there are {', '.join(known) or 'none'}"
        raise ExperimentError("W081", f"there is no picture '{kind or 'measures'}'{hint}")
    drawn = kind or known[0]
    if drawn == "outputs":
        return _courses(design)
    if drawn == "spectrum":
        return _spectrum(design)
    return _map(design) if len(_axes(design)) == 2 else _panels(design)


def _axes(design: InputDesign) -> list[str]:
    """Settings that differ among candidates, in order; none where there is nothing to draw."""
    keys = list(dict.fromkeys(k for c in design.tried for k in c.settings))
    several = [k for k in keys if len({c.settings[k] for c in design.tried if k in c.settings}) > 1]
    return several if len(several) <= 2 else []


def _panels(design: InputDesign) -> Curves:
    """S_min, S_i,min, R and R_i over the one parameter that varies, with a line at the best."""
    axis = _axes(design)[0]
    ok = [(c.settings[axis], c.judgement) for c in design.tried if axis in c.settings]
    known = sorted(((x, j) for x, j in ok if j is not None), key=lambda pair: pair[0])
    x = np.array([x for x, _ in known], np.float64)
    judged = [j.measures for _, j in known]
    names = design.bench.names
    single = [("S_min", [m.S_min for m in judged]), ("R", [m.R for m in judged])]
    each = [
        ("S_i,min", [[m.S_i_min[k] for m in judged] for k in range(len(names))]),
        ("R_i", [[m.R_i[k] for m in judged] for k in range(len(names))]),
    ]
    panels = []
    for (one, values), (many, lists) in zip(single, each, strict=True):
        log = one == "R"
        line = Curve(one, x, _finite(values), marked=True, colour=0, listed=False)
        mark = _mark(design, axis, [line], listed=log)
        panels.append(Panel(one, (line, *mark), log=log))
        lines = [
            Curve(n, x, _finite(v), marked=True, colour=k, listed=one == "S_min")
            for k, (n, v) in enumerate(zip(names, lists, strict=True))
        ]
        mark = _mark(design, axis, lines, listed=False)
        panels.append(Panel(many, (*lines, *mark), log=log))
    log_axis = bool(len(x) > 2 and x[0] > 0 and x[-1] >= 8 * x[0])
    label = name_with_unit(axis, _unit(axis))
    return Curves(tuple(panels), _subject(design), label, 180, log_time=log_axis)


def _mark(design: InputDesign, axis: str, curves: list[Curve], listed: bool) -> list[Curve]:
    """An upright line at the best."""
    c = design.chosen
    values = np.concatenate([curve.value for curve in curves])
    if c is None or axis not in c.settings or not np.isfinite(values).any():
        return []
    at = np.full(2, c.settings[axis], np.float64)
    ends = np.array([np.nanmin(values), np.nanmax(values)])
    return [Curve("best", at, ends, dashed=True, colour=GREY, listed=listed)]


def _finite(values: list[float]) -> Vector:
    numbers = np.array(values, np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _unit(axis: str) -> str:
    hertz = ("frequency", "fundamental", "start", "stop")
    return "Hz" if axis in hertz else "s" if axis in ("clock", "duration", "begin") else ""


def _map(design: InputDesign) -> Heat:
    """The criterion over two parameters of the signal."""
    first, second = _axes(design)
    grid = [c for c in design.tried if first in c.settings and second in c.settings]
    on_grid = grid[: math.prod(len({c.settings[a] for c in grid}) for a in (first, second))]
    x = np.array(sorted({c.settings[first] for c in _given(design, on_grid)}), np.float64)
    y = np.array(sorted({c.settings[second] for c in _given(design, on_grid)}), np.float64)
    value = np.full((len(y), len(x)), np.nan)
    criterion = design.settings.criterion
    for c in _given(design, on_grid):
        i, j = np.searchsorted(y, c.settings[second]), np.searchsorted(x, c.settings[first])
        measure = math.nan if c.judgement is None else c.judgement.value(criterion)
        value[i, j] = measure if math.isfinite(measure) else math.nan
    curves = []
    if design.chosen is not None:
        at = [np.array([design.chosen.settings[a]], np.float64) for a in (first, second)]
        curves = [Curve("best", at[0], at[1], dotted=True, colour=STRONG)]
    steep = criterion != "S_min" and bool(np.nanmin(value, initial=math.inf) > 0)
    return Heat(
        x,
        y,
        value,
        name_with_unit(first, _unit(first)),
        name_with_unit(second, _unit(second)),
        criterion,
        tuple(curves),
        _subject(design),
        colour=np.log10(value) if steep else None,
        colour_label=f"log10 {criterion}" if steep else "",
    )


def _given(design: InputDesign, candidates: list[Candidate]) -> list[Candidate]:
    """Candidates of the grid, without the one that was refined between its points."""
    from estimica.study.tables.input_design import values_of

    grid = {n: set(values_of(g)) for n, g in design.settings.vary.items()}
    return [c for c in candidates if all(c.settings.get(n) in g for n, g in grid.items())]


def _courses(design: InputDesign) -> Curves:
    """The designed inputs and the outputs that the model answers with."""
    bench, units = design.bench, design.bench.units
    panels = []
    end = float(bench.times[-1])
    for name, signal in design.inputs.items():
        t, u = signal.time, signal.value
        if t[-1] < end:
            t, u = np.append(t, end), np.append(u, u[-1])
        held = signal.hold is Hold.PREVIOUS
        curve = Curve(name, t, u, units.get(name, ""), stepped=held, colour=STRONG)
        panels.append(
            Panel(name_with_unit(name, units.get(name, "")), (curve,), group="designed input")
        )
    for k, name in enumerate(bench.outputs):
        curve = Curve(name, bench.times, design.Y[:, k], units.get(name, ""), colour=0)
        label = name_with_unit(name, units.get(name, ""))
        panels.append(Panel(label, (curve,), group="" if k else "output of the model"))
    return Curves(tuple(panels), design.about)


def _spectrum(design: InputDesign) -> Bars:
    s = design.spectrum
    assert s is not None
    total = float(s.power.sum()) or 1.0
    used = [k for k in range(len(s.power)) if s.power[k] > 0]
    bars = tuple(
        Bar(f"{s.frequencies[k]:.4g} Hz", float(s.power[k] / total), f"power {s.power[k]:.3g}")
        for k in used
    )
    return Bars((("", bars),), "share of the power", "Power of the lines")


# --- the page ------------------------------------------------------------------------------------


def page(design: InputDesign) -> Page:
    """Everything about a design on one page."""
    bench = design.bench
    lead = (
        f"{len(design.tried)} candidates for input {', '.join(bench.designed)}, "
        f"{len(bench.times)} samples {bench.step:g} s apart; {short(design.seconds):g} s."
    )
    page = Page(f"Input design: {bench.name}", tuple(_sections(design)), lead)
    status = status_line(*outcome(design))
    answer = Section(
        ANSWER, "\n\n".join([f"{status[:1].upper()}{status[1:]}.", *_dotted(design.notes)])
    )
    more = (
        f"The input to be designed is {', '.join(bench.designed)}; {', '.join(bench.outputs)} "
        f"would be measured {len(bench.times)} times, {bench.step:g} s apart. The best input has "
        f"the {WORDS[design.settings.criterion]}."
    )
    first = (
        (study_summary(design.origin, "design-input", more), answer) if design.origin else (answer,)
    )
    return with_reproduction(page, "design-input", design.origin, first=first, run=design.run)


def _dotted(notes: tuple[str, ...]) -> list[str]:
    return [f"{n}." for n in notes]


def _sections(design: InputDesign) -> Iterator[Section]:
    text = f"Candidates are compared by the {WORDS[design.settings.criterion]}."
    expected = errors(design)
    shown = (replace(table(design), title="", note=""),)
    yield Section("Result", text, shown if expected is None else (*shown, expected))
    drawn = kinds(design)
    if "measures" in drawn:
        yield Section("Sensitivity measures", _MEASURES, (replace(picture(design), title=""),))
    if "spectrum" in drawn:
        yield Section("Spectrum", _SPECTRUM, (replace(picture(design, "spectrum"), title=""),))
    if "outputs" in drawn:
        yield Section("Designed input", design.about, (replace(_courses(design), title=""),))
    yield from design.sections


def as_object(design: InputDesign) -> dict[str, object]:
    """All candidates and the best; what is not finite is None."""
    status, message = outcome(design)
    bench, best = design.bench, design.chosen
    place = design.tried.index(best) if best is not None and best in design.tried else None
    plain = finite(
        {
            "command": "design-input",
            "run": design.run,
            "study": bench.name,
            "outcome": {"status": status, "message": message},
            "kind": design.settings.kind,
            "criterion": design.settings.criterion,
            "input": list(bench.designed),
            "outputs": list(bench.outputs),
            "n_samples": len(bench.times),
            "step": bench.step,
            "values": {
                u.label: float(v) for u, v in zip(bench.unknowns, bench.values, strict=True)
            },
            "candidates": [candidate(design, c) for c in design.tried],
            "best": None if best is None else {"index": place, **candidate(design, best)},
            "about": design.about,
            "notes": list(design.notes),
            "failed": sum(bool(c.error) for c in design.tried),
            **_spectrum_object(design),
            **design.told,
            "samples": {
                "time": bench.times.tolist(),
                **{n: s.at(bench.times).tolist() for n, s in design.inputs.items()},
            },
            "seconds": design.seconds,
        }
    )
    assert isinstance(plain, dict)
    return plain


def candidate(design: InputDesign, one: Candidate) -> dict[str, object]:
    """One candidate with its measures."""
    plain: dict[str, object] = {"label": one.label, "settings": dict(one.settings)}
    if one.judgement is None:
        return {**plain, "error": one.error}
    m, names = one.judgement.measures, design.bench.names
    plain |= {
        "S_min": m.S_min,
        "S_i_min": dict(zip(names, map(float, m.S_i_min), strict=True)),
        "R": m.R,
        "R_i": dict(zip(names, map(float, m.R_i), strict=True)),
        "D": m.D,
        "A": one.judgement.A,
        "value": one.judgement.value(design.settings.criterion),
    }
    if one.judgement.stderr is not None:
        known = one.judgement.known
        plain |= {"D_sigma": known.D, "A_sigma": mean_variance(known)}
        plain["stderr"] = dict(zip(names, map(float, one.judgement.stderr), strict=True))
    return plain


def _spectrum_object(design: InputDesign) -> dict[str, object]:
    s = design.spectrum
    if s is None:
        return {}
    return {
        "spectrum": {
            "frequency": s.frequencies.tolist(),
            "power": s.power.tolist(),
            "gain": s.gain.tolist(),
            "efficiency": s.efficiency,
            "crest_factor": s.crest_factor,
        }
    }
