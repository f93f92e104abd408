"""`estimica simulate`: run a model, with sensitivities where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from estimica.apps.cli import arguments
from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import Delivery, deliver, requested_outputs, require_outputs
from estimica.apps.cli.options import AsJson, ClassName, Fix, Libraries, Samples, SampleTime, Source
from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.view import Curves, Page, Section, Table, text, write
from estimica.data.calendar import Calendar
from estimica.estimate.page_frame import ANSWER, source_name, with_reproduction
from estimica.simulate.trajectory import Sensitivities, Trajectory
from estimica.study.fields.counts import SIMULATED

if TYPE_CHECKING:
    from estimica.simulate.linear.model import LinearModel
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.simulate.trajectory import Trajectory


def simulate(
    source: Source,
    class_: ClassName = None,
    stop: Annotated[float | None, typer.Option(help="Last time; the model may suggest it.")] = None,
    start: Annotated[float | None, typer.Option(help="First time; by default 0.")] = None,
    points: Annotated[
        int, typer.Option(min=2, max=SIMULATED, help="Number of output times.")
    ] = 500,
    fix: Fix = None,
    start_value: Annotated[
        list[str] | None, typer.Option("--start-value", help="Start a state from: NAME=VALUE.")
    ] = None,
    input_: Annotated[
        list[str] | None,
        typer.Option("--input", help="Give an input: NAME=NUMBER or NAME=FILE.csv[:COLUMN]."),
    ] = None,
    hold: Annotated[
        str, typer.Option(help="What inputs do between samples: previous, linear or spline.")
    ] = "previous",
    output: Annotated[
        list[str] | None, typer.Option(help="Variable to show; by default outputs and states.")
    ] = None,
    sensitivity: Annotated[
        list[str] | None, typer.Option(help="Differentiate by this parameter or start value.")
    ] = None,
    rtol: Annotated[float, typer.Option(help="Relative tolerance.")] = 1e-6,
    method: Annotated[
        str,
        typer.Option(help="Integration method: auto, explicit, implicit or implicit-euler."),
    ] = "auto",
    step: Annotated[
        float | None, typer.Option(help="Length of the steps of implicit-euler.")
    ] = None,
    sample_time: SampleTime = None,
    library: Libraries = None,
    plot: Annotated[Path | None, typer.Option(help="Write the curves to this HTML page.")] = None,
    csv: Samples = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a model and show, draw or write its outputs and their sensitivities."""
    with reported("simulate", as_json):
        from estimica.simulate.engine.options import Options

        require_outputs(csv, page=plot)
        given = arguments.values("--set", fix or [])
        start_values = arguments.numbers("--start-value", start_value or [])
        signals, origin = arguments.inputs(input_ or [], hold)
        from estimica.simulate.load import ModelSource

        model: ModelicaModel | LinearModel
        if ModelSource(source).kind == "transfer function":
            if class_ is not None or library:
                what = f"class '{class_}'" if class_ is not None else "--library"
                raise ModelError("M055", f"'{source}' is a transfer function: leave out {what}")
            model, parameters = arguments.load_transfer_function(source, given, sample_time)
            times = _instants(model, start, stop, points)
        else:
            if sample_time is not None:
                raise ModelError("M182", "--sample-time is for transfer functions in z only")
            model, parameters = arguments.load(source, class_, given, library or [])
            times = _times(model, start, stop, points)
        options = Options(rtol=rtol, method=method, step=step or 0.0)
        point = (times, signals, parameters, start_values)
        trajectory: Trajectory
        if sensitivity:
            trajectory = model.sensitivities(
                *point, wrt=sensitivity, outputs=output or None, options=options
            )
        else:
            trajectory = model.simulate(*point, outputs=output or None, options=options)
        trajectory = _on_the_calendar(trajectory, origin)
    _deliver(trajectory, str(source), plot, csv, as_json)


def _on_the_calendar(trajectory: Trajectory, origin: str) -> Trajectory:
    """The same with what the clock of its inputs shows; nothing where they have no dates."""
    if not origin:
        return trajectory
    calendar = Calendar.of(origin)
    shown = (calendar.at(float(t)) for t in np.round(trajectory.time, 3))
    dates = tuple(d.isoformat(" ", "milliseconds" if d.microsecond else "seconds") for d in shown)
    return replace(trajectory, origin=origin, dates=dates)


