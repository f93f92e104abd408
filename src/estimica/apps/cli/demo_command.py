"""`estimica demo`: a drum boiler, simulated with its sensitivities; a table and a page."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from estimica.apps.cli.console import print_json, print_text, reported, say
from estimica.apps.cli.options import AsJson
from estimica.apps.cli.results import as_object, sections
from estimica.base.show import Curve, Curves, Table, text, trajectories
from estimica.report.document import Section, write_page

if TYPE_CHECKING:
    from estimica.simulate.modelica_model import ModelicaModel
    from estimica.simulate.trajectory import Sensitivities

TUNERS = ("T_D", "T_R", "A4", "w_E", "w_P", "x10", "x20")
OUTPUTS = ("E", "P")
SAMPLES = 501
DURATION = 1000.0  # s
STEPS = 20  # changes of each input


def demo(
    report: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
    seed: Annotated[int, typer.Option(help="Seed of the steps in valve and fuel.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Simulate a drum boiler with exact sensitivities and write a page with the curves."""
    with reported("demo", as_json):
        say("Loading the drum boiler ...")
        model = load()
        inputs = steps(seed)
        model.sensitivities(TIMES, inputs, wrt=TUNERS, outputs=OUTPUTS)
        begin = perf_counter()
        result = model.sensitivities(TIMES, inputs, wrt=TUNERS, outputs=OUTPUTS)
        seconds = perf_counter() - begin
        table = influence(model, result)
        page = write_page(report, "Drum boiler", _sections(result, inputs, table), _lead(seconds))
        if as_json:
            print_json(as_object("demo", result) | {"report": str(page)})
        else:
            print_text(text(table))
            print_text(f"\nThe curves are in {page}: open it in a browser.")


TIMES = np.linspace(0.0, DURATION, SAMPLES)

Steps = dict[str, tuple[np.ndarray, np.ndarray]]


def load() -> ModelicaModel:
    """The drum boiler that comes with the package."""
    from estimica.simulate.modelica_model import load_model

    with as_file(files("estimica.apps.cli").joinpath("demo", "DrumBoiler.mo")) as path:
        return load_model(path)


def steps(seed: int) -> Steps:
    """Valve position and fuel flow that step to random levels at regular times."""
    random = np.random.default_rng(seed)
    time = np.linspace(0.0, DURATION, STEPS, endpoint=False)
    return {
        "uc": (time, random.uniform(0.5, 0.9, STEPS)),
        "fc": (time, random.uniform(15.0, 35.0, STEPS)),
    }


def influence(model: ModelicaModel, result: Sensitivities) -> Table:
    """How far each output moves, at most, when a parameter changes by one percent."""
    parameters = model.parameters
    rows = []
    for name in result.wrt:
        value = float(parameters.value[name])
        moved = [
            _short(np.abs(0.01 * value * result.derivative(output, name)).max())
            for output in result.names
        ]
        rows.append((name, value, parameters.unit[name], *moved, parameters.description[name]))
    units = [result.units.get(output, "") for output in result.names]
    moves = [f"{o} moves by [{u}]" for o, u in zip(result.names, units, strict=True)]
    return Table(
        ("parameter", "value", "unit", *moves, "description"),
        tuple(rows),
        title="Drum boiler: what one percent of each parameter does to the outputs",
    )


def _sections(result: Sensitivities, inputs: Steps, table: Table) -> list[Section]:
    stepped = [
        Curve("uc", *_to_the_end(inputs["uc"]), "1", "Position of the control valve", stepped=True),
        Curve("fc", *_to_the_end(inputs["fc"]), "kg/s", "Fuel flow", stepped=True),
    ]
    shown: Curves = trajectories(stepped)
    return [
        Section("Inputs", "Valve and fuel step to random levels.", (shown,)),
        *sections(result),
        Section("Influence of the parameters", shown=(table,)),
    ]


def _to_the_end(signal: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    time, value = signal
    return np.append(time, DURATION), np.append(value, value[-1])


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _lead(seconds: float) -> str:
    return (
        f"Two outputs and their exact derivatives with respect to {len(TUNERS)} parameters at "
        f"{SAMPLES} times, computed in {1000 * seconds:.1f} ms."
    )
