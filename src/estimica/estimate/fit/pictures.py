"""Pictures: what there is to see of a fit, as curves that `report` draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.suggest import did_you_mean
from estimica.base.thinning import thin_curve
from estimica.base.view import TIME_LABEL, Band, Curve, Curves, Panel, Ribbon, name_with_unit
from estimica.estimate.fit import frequency_pictures as frequency
from estimica.estimate.fit import point_pictures as points
from estimica.estimate.fit.as_json import ranked
from estimica.estimate.fit.fine_curves import (
    fine_lines,
    joined_lines,
    lines_at,
    plain_lines,
    through,
)
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import Failure
from estimica.estimate.search.run import Iteration
from estimica.study.case import InputColumn
from estimica.study.noise.process import PREDICTION
from estimica.study.record.samples import Record

MEASURED, SIMULATED, CENSORED = 7, 1, 3  # of the palette: grey points, a strong line, marks
PREDICTED = "predicted one sample ahead"
UNSEEN = "simulated without the data"
MOST_ITERATIONS = 12  # in one picture
#: points of all their lines together, between the stamps too: fewer than a page would thin, and
#: say so, as it does of long records
MOST_FINE = 13_000
FEWEST_FINE = 50  # of one of them, however many there are (chosen)
LEGIBLE = 8  # tuners in one panel of the path
ALIKE = 1e-6  # relative difference of costs that are equal
WIDE = 100  # ratio of costs from which on their axis is logarithmic


def picture(
    fit: Fit,
    kind: str = "fit",
    iterations: int | None = None,
    against: str | None = None,
    by: str | None = None,
) -> Curves:
    """The curves of one kind; `iterations` says how many of them are drawn."""
    kinds = [*KINDS, "parity"]
    if kind not in kinds:
        raise FitError(
            "F030",
            f"there is no plot '{kind}'{did_you_mean(kind, kinds)} ({', '.join(kinds)})",
        )
    if kind in ("fit", "residuals", "parity"):
        if iterations and (against or by):
            raise FitError(
                "F096",
                f"iterations of plot '{kind}' are drawn point by point, not against a variable; "
                "leave out iterations, or against and by",
            )
        if not iterations:  # what [static] says is not for iterations
            against, by = points.chosen_axes(fit, against, by)
    elif against or by:
        raise FitError("F094", f"plot '{kind}' is not drawn against a variable; leave that out")
    if kind == "parity":
        return points.parity_curves(fit, by)
    if against is not None:
        return points.against_curves(fit, kind, against, by)
    if by is not None:
        raise FitError("F095", f"by '{by}' needs against: which variable to draw against")
    if iterations is not None and iterations < 1:
        raise FitError("F031", f"iterations {iterations}: at least one is drawn")
    return KINDS[kind](fit, iterations)


def fit_curves(fit: Fit, iterations: int | None = None) -> Curves:
    """Measured and simulated outputs of every case; predicted ones where the fit predicts, with
    the simulation that sees no data beside them."""
    panels: list[Panel] = []
    finely = joined_lines(fit, {} if predicts(fit) else fine_lines(fit))
    plain = joined_lines(fit, plain_lines(fit)) if predicts(fit) else {}
    for case, axis in _cases(fit):
        for output in case.outputs:
            if output.transfer is not None:
                panels += frequency.fit_panels(fit, case, output)
                continue
            x, order = axis.of(output.time)
            line = finely.get((case.name, output.name), (x, output.simulated[order]))
            curves = (
                Curve(
                    "measured",
                    x,
                    output.measured[order],
                    fit.unit_of(output),
                    output.column,
                    dotted=True,
                    colour=MEASURED,
                    listed=not panels,
                ),
                *(
                    Curve(
                        UNSEEN, *own, fit.unit_of(output), dashed=True, colour=0, listed=not panels
                    )
                    for own in [plain.get((case.name, output.name))]
                    if own is not None
                ),
                Curve(
                    PREDICTED if predicts(fit) else "simulated",
                    *line,
                    fit.unit_of(output),
                    colour=SIMULATED,
                    listed=not panels,
                ),
                *_censored(fit, output, x, output.measured[order], order),
            )
            panels.append(
                Panel(
                    name_with_unit(output.name, fit.unit_of(output)),
                    curves,
                    group=_heading(fit, case),
                    gaps=_gaps(fit, case),
                    origin=fit.setup.origin_of(case.name),
                    ribbons=_around(output, x, order, not panels, 1) if predicts(fit) else (),
                )
            )
    done = "predicted" if predicts(fit) else "simulated"
    return Curves(tuple(panels), _title(fit, f"measured and {done}"), _axis_label(fit))


def predicts(fit: Fit) -> bool:
    """Whether values are predicted from those before them, not simulated from the start."""
    return fit.criterion == PREDICTION


def _censored(
    fit: Fit, output: OutputComparison, x: Vector, y: Vector, order: npt.NDArray[np.intp] | slice
) -> Iterator[Curve]:
    """Samples of which only a detection limit is known, marked."""
    beyond = output.censored[order]
    if beyond.any():
        name = "beyond its detection limit"
        yield Curve(name, x[beyond], y[beyond], fit.unit_of(output), dotted=True, colour=CENSORED)


def residual_curves(fit: Fit, iterations: int | None = None) -> Curves:
    """Simulated − measured over time, with the band of two standard deviations."""
    chosen = fit.iterations[:-1][-(iterations - 1) :] if iterations and iterations > 1 else ()
    earlier = list(_resimulated(fit, chosen, residuals=True))
    panels: list[Panel] = []
    for case, axis in _cases(fit):
        for output in case.outputs:
            sigma = 0.0 if output.sigma is not None else noise_level(fit, case, output)
            if output.transfer is not None:
                panels += frequency.residual_panels(fit, case, output, sigma)
                continue
            x, order = axis.of(output.time)
            before = [
                Curve(
                    f"iteration {i.number}",
                    *found[case.name, output.name],
                    fit.residual_unit(output),
                    colour=0,
                    strength=0.25 + 0.4 * k / len(earlier),
                    listed=not panels,
                )
                for k, (i, found) in enumerate(earlier)
                if (case.name, output.name) in found
            ]
            last = Curve(
                "predicted − measured" if predicts(fit) else "simulated − measured",
                x,
                output.compared[order],
                fit.residual_unit(output),
                dotted=not before,
                colour=SIMULATED if before else 0,
                listed=not panels,
            )
            bands = (Band("" if panels else "± 2σ", -2 * sigma, 2 * sigma),) if sigma else ()
            marked = _censored(fit, output, x, output.compared[order], order)
            panels.append(
                Panel(
                    fit.residual_label(output),
                    (*before, last, *marked),
                    bands,
                    ribbons=_around(output, x, order, not panels),
                    group=_heading(fit, case),
                    gaps=_gaps(fit, case),
                    origin=fit.setup.origin_of(case.name),
                )
            )
    return Curves(tuple(panels), _title(fit, "residuals"), _axis_label(fit))


def _around(
    output: OutputComparison,
    x: Vector,
    order: npt.NDArray[np.intp] | slice,
    named: bool,
    shown: float = 0.0,
) -> tuple[Ribbon, ...]:
    """± 2σ of samples that have their own, around zero or the outputs themselves."""
    if output.sigma is None:
        return ()
    wide, middle = 2 * output.sigma[order], shown * output.simulated[order]
    return (Ribbon("± 2σ", x, middle - wide, middle + wide, listed=named),)


def iteration_curves(fit: Fit, iterations: int | None = None) -> Curves:
    """The simulated outputs after every iteration over the data, from faint to strong."""
    drawn = list(_resimulated(fit, _spread(fit.iterations, iterations or MOST_ITERATIONS)))
    panels: list[Panel] = []
    for case, axis in _cases(fit):
        if case.role != "calibrate":
            continue
        for output in case.outputs:
            if output.transfer is not None:
                values = [(_called(fit, i), f[case.name, output.name][1]) for i, f in drawn]
                panels += frequency.iteration_panels(fit, case, output, values)
                continue
            x, order = axis.of(output.time)
            curves = [
                Curve(
                    "measured",
                    x,
                    output.measured[order],
                    fit.unit_of(output),
                    dotted=True,
                    colour=MEASURED,
                    listed=not panels,
                )
            ]
            for k, (iteration, simulated) in enumerate(drawn):
                last = k == len(drawn) - 1
                curves.append(
                    Curve(
                        _called(fit, iteration),
                        *simulated[case.name, output.name],
                        fit.unit_of(output),
                        colour=SIMULATED if last else 0,
                        strength=1.0 if last else 0.2 + 0.8 * (k + 1) / len(drawn),
                        listed=not panels,
                    )
                )
            panels.append(
                Panel(
                    name_with_unit(output.name, fit.unit_of(output)),
                    tuple(curves),
                    group=_heading(fit, case),
                    gaps=_gaps(fit, case),
                    origin=fit.setup.origin_of(case.name),
                )
            )
    title = _title(fit, "the simulation after each iteration")
    return Curves(tuple(panels), title, _axis_label(fit), 260)


def path_curves(fit: Fit, iterations: int | None = None) -> Curves:
    """Every tuner over the iterations, relative to its final value."""
    chosen = [k for k, u in enumerate(fit.unknowns.items) if u.kind == "tuner"]
    chosen = chosen or list(range(len(fit.unknowns)))
    number = _numbers(fit)
    panels = []
    for part in range(0, len(chosen), LEGIBLE):
        curves = []
        for k in chosen[part : part + LEGIBLE]:
            u, final = fit.unknowns.items[k], float(fit.values[k])
            values = np.array([i.values[k] for i in fit.iterations])
            size = abs(final) if abs(final) > 1e-9 * u.scale else u.scale
            about = f"ends at {final:.6g} {u.unit}".strip()
            curves.append(Curve(u.label, number, (values - final) / size, "", about, marked=True))
        panels.append(Panel("(value − final) / |final|", tuple(curves)))
    return Curves(tuple(panels), _title(fit, "the way of the tuners"), "iteration", 300, whole=True)


def cost_curves(fit: Fit, iterations: int | None = None) -> Curves:
    """The cost over the iterations; what a cost that may be negative has above its last value."""
    number = _numbers(fit)
    cost = np.array([i.cost for i in fit.iterations])
    spans = bool(len(cost)) and bool(cost.min() > 0) and bool(cost.max() > WIDE * cost.min())
    curve = Curve("cost", number, cost, "", fit.criterion, marked=True)
    panels = [Panel(f"cost ({fit.criterion})", (curve,), log=spans)]
    above = cost[:-1] - cost[-1] if len(cost) else cost
    if not spans and len(above) > 1 and np.all(above > 0):
        rest = Curve("above the last", number[:-1], above, marked=True)
        panels.append(Panel("cost above the last", (rest,), log=True))
    return Curves(tuple(panels), _title(fit, "cost"), "iteration", 230, whole=True)


def start_curves(fit: Fit, iterations: int | None = None) -> Curves:
    """The waterfall of a multistart: final costs in order, equal optima as steps."""
    done = [s for s in ranked(fit.starts) if math.isfinite(s.cost)]
    if not done:
        raise FitError(
            "F032", "there is one start only; set starts in [estimate] to see a waterfall"
        )
    cost = _levelled(np.array([s.cost for s in done]))
    rank = np.arange(1, len(done) + 1, dtype=float)
    failed = len(fit.starts) - len(done)
    label = "rank of the start" + (f" ({failed} failed and are left out)" if failed else "")
    spans = bool(cost[0] > 0 and cost[-1] > WIDE * cost[0])
    curve = Curve("final cost", rank, cost, "", fit.criterion, marked=True)
    panel = Panel(f"final cost ({fit.criterion})", (curve,), log=spans)
    return Curves((panel,), _title(fit, f"{len(fit.starts)} starts"), label, 300, whole=True)


def _levelled(cost: Vector) -> Vector:
    """Costs in order; those that differ by the search's tolerance only are one optimum."""
    levelled = cost.copy()
    for k in range(1, len(levelled)):
        if levelled[k] - levelled[k - 1] <= ALIKE * max(abs(levelled[k - 1]), ALIKE):
            levelled[k] = levelled[k - 1]
    return levelled


