"""A trajectory as the commands hand it out: as JSON, as curves, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from estimica.base.view import Curves, Page, Section, Table
from estimica.execute.reproduction import ANSWER, with_reproduction
from estimica.simulate.trajectory import Sensitivities, Trajectory


def as_object(command: str, trajectory: Trajectory) -> dict[str, object]:
    """The JSON object of a simulation; `sensitivities` is there where they were asked for."""
    found: dict[str, object] = {
        "command": command,
        "outcome": {"status": "done", "message": ""},
        "model": trajectory.model,
        "time": trajectory.time,
        "values": {name: trajectory.value(name) for name in trajectory.names},
        "units": dict(trajectory.units),
        "events": list(trajectory.events),
        "statistics": dict(trajectory.statistics),
    }
    if isinstance(trajectory, Sensitivities):
        found["sensitivities"] = {
            name: {p: trajectory.derivative(name, p) for p in trajectory.wrt}
            for name in trajectory.names
        }
    return found


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
    wanted = f"To simulate the model {trajectory.model} of {Path(source).name} from {t[0]:g} to "
    first = (
        Section("What was asked", f"{wanted}{t[-1]:g} s and to see {_listed(trajectory.names)}."),
        Section(ANSWER, f"{len(t)} samples of each were computed.", (_ends(trajectory),)),
    )
    made = Page(f"Simulation: {trajectory.model}", tuple(shown))
    return with_reproduction(made, "simulate", None, first=first, files=(Path(source),))


_PARTS = (
    ("Trajectories", "Drag to zoom into a part, double-click to see all again."),
    (
        "Sensitivities",
        "How the outputs change with each parameter: a curve is the change for a relative change "
        "of the parameter, in the unit of the output.",
    ),
)
MOST_NAMED = 12


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
