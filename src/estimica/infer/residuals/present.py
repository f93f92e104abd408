"""The page of a residual analysis, and its section on the page of a fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from estimica.base.errors import EstimicaError
from estimica.base.view import Page, Section
from estimica.estimate.fit.result import Fit
from estimica.execute.reproduction import ANSWER, with_reproduction
from estimica.infer.residuals.pictures import available_kinds, picture
from estimica.infer.residuals.run import ResidualAnalysis, residuals
from estimica.infer.residuals.tables import details, outlier_table
from estimica.study.summary import study_summary

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
        found = residuals(fit)
    except EstimicaError:
        return
    text = f"{found.verdict}."
    several = len(found.outputs) > 1
    more = _verdicts(found) if several and not found.clean else ""
    pictures = () if found.clean else (replace(picture(found, "autocorrelation"), title=""),)
    yield Section("Residual verdict", "\n\n".join(filter(None, (text, more))), pictures)
