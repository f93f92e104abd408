"""How a residual analysis shows itself: tables, pictures, a page, and a section of a fit's page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.errors import EstimicaError, InferError
from estimica.base.probability.functions import ndtri
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.base.view import (
    TIME_LABEL,
    Across,
    Band,
    Curve,
    Curves,
    Page,
    Panel,
    Rounded,
    Section,
    Table,
    name_with_unit,
    percent_text,
    without_empty,
)
from estimica.estimate.fit.result import Fit
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.residuals import hypothesis_tests as tests
from estimica.infer.residuals.output import OutputResiduals
from estimica.infer.residuals.result import ResidualAnalysis
from estimica.infer.residuals.run import residuals

HEADINGS = {
    "residuals": ("Over time", "Simulated − measured, with the band of two standard deviations."),
    "autocorrelation": (
        "Autocorrelation",
        "How a residual resembles those after it. White noise stays within the band but for one "
        "lag in twenty.",
    ),
    "cross-correlation": (
        "Cross-correlation with inputs",
        "What residuals do after an input has moved. Both are filtered first so that the input is "
        "white; a lag outside the band at positive times is an effect that the model misses, at "
        "negative times a feedback from the output to the input.",
    ),
    "histogram": ("Histogram", "Residuals over their standard deviation, and the bell of Gauss."),
    "qq": ("Q-Q plot", "Residuals in order against what Gaussian noise would be: a straight line."),
}


def page(analysis: ResidualAnalysis) -> Page:
    """Everything about the residuals on one page."""
    study = analysis.fit.study
    told = Page(f"Residuals: {study.name}", tuple(_sections(analysis)))
    first = (study_summary(study, "residuals"), Section(ANSWER, _answer(analysis)))
    return with_reproduction(told, "residuals", study, first=first, run=analysis.run)


def _answer(analysis: ResidualAnalysis) -> str:
    said = f"{analysis.verdict[:1].upper()}{analysis.verdict[1:]}."
    if analysis.clean:
        return f"{said} So the model explains the data, and its standard errors can be trusted."
    return (
        f"{said} So there is something in the data that the model does not explain; what to look "
        "at is told below. Until that is fixed, standard errors tend to be too small."
    )


def _sections(analysis: ResidualAnalysis) -> Iterator[Section]:
    yield Section("Verdict", _verdicts(analysis), (replace(analysis.table(), title=""),))
    order = sorted(available_kinds(analysis), key=list(HEADINGS).index)
    for kind in order:
        heading, text = HEADINGS[kind]
        if kind == "autocorrelation":
            text += " " + _lags(analysis)
        yield Section(heading, text, (replace(picture(analysis, kind), title=""),))
    for one in analysis.outputs:
        tables = (details(one), *([outlier_table(one)] if one.outliers else []))
        yield Section(f"Tests: {one.name} in {one.case}", "", tables)


def _lags(analysis: ResidualAnalysis) -> str:
    """What one lag is, with the outputs where it is not the same for all."""
    lags: dict[str, dict[str, None]] = {}
    for one in analysis.outputs:
        lags.setdefault(one.series.spacing.in_words, {})[one.name] = None
    if len(lags) == 1:
        return " ".join(f"{lag[:1].upper()}{lag[1:]}." for lag in lags)
    return " ".join(f"{', '.join(names)}: {lag}." for lag, names in lags.items())


def _verdicts(analysis: ResidualAnalysis) -> str:
    several = len({o.case for o in analysis.outputs}) > 1
    lines = []
    for (case, _), text in analysis.verdicts.items():
        where = f"{case}: " if several else ""
        said = f"{where}{text}."
        lines.append(said[:1].upper() + said[1:])
    if analysis.inflation:
        factors = ", ".join(f"{n} {r:.3g}" for n, r in analysis.inflation.items())
        lines.append(
            f"Standard errors for coloured noise over those of the fit: {factors}. Ask for "
            "es.covariance(fit, 'hac') to see them."
        )
    return "\n\n".join(lines)


def fit_section(fit: Fit) -> Iterator[Section]:
    """A short verdict for the page of a fit; nothing where there are no residuals to look at."""
    try:
        analysis = residuals(fit)
    except EstimicaError:
        return
    text = f"{analysis.verdict}."
    several = len(analysis.outputs) > 1
    more = _verdicts(analysis) if several and not analysis.clean else ""
    pictures = () if analysis.clean else (replace(picture(analysis, "autocorrelation"), title=""),)
    yield Section("Residual verdict", "\n\n".join(filter(None, (text, more))), pictures)


# --- tables --------------------------------------------------------------------------------------


COLUMNS = {
    tests.LEVEL: "trend",
    tests.COLOUR: "white",
    tests.RUNS: "runs",
    tests.INPUTS: "inputs",
    tests.NORMAL: "Gauss",
    tests.SPREAD: "spread",
    tests.OUTLIERS: "outliers",
    tests.LACK_OF_FIT: "lack of fit",
}


def tables(analysis: ResidualAnalysis) -> tuple[Table, ...]:
    """All there is to read."""
    return (overview(analysis),)


def overview(analysis: ResidualAnalysis) -> Table:
    """A row for each output: p-values of all tests, and how many samples they are worth."""
    every = {t.name for o in analysis.outputs for t in o.tests}
    names = [n for n in COLUMNS if n in every or n in tests.ALL]
    rows = []
    for o in analysis.outputs:
        marks = {t.name: _mark(t, o) for t in o.tests}
        own = (marks.get(n, "–") for n in names)
        rows.append((o.case + _role(o), o.name, o.n, short(o.effective), *own))
    columns = ("case", "output", "N", "worth", *(COLUMNS[n] for n in names))
    level = analysis.outputs[0].level if analysis.outputs else analysis.level
    note = (
        f"p-values: how often white Gaussian noise looks that bad. Below {level:.2g} a test "
        "rejects (×), so that all together complain of such noise in "
        f"{percent_text(analysis.level)}. worth: independent samples that tell as much."
    )
    title = f"{analysis.fit.study.name}: tests of the residuals"
    return Table(columns, tuple(rows), title, note)


def details(one: OutputResiduals) -> Table:
    """All tests of one output."""
    rows = tuple(
        (
            t.name,
            None if math.isnan(t.statistic) else short(t.statistic),
            _p(t),
            _judged(t, one),
            t.remark,
        )
        for t in one.tests
    )
    table = Table(("test", "statistic", "p", "verdict", "remark"), rows)
    return without_empty(table, "remark")


def outlier_table(one: OutputResiduals) -> Table:
    """The outliers of one output."""
    rows = tuple((o.x, short(o.residual), Rounded(o.z, 1)) for o in one.outliers)
    return Table((one.series.axis, "residual", "robust z"), rows)


def as_object(analysis: ResidualAnalysis) -> dict[str, object]:
    """Everything but the residuals themselves; what is not finite is None."""
    found: dict[str, object] = {
        "command": "residuals",
        "run": analysis.run,
        "study": analysis.fit.study.name,
        "outcome": {"status": "done", "message": analysis.verdict},
        "verdict": analysis.verdict,
        "clean": analysis.clean,
        "coloured": analysis.coloured,
        "level": analysis.level,
        "stderr_factors": dict(analysis.inflation),
        "outputs": [_output(analysis, o) for o in analysis.outputs],
    }
    plain = finite(found)
    assert isinstance(plain, dict)
    return plain


def _output(analysis: ResidualAnalysis, o: OutputResiduals) -> dict[str, object]:
    acf, series = o.autocorrelation, o.series
    skewness, kurtosis = o.moments
    return {
        "case": o.case,
        "role": series.role,
        "output": o.name,
        "unit": series.unit,
        "verdict": analysis.verdicts[o.case, o.name],
        "clean": o.clean,
        "coloured": o.coloured,
        "samples": o.n,
        "effective_samples": o.effective,
        "mean": float(series.residual.mean()),
        "std": math.sqrt(series.variance),
        "skewness": skewness,
        "excess_kurtosis": kurtosis,
        "two_levels": [o.levels.low, o.levels.high] if o.levels else None,
        "memory": acf.memory if o.coloured else None,
        "lag": acf.spacing.in_words,
        "level": o.level,
        "tests": {
            t.name: {"statistic": t.statistic, "p": t.p, "rejected": t.fails(o.level)}
            for t in o.tests
        },
        "inputs": list(o.guilty_inputs),
        "outliers": [{"at": p.x, "residual": p.residual, "z": p.z} for p in o.outliers],
        "autocorrelation": {
            "time": acf.time.tolist(),
            "value": acf.value.tolist(),
            "band": acf.band.tolist(),
        },
        "crosscorrelation": {
            c.input: {"time": c.time.tolist(), "value": c.value.tolist(), "band": float(c.band)}
            for c in o.crosscorrelations
        },
    }


def _p(test: tests.Test) -> float | None:
    if math.isnan(test.p):
        return None
    return Rounded(test.p, 4) if test.p >= 5e-5 else float(f"{test.p:.1e}")


def _judged(test: tests.Test, one: OutputResiduals) -> str:
    if math.isnan(test.p):
        return "not asked"
    return "rejected" if test.fails(one.level) else "passed"


def _role(one: OutputResiduals) -> str:
    return " (validation)" if one.series.role == "validate" else ""


def _mark(test: tests.Test, one: OutputResiduals) -> str:
    if math.isnan(test.p):
        return "–"
    p = f"{test.p:.3f}" if test.p >= 5e-4 else "0.000"
    return f"{p} ×" if test.fails(one.level) else p


# --- pictures ------------------------------------------------------------------------------------


HEIGHT = 220  # pixels of a panel; chosen by eye
GAUSSIAN = 7  # of the palette


def picture(analysis: ResidualAnalysis, kind: str, names: Sequence[str] = ()) -> Curves:
    """The curves of one kind."""
    if kind not in KINDS:
        raise InferError(
            "I303", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    panels, label = KINDS[kind](analysis)
    title = f"{analysis.fit.study.name}: {kind} of the residuals"
    if kind == "residuals":
        title = f"{analysis.fit.study.name}: residuals"
    return Curves(tuple(panels), title, label, HEIGHT)


def _autocorrelation(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        acf = one.autocorrelation
        curve = Curve("autocorrelation", acf.time, acf.value, marked=len(acf.time) <= 200)
        width = float(acf.band[0]) if len(acf.band) else 0.0
        band = Band("" if panels else "95 % of white noise", -width, width)
        panels.append(Panel(f"r of {one.name}", (curve,), (band,), group=_group(analysis, one)))
    return panels, _lag_label(analysis)


def _crosscorrelation(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        for cross in one.crosscorrelations:
            how = "both whitened" if cross.whitened else "not whitened"
            curve = Curve(cross.input, cross.time, cross.value, description=how, marked=True)
            band = Band("" if panels else "95 % of white noise", -cross.band, cross.band)
            label = f"{one.name} after {cross.input}"
            panels.append(Panel(label, (curve,), (band,), group=_group(analysis, one)))
    if not panels:
        raise InferError("I304", "no input varies, so there is no cross-correlation to draw")
    return panels, "time after the input [s]"


def _histogram(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        z = one.series.studentised
        bins = int(np.clip(2 * len(z) ** (1 / 2), 8, 60))
        density, edges = np.histogram(z, bins=bins, density=True)
        x = np.concatenate([edges[:1], edges])
        y = np.concatenate([[0.0], density, [0.0]])
        grid = np.linspace(min(-4.0, float(edges[0])), max(4.0, float(edges[-1])), 200)
        bell = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi)
        curves = (
            Curve("residuals", x, y, stepped=True, listed=not panels),
            Curve("Gaussian", grid, bell, dashed=True, colour=GAUSSIAN, listed=not panels),
        )
        panels.append(Panel(f"density of {one.name}", curves, group=_group(analysis, one)))
    return panels, "residual over its standard deviation"


def _quantiles(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        z = np.sort(one.series.studentised)
        q = ndtri((np.arange(1, len(z) + 1) - 0.375) / (len(z) + 0.25))
        ends = np.array([q[0], q[-1]])
        curves = (
            Curve("residuals", q, z, dotted=True, listed=not panels),
            Curve("Gaussian", ends, ends, dashed=True, colour=GAUSSIAN, listed=not panels),
        )
        panels.append(Panel(f"{one.name}, in σ", curves, group=_group(analysis, one)))
    return panels, "Gaussian quantile"


def _course(analysis: ResidualAnalysis) -> tuple[list[Panel], str]:
    panels: list[Panel] = []
    for one in analysis.outputs:
        s = one.series
        curves = [
            Curve("residual", s.x, s.residual, s.unit, dotted=True, colour=0, listed=not panels)
        ]
        if one.outliers:
            x = np.array([o.x for o in one.outliers])
            value = np.array([o.residual for o in one.outliers])
            curves.append(Curve("outlier", x, value, s.unit, dotted=True, colour=1))
        wide = 2 * float(np.sqrt(s.variance))
        band = Band("" if panels else "± 2σ", -wide, wide)
        label = name_with_unit(one.name, s.unit)
        along = Across("frequency", log=True) if s.axis == "frequency" else None
        group = _group(analysis, one)
        panel = Panel(label, tuple(curves), (band,), group=group, across=along)
        if s.axis == "time":
            gaps = analysis.fit.study.partition.gaps_of(s.case)
            panel = replace(panel, gaps=gaps, origin=analysis.fit.setup.origin_of(s.case))
        panels.append(panel)
    axis = analysis.outputs[0].series.axis if analysis.outputs else "time"
    return panels, TIME_LABEL if axis == "time" else axis


KINDS: dict[str, Callable[[ResidualAnalysis], tuple[list[Panel], str]]] = {
    "autocorrelation": _autocorrelation,
    "cross-correlation": _crosscorrelation,
    "histogram": _histogram,
    "qq": _quantiles,
    "residuals": _course,
}


def available_kinds(analysis: ResidualAnalysis) -> Iterator[str]:
    """Kinds that there is something to see of."""
    for kind in KINDS:
        if kind != "cross-correlation" or any(o.crosscorrelations for o in analysis.outputs):
            yield kind


def _group(analysis: ResidualAnalysis, one: OutputResiduals) -> str:
    several = len({o.case for o in analysis.outputs}) > 1
    role = " (validation)" if one.series.role == "validate" else ""
    return f"{one.case}{role}" if several else ""


def _lag_label(analysis: ResidualAnalysis) -> str:
    regular = all(o.series.spacing.regular for o in analysis.outputs)
    timed = all(o.series.axis == "time" for o in analysis.outputs)
    if not timed:
        return "lag, in points times their median distance"
    return "lag [s]" if regular else "lag [s], samples times their median distance"
