"""Tables of a fit: the estimates, and how well each output is met."""

from __future__ import annotations

import math

from estimica.base.text import percent, rounded, short
from estimica.base.view import Table, status_line, without_empty
from estimica.estimate.fit.result import Fit


def estimates(fit: Fit) -> Table:
    """Every unknown with its standard error and interval, rounded as its error allows."""
    rows = [_row(fit, k) for k in range(len(fit.unknowns))]
    columns = ("unknown", "value", "std. error", "95 % from", "to", "unit", "remark")
    size = f"{fit.n_samples} samples, {fit.n_free} unknown{'' if fit.n_free == 1 else 's'}"
    title = f"{fit.study.name}: {fit.criterion} cost {fit.cost:.7g}, {size}"
    note = "; ".join((status_line(fit.outcome.status, fit.outcome.message), *fit.remarks))
    return without_empty(Table(columns, tuple(rows), title, note), "unit", "remark")


def quality(fit: Fit) -> Table:
    """A row for each output of each case."""
    columns = ("case", "role", "output", "samples", "RMSE", "fit %", "error %", "noise", "remark")
    rows: list[tuple[object, ...]] = []
    for case in fit.cases:
        if case.failure:
            rows.append((case.name, case.role, *[None] * 6, case.failure))
        for o in case.outputs:
            noise = fit.noise.get(o.name)
            sigma = None if noise is None else short(math.sqrt(noise.variance))
            remark = _noise_remark(fit, o.name) if case.role == "calibrate" else ""
            if o.is_input:
                remark = "input with errors"
            if (beyond := int(o.censored.sum())) > 0:
                remark = "; ".join(filter(None, [remark, f"{beyond} beyond detection limits"]))
            if o.transform:
                remark = "; ".join(filter(None, [remark, f"fitted as {o.transform}"]))
            if o.prefilter and not o.transform:
                remark = "; ".join(filter(None, [remark, "behind its prefilter"]))
            measures = (short(o.rmse), percent(o.fit_percent), percent(o.errn_percent))
            rows.append((case.name, case.role, o.name, len(o.time), *measures, sigma, remark))
    note = (
        "fit %: 100 is perfect, 0 no better than the mean; error %: residuals relative to the "
        "measured signal" + ("; noise: estimated standard deviation" if fit.noise else "")
    )
    table = Table(columns, tuple(rows), "How well the outputs are met", note)
    return without_empty(table, "noise", "remark")


def _row(fit: Fit, k: int) -> tuple[object, ...]:
    u, a = fit.unknowns.items[k], fit.accuracy
    low, high = (float(x) for x in a.interval[k])
    error = float(a.stderr[k])
    shown_error = rounded(float(f"{error:.3g}"), error)
    numbers = [rounded(float(fit.values[k]), error), shown_error]
    numbers += [rounded(low, error), rounded(high, error)]
    shown = [x if math.isfinite(x) else None for x in numbers]
    return u.label, *shown, "" if u.unit == "1" else u.unit, fit.remark(k)


def _noise_remark(fit: Fit, output: str) -> str:
    noise = fit.noise.get(output)
    if noise is None:
        return ""
    if noise.formula:
        return f"noise: mean of {noise.formula}"
    if noise.at_bound:
        return "noise at its bound"
    if noise.estimated:
        return f"noise {noise.shared}" if noise.shared else ""
    return "noise known"