KINDS: dict[str, Callable[[Fit, int | None], Curves]] = {
    "fit": fit_curves,
    "residuals": residual_curves,
    "iterations": iteration_curves,
    "path": path_curves,
    "cost": cost_curves,
    "starts": start_curves,
}


def noise_level(fit: Fit, case: CaseFit, output: OutputComparison) -> float:
    """Standard deviation of the residuals: known, estimated by `ml`, or their RMS."""
    own = fit.study_case(case.name)
    if output.is_input:
        column = own.columns_of_inputs[output.name]
        assert isinstance(column, InputColumn)
        assert column.sigma is not None
        return column.sigma
    if output.sigma is not None:
        return float(np.sqrt(np.mean(output.sigma**2)))
    given = own.column_of(output.name).sigma
    passed = math.sqrt(output.passed)
    if isinstance(given, (float, str)):
        return passed * (given if isinstance(given, float) else 1.0)  # a column is divided by
    noise = fit.noise.get(output.name)
    if noise:
        return passed * math.sqrt(noise.variance) / output.weight
    return float(np.sqrt(np.mean(output.compared**2)))


# --- the horizontal axis -------------------------------------------------------------------------


class _Axis:
    """Time; without time the only input, or the number of the point."""

    def __init__(self, record: Record, has_time: bool) -> None:
        signals = list(record.inputs.values())
        self._signal = signals[0] if not has_time and len(signals) == 1 else None

    def of(self, time: Vector) -> tuple[Vector, npt.NDArray[np.intp] | slice]:
        """The values along the axis in rising order, and the order of the samples."""
        if self._signal is None:
            return time, slice(None)
        x = self._signal.at(time)
        order = np.argsort(x, kind="stable")
        return x[order], order


