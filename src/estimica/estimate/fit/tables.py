"""Tables of a fit: the estimates, and how well each output is met."""

from __future__ import annotations

import math
from dataclasses import replace

from estimica.base.view import Rounded, Table, status_line
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


def without_empty(table: Table, *columns: str) -> Table:
    """The table without those of `columns` that hold nothing."""
    keep = [
        k
        for k, name in enumerate(table.columns)
        if name not in columns or any(row[k] not in ("", None) for row in table.rows)
    ]
    rows = tuple(tuple(row[k] for k in keep) for row in table.rows)
    return replace(table, columns=tuple(table.columns[k] for k in keep), rows=rows)


def short(value: float) -> float:
    """Four digits."""
    return float(f"{value:.4g}")


def percent(value: float) -> float:
    """Two decimals."""
    return Rounded(value, 2)


def aligned(value: float, error: float) -> float:
    """A value with as many decimals as its standard error has."""
    return Rounded(value, decimals) if 0 <= (decimals := _decimals(error)) <= 9 else value


def rounded(value: float, error: float) -> float:
    """A value with three digits of its standard error; a smaller one keeps three of its own."""
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return value
    decimals = _decimals(min(error, abs(value)) or error)
    return Rounded(value, decimals) if 0 <= decimals <= 9 and abs(value) < 1e9 else value


def _decimals(value: float) -> int:
    """Those that show three digits; none where it is no positive number."""
    return 2 - math.floor(math.log10(value)) if math.isfinite(value) and value > 0 else -1


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
