"""A trajectory as the commands hand it out: as JSON, as curves, as sections of a page."""

from __future__ import annotations

from dataclasses import replace

from estimica.base.show import Curves, Section
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


def sections(trajectory: Trajectory) -> list[Section]:
    """What a page about a simulation says."""
    headings = ("Trajectories", "Sensitivities")
    return [
        Section(heading, shown=(replace(curves, title=""),))
        for heading, curves in zip(headings, curves_of(trajectory), strict=False)
    ]