def _cases(fit: Fit) -> Iterator[tuple[CaseFit, _Axis]]:
    records = {r.case.name: r for r in fit.setup.records}
    for case in fit.cases:
        yield case, _Axis(records[case.name], fit.study.model.has_time)


def _gaps(fit: Fit, case: CaseFit) -> tuple[tuple[float, float], ...]:
    return fit.study.partition.gaps_of(case.name)


def _axis_label(fit: Fit) -> str:
    if fit.study.model.has_time:
        return TIME_LABEL
    inputs = {n for r in fit.setup.records for n in r.inputs}
    if len(inputs) != 1:
        return "point"
    units = {q.name: q.unit for q in fit.study.model.quantities()}
    name = inputs.pop()
    return name_with_unit(name, units.get(name, ""))


def _heading(fit: Fit, case: CaseFit) -> str:
    role = " (validation)" if case.role == "validate" else ""
    return f"{case.name}{role}" if len(fit.cases) > 1 else ""


def _title(fit: Fit, what: str) -> str:
    return f"{fit.study.name}: {what}"


# --- iterations ----------------------------------------------------------------------------------

Found = dict[tuple[str, str], tuple[Vector, Vector]]  # of each output what is drawn: x and y


def _numbers(fit: Fit) -> Vector:
    return np.array([i.number for i in fit.iterations], float)


