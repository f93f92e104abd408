"""Pictures of points: fits and residuals against any variable, grouped by another; parity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from estimica.base.arrays import Flags, Vector
from estimica.base.errors import EstimicaError, FitError
from estimica.base.signals import Signal
from estimica.base.view import Across, Band, Curve, Curves, Panel, name_with_unit
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import Failure
from estimica.study.record.axis import (
    input_along,
    input_in_column_unit,
    names_along,
    unit_along,
    unknown_axis_error,
    values_along,
)
from estimica.study.record.samples import MeasuredOutput, Record

FINE = 120  # points of a fitted curve
STEADY = 0.1  # share of its range by which an input may vary within a group
ALIKE = 5e-3  # or share of its size
TALL, SQUARE = 340, 380  # pixels
LINE = 1  # of the palette, without groups
MOST = 8  # groups in one picture
BINS = 5  # where values lie anywhere
CLEAR = 4.0  # a gap between groups, relative to the largest within


def against_curves(fit: Fit, kind: str, against: str, by: str | None) -> Curves:
    """Measured points and the fitted curve of each group, or residuals, against a variable."""
    _require(fit, against, by)
    panels: list[Panel] = []
    for case, record in _cases(fit):
        for output in case.outputs:
            if output.is_input and kind == "fit":
                continue
            draw = _fitted if kind == "fit" else _residuals
            curves = tuple(draw(fit, record, output, against, by, not panels))
            label = name_with_unit(output.name, fit.unit_of(output))
            label = label if kind == "fit" else fit.residual_label(output)
            bands = () if kind == "fit" else _bands(fit, case, output, not panels)
            panels.append(Panel(label, curves, bands, group=_heading(fit, case)))
    what = "measured and simulated" if kind == "fit" else "simulated − measured"
    title = f"{fit.study.name}: {what}" + (f" by {by}" if by else "")
    return Curves(tuple(panels), title, _label(fit, against), TALL)


def parity_curves(fit: Fit, by: str | None = None) -> Curves:
    """Simulated against measured: on the line they are equal."""
    if by is not None:
        _require(fit, by, None)
    panels: list[Panel] = []
    for case, record in _cases(fit):
        for output in case.outputs:
            if output.is_input or output.transfer is not None:
                continue
            ends = np.array([output.measured.min(), output.measured.max()])
            curves = [Curve("equal", ends, ends, colour=7, dashed=True, listed=not panels)]
            for k, group in enumerate(_groups(fit, record, output, by)):
                curves.append(
                    Curve(
                        group.label or "points",
                        output.measured[group.rows],
                        output.simulated[group.rows],
                        fit.unit_of(output),
                        dotted=True,
                        colour=k,
                        listed=not panels,
                    )
                )
            unit = fit.unit_of(output)
            across = Across(name_with_unit(f"{output.name} measured", unit))
            label = name_with_unit(f"{output.name} simulated", unit)
            heading = " ".join(filter(None, (_heading(fit, case), output.name)))
            panels.append(Panel(label, tuple(curves), group=heading, across=across, height=SQUARE))
    return Curves(tuple(panels), f"{fit.study.name}: simulated against measured")


def residual_panels(fit: Fit, by: str | None = None) -> Curves:
    """Residuals of every output against every input that varies."""
    panels: list[Panel] = []
    for case, record in _cases(fit):
        for name in record.inputs:
            for output in case.outputs:
                values = record.inputs[name].at(output.time)
                if output.is_input or output.transfer is not None or np.ptp(values) == 0:
                    continue
                curves = tuple(_residuals(fit, record, output, name, by, not panels))
                heading = " ".join(filter(None, (_heading(fit, case), f"against {name}")))
                label = fit.residual_label(output)
                across = Across(_label(fit, name))
                bands = _bands(fit, case, output, not panels)
                panels.append(Panel(label, curves, bands, group=heading, across=across))
    return Curves(tuple(panels), f"{fit.study.name}: residuals against the inputs")


def chosen_axes(fit: Fit, against: str | None, by: str | None) -> tuple[str | None, str | None]:
    """What to draw against and to group by: as asked, or as the [static] table says.

    Without time, the only input that varies is drawn against by itself.
    """
    table = fit.study.tables.get("static")
    asked = table if isinstance(table, Mapping) else {}
    against, by = against or asked.get("against"), by or asked.get("by")
    if against is None and not fit.study.model.has_time:
        records = fit.setup.records
        varying = {n for r in records for n, s in r.inputs.items() if np.ptp(s.value) > 0}
        against = next(iter(varying - {by})) if len(varying - {by}) == 1 else None
    return against, by


def _require(fit: Fit, *names: str | None) -> None:
    records = fit.setup.records
    for name in names:
        if name is not None and not any(name in names_along(r) for r in records):
            error = unknown_axis_error(name, records)
            raise FitError("F093", error.message)


def _cases(fit: Fit) -> Iterator[tuple[CaseFit, Record]]:
    for case in fit.cases:
        record = fit.setup.whole_record(case.name)
        if case.outputs and not record.is_frequency:
            yield case, record


def _groups(fit: Fit, record: Record, output: OutputComparison, by: str | None) -> list[Group]:
    if by is None or by not in names_along(record):
        return [Group("", np.ones(len(output.time), bool))]
    return groups(by, _along(fit, record, by, output.time))


def _along(fit: Fit, record: Record, name: str, points: Vector) -> Vector:
    return values_along(record, name, points, has_time=fit.study.model.has_time)


def _fitted(
    fit: Fit, record: Record, output: OutputComparison, against: str, by: str | None, listed: bool
) -> Iterator[Curve]:
    x = _along(fit, record, against, output.time)
    for k, group in enumerate(_groups(fit, record, output, by)):
        colour = k if group.label else 7
        unit = fit.unit_of(output)
        rows = group.rows & np.isfinite(x)
        if not rows.any():
            continue
        order = np.argsort(x[rows], kind="stable")
        name = f"{group.label}, measured" if group.label else "measured"
        yield Curve(
            name,
            x[rows][order],
            output.measured[rows][order],
            unit,
            output.column,
            dotted=True,
            colour=colour,
            listed=listed and not group.label,
        )
        line = None
        if not fit.study.model.has_time:
            line = _fine(fit, record, output, against, rows)
        over, value = line or (x[rows][order], output.simulated[rows][order])
        yield Curve(
            group.label or "simulated",
            over,
            value,
            unit,
            dotted=fit.study.model.has_time,
            marked=line is None and not fit.study.model.has_time,
            colour=k if group.label else LINE,
            listed=listed,
        )


def _residuals(
    fit: Fit, record: Record, output: OutputComparison, against: str, by: str | None, listed: bool
) -> Iterator[Curve]:
    x = _along(fit, record, against, output.time)
    finite = x[np.isfinite(x)]
    if len(finite):
        ends = np.array([finite.min(), finite.max()])
        yield Curve("zero", ends, np.zeros(2), colour=7, dashed=True, listed=False)
    for k, group in enumerate(_groups(fit, record, output, by)):
        yield Curve(
            group.label or "simulated − measured",
            x[group.rows],
            output.compared[group.rows],
            fit.residual_unit(output),
            dotted=True,
            colour=k,
            listed=listed and bool(group.label),
        )


def _bands(fit: Fit, case: CaseFit, output: OutputComparison, named: bool) -> tuple[Band, ...]:
    from estimica.estimate.fit.pictures import noise_level

    sigma = noise_level(fit, case, output)
    return (Band("± 2σ" if named else "", -2 * sigma, 2 * sigma),) if sigma else ()


def _fine(
    fit: Fit, record: Record, output: OutputComparison, against: str, rows: Flags
) -> tuple[Vector, Vector] | None:
    """The fitted curve of a group, the other inputs at their mean; None where they vary."""
    moved = input_along(record, against)
    if moved is None or any(m.disturbance for m in record.outputs):
        return None
    grid = np.arange(FINE, dtype=float)
    inputs: dict[str, Signal] = {}
    for name, signal in record.inputs.items():
        values = signal.at(output.time)
        own = values[rows]
        if name == moved:
            if np.ptp(own) == 0:
                return None
            inputs[name] = Signal(grid, np.linspace(own.min(), own.max(), FINE))
        elif np.ptp(own) > max(STEADY * np.ptp(values), ALIKE * float(np.abs(own).mean())):
            return None
        else:
            inputs[name] = Signal.constant(float(own.mean()))
    measured = next(m for m in record.outputs if m.name == output.name)
    value = _simulated(fit, record, inputs, replace(measured, time=grid, value=np.zeros(FINE)))
    over = input_in_column_unit(record, against, inputs[moved].value)
    return None if value is None or over is None else (over, value)


def _simulated(
    fit: Fit, record: Record, inputs: Mapping[str, Signal], output: MeasuredOutput
) -> Vector | None:
    """The fitted model at other inputs."""
    plain = replace(output, transform=None)
    other = replace(record, inputs=inputs, outputs=(plain,), uncertain=())
    tuners = fit.values[: len(fit.setup.tuners)]
    try:
        objective = fit.setup.validation(other, tuners)
        predictions = objective.predict(objective.unknowns.values(objective.unknowns.start))
    except EstimicaError:
        return None
    if isinstance(predictions, Failure):
        return None
    return predictions[0].value if np.isfinite(predictions[0].value).all() else None


def _heading(fit: Fit, case: CaseFit) -> str:
    role = " (validation)" if case.role == "validate" else ""
    return f"{case.name}{role}" if len(fit.cases) > 1 else ""


def _label(fit: Fit, name: str) -> str:
    for q in fit.study.model.quantities():
        if q.name == name:
            return name_with_unit(name, q.unit)
    units = {unit_along(r, name) for r in fit.setup.records if name in names_along(r)}
    return name_with_unit(name, units.pop() if len(units) == 1 else "")


# --- Groups: points whose value of one variable is about the same.


@dataclass(frozen=True, eq=False)
class Group:
    """Some of the points, and what they have in common in words."""

    label: str
    rows: Flags


def groups(name: str, values: Vector) -> list[Group]:
    """Points of one value each, or of values that lie together, or of equal shares."""
    known = np.unique(values[np.isfinite(values)])
    edges = _edges(known)
    groups_found = []
    for low, high in pairwise(edges):
        rows = (values >= low) & (values < high)
        if rows.any():
            groups_found.append(Group(_group_label(name, values[rows], _spread(known)), rows))
    return groups_found


def _edges(known: Vector) -> list[float]:
    """Where one group ends and the next begins."""
    inner: Vector = np.zeros(0)
    gaps = np.diff(known)
    if len(known) <= MOST:
        inner = known[:-1] + gaps / 2
    else:
        order = np.argsort(gaps)[::-1]
        sizes = gaps[order]
        ratio = sizes[: MOST - 1] / np.maximum(sizes[1:MOST], 1e-300)
        cut = int(np.argmax(ratio))
        if ratio[cut] > CLEAR:
            chosen = np.sort(order[: cut + 1])
            inner = known[chosen] + gaps[chosen] / 2
        else:
            inner = np.quantile(known, np.arange(1, BINS) / BINS)
    return [-np.inf, *map(float, inner), np.inf]


def _spread(known: Vector) -> float:
    return float(known[-1] - known[0]) if len(known) else 0.0


def _group_label(name: str, values: Vector, spread: float) -> str:
    low, high = float(values.min()), float(values.max())
    if high - low <= 0.1 * spread or f"{low:.3g}" == f"{high:.3g}":
        return f"{name} = {_rounded(float(values.mean()))}"
    return f"{name} {_rounded(low)} … {_rounded(high)}"


def _rounded(value: float) -> str:
    """Three digits, as one would write them: 30000, not 3e+04."""
    return f"{float(f'{value:.3g}'):.7g}"
