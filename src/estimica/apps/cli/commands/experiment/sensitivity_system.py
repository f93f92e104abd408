"""`estimica sensitivity-system`: a model and its sensitivity equations as one Modelica class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli import arguments
from estimica.apps.cli.console import reported
from estimica.apps.cli.delivery import Delivery, deliver, requested_outputs, require_outputs
from estimica.apps.cli.options import AsJson, ClassName, Fix, Libraries, Source
from estimica.base.errors import ModelError
from estimica.base.files.write import write_text
from estimica.base.view import Table, text

if TYPE_CHECKING:
    from estimica.structure.sensitivity_system import SensitivitySystem


def sensitivity_system(
    source: Source,
    tuners: Annotated[
        list[str],
        typer.Option("--tuners", "--tuner", help="Parameters to differentiate by: A,B,C."),
    ],
    class_: ClassName = None,
    name: Annotated[str | None, typer.Option(help="Name of the class that is written.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the class to this .mo file, not to the terminal.")
    ] = None,
    fix: Fix = None,
    library: Libraries = None,
    as_json: AsJson = False,
) -> None:
    """Write a model together with its sensitivity equations as a Modelica class."""
    with reported("sensitivity-system", as_json):
        from estimica.simulate.modelica.model import ModelicaModel

        require_outputs(out)
        given = arguments.values("--set", fix or [])
        model, parameters = arguments.load(source, class_, given, library or [])
        if not isinstance(model, ModelicaModel):
            raise ModelError(
                "M057",
                f"'{source}' shows no equations that could be differentiated; give a Modelica "
                "model, or use estimica simulate --sensitivity NAME",
            )
        system = model.sensitivity_system(_split(tuners), name, values=parameters)
    delivery = Delivery(
        result=lambda: as_object(model.name, system),
        texts=lambda: [text(table(system))] if out else [system.text.rstrip("\n")],
        outputs=requested_outputs((out, lambda path: write_text(path, system.text))),
    )
    deliver(delivery, as_json=as_json, quiet=False)


def _split(tuners: list[str]) -> list[str]:
    """Names from `A,B` and from options that are repeated; a comma within brackets stays."""
    names: list[str] = []
    for given in tuners:
        depth, start = 0, 0
        for k, letter in enumerate(given):
            depth += (letter == "[") - (letter == "]")
            if letter == "," and depth == 0:
                names.append(given[start:k])
                start = k + 1
        names.append(given[start:])
    return list(dict.fromkeys(n.strip() for n in names if n.strip()))


def table(system: SensitivitySystem) -> Table:
    """Which variable of the class is which derivative."""
    rows = tuple((f"d({v})/d({p})", new) for (v, p), new in system.sensitivities.items())
    title = f"{system.name}: {len(rows)} sensitivities"
    return Table(("derivative", "variable of the class"), rows, title)


def as_object(model: str, system: SensitivitySystem) -> dict[str, object]:
    """The JSON object: the text, and where everything stands in it."""
    places: dict[str, dict[str, str]] = {}
    for (variable, tuner), new in system.sensitivities.items():
        places.setdefault(variable, {})[tuner] = new
    return {
        "command": "sensitivity-system",
        "outcome": {"status": "done", "message": ""},
        "model": model,
        "class": system.name,
        "text": system.text,
        "names": system.names,
        "sensitivities": places,
    }
