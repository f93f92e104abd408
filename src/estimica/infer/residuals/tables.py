"""Tables of a residual analysis, and its JSON."""

from __future__ import annotations

import math

from estimica.base.result import finite
from estimica.base.text import short
from estimica.base.view import Rounded, Table, percent_text, without_empty
from estimica.infer.residuals import hypothesis_tests as tests
from estimica.infer.residuals.output import OutputResiduals
from estimica.infer.residuals.run import ResidualAnalysis

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