def _times(model: ModelicaModel, start: float | None, stop: float | None, points: int) -> Vector:
    first = model.experiment.start if start is None else start
    last = model.experiment.stop if stop is None else stop
    return np.linspace(first, _end(model.name, first, last), points)


def _instants(model: LinearModel, start: float | None, stop: float | None, points: int) -> Vector:
    """Times of a transfer function: all its samples where it is one in discrete time."""
    first = 0.0 if start is None else start
    last = _end(model.name, first, stop)
    step = model.sample_time
    if step is None:
        return np.linspace(first, last, points)
    # the last one counts where it is a multiple but for rounding
    count = (last - first) / step * (1 + 1e-9) + 1
    if count > SIMULATED:
        raise ModelError(
            "M186",
            f"--sample-time {step:g} makes {count:.3g} samples until {last:g} s; at most "
            f"{SIMULATED} are shown: give an earlier --stop",
        )
    return np.asarray(first + step * np.arange(int(count)), np.float64)


def _end(name: str, first: float, last: float | None) -> float:
    if last is None:
        raise ModelError("M053", f"'{name}' does not say how long to simulate; give --stop")
    if not last > first:
        raise ModelError("M054", f"--stop {last:g} is not after --start {first:g}")
    return last


def _deliver(
    trajectory: Trajectory, source: str, plot: Path | None, csv: Path | None, as_json: bool
) -> None:
    delivery = Delivery(
        result=lambda: as_object("simulate", trajectory),
        texts=lambda: filter(
            None,
            [
                *map(text, curves_of(trajectory)),
                *map("note: {}".format, trajectory.notes),
                _end_text(trajectory),
            ],
        ),
        outputs=requested_outputs(
            (csv, trajectory.to_csv),
            (plot, lambda path: write(page(trajectory, source), path)),
        ),
    )
    deliver(delivery, as_json=as_json, quiet=False)


def as_object(command: str, trajectory: Trajectory) -> dict[str, object]:
    """The JSON object of a simulation; `sensitivities` is there where they were asked for."""
    outcome = {"status": "done", "message": _end_text(trajectory)}
    return {"command": command, "outcome": outcome, **trajectory.to_dict()}


def _end_text(trajectory: Trajectory) -> str:
    """How the model has ended the run, "" where it has not."""
    return trajectory.termination.text if trajectory.termination else ""


def curves_of(trajectory: Trajectory) -> list[Curves]:
    """The outputs and, where there are any, their sensitivities."""
    shown = [trajectory.curves()]
    if isinstance(trajectory, Sensitivities):
        shown.append(trajectory.sensitivity_curves())
    return shown


def page(trajectory: Trajectory, source: str) -> Page:
    """What a page about a simulation says; `source` is the file of the model."""
    t = trajectory.time
    shown = [
        Section(heading, words, (replace(curves, title=""),))
        for (heading, words), curves in zip(_PARTS, curves_of(trajectory), strict=False)
    ]
    begin, end = f"{t[0]:g}", f"{t[-1]:g} s"
    if trajectory.dates:
        begin, end = trajectory.dates[0], trajectory.dates[-1]
    wanted = f"To simulate the model {trajectory.model} of {source_name(source)} from {begin} to "
    answer = f"{len(t)} samples of each were computed."
    answer += "".join(f" Note: {note}." for note in trajectory.notes)
    if trajectory.termination:
        answer += f" The run was {_end_text(trajectory)}."
    first = (
        Section("What was asked", f"{wanted}{end} and to see {_listed(trajectory.names)}."),
        Section(ANSWER, answer, (_ends(trajectory),)),
    )
    document = Page(f"Simulation: {trajectory.model}", tuple(shown))
    return with_reproduction(document, "simulate", None, first=first, files=(Path(source),))


_PARTS = (
    ("Trajectories", "Drag to zoom into a part, double-click to see all again."),
    (
        "Sensitivities",
        "How the outputs change with each parameter: a curve is the change for a relative change "
        "of the parameter, in the unit of the output.",
    ),
)
MOST_NAMED = 12  # in a sentence; chosen: two lines of a terminal


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _ends(trajectory: Trajectory) -> Table:
    rows = []
    for name in trajectory.names:
        value = trajectory.value(name)
        ends = float(np.nanmin(value)), float(np.nanmax(value)), float(value[-1])
        rows.append((name, trajectory.units.get(name, ""), *ends))
    return Table(("name", "unit", "smallest", "largest", "at the end"), tuple(rows))