def _called(fit: Fit, iteration: Iteration) -> str:
    return "start" if iteration.number == 0 else f"iteration {iteration.number}"


def _spread(iterations: Sequence[Iteration], most: int) -> list[Iteration]:
    """At most `most` of them with the first and the last; early ones, where more happens, first."""
    n = len(iterations)
    if n <= most:
        return list(iterations)
    early = np.unique(np.round(np.linspace(0, 1, most) ** 1.5 * (n - 1)).astype(int))
    return [iterations[k] for k in early]


def _resimulated(
    fit: Fit, iterations: Sequence[Iteration], *, residuals: bool = False
) -> Iterator[tuple[Iteration, Found]]:
    """Outputs or residuals at the values of earlier iterations, as many samples as are drawn.

    Those that cannot be simulated are left out. Long records of many iterations would not fit into
    memory: each is thinned before the next is simulated. Frequency responses keep every sample.
    """
    if not iterations:
        return
    objective = fit.setup.calibration()
    axes = {c.name: axis for c, axis in _cases(fit)}
    case_of = fit.study.partition.case_of
    drawn = {(c.name, o.name): (axes[case_of(c.name)], o) for c in fit.stretches for o in c.outputs}
    lines = len(drawn) * len(iterations)
    most = max(MOST_FINE // max(lines, 1), FEWEST_FINE)
    for iteration in iterations:
        predictions = objective.predict(iteration.values)
        if isinstance(predictions, Failure):
            continue
        values = objective.residuals(predictions) if residuals else [p.value for p in predictions]
        found: Found = {}
        finely = {} if residuals else lines_at(fit, iteration.values)
        for block, value in zip(objective.blocks, values, strict=True):
            axis, output = drawn[block.case, block.name]
            if (block.case, block.name) in finely:
                time, line = finely[block.case, block.name]
                inside = np.isin(output.time, time)
                line = through(time, line, output.time[inside], value[inside])
                found[block.case, block.name] = thin_curve(time, line, most, output.time)
                continue
            x, order = axis.of(output.time)
            whole = output.transfer is not None
            found[block.case, block.name] = (
                (x, value.copy()) if whole else thin_curve(x, value[order])
            )
        yield iteration, joined_lines(fit, found)
