"""`estimica inspect`: the parameters and variables of a model as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.tree import Tree

from estimica.apps.cli.arguments import (
    Value,
    as_modelica,
    load,
    load_transfer_function,
    values,
)
from estimica.apps.cli.console import print_json, reported, stdout
from estimica.apps.cli.options import AsJson, ClassName, Fix, Libraries, SampleTime, Source
from estimica.base.errors import StructureError
from estimica.base.quantities import COLUMNS
from estimica.report.text import printed

if TYPE_CHECKING:
    import pandas as pd

    from estimica.compiled.model.interface import Model
    from estimica.simulate.linear.model import LinearModel

TABLES = ("parameters", "inputs", "outputs", "states", "variables")
FOLDED = 6  # an array with more elements than this takes one line; chosen: a 2×3 matrix is shown
#: imaginary parts, relative to the pole, that are rounding: m-fold roots are exact to the
#: m-th root of 1e-16, triple ones to 5e-6
ROUNDING = 1e-5

Row = tuple[str, dict[str, object]]


def inspect(
    source: Source,
    class_: ClassName = None,
    fix: Fix = None,
    library: Libraries = None,
    sample_time: SampleTime = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every element of long arrays.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the parameters and variables of a model."""
    with reported("inspect", as_json):
        given = values("--set", fix or [])
        model = _loaded(source, class_, given, library or [], sample_time)
        if as_json:
            print_json(_as_json(model))
        else:
            stdout().print(_tree(model, everything))


def _loaded(
    source: str,
    class_: str | None,
    given: dict[str, Value],
    libraries: Sequence[Path],
    sample_time: float | None,
) -> Model:
    """The model; an open component with inputs that will do."""
    from estimica.simulate.load import ModelSource, load_source
    from estimica.simulate.modelica.component import load_component

    if ModelSource(source).kind == "transfer function":
        numbers = load_transfer_function(source, given, sample_time)[1]
        return load_source(ModelSource(source, fix=numbers, sample_time=sample_time))
    source, class_, libraries = as_modelica(source, class_, libraries)
    try:
        return load(source, class_, given, libraries)[0]
    except StructureError:
        return load_component(source, class_, fix=given, libraries=libraries)


def _as_json(model: Model) -> dict[str, object]:
    plain: dict[str, object] = {
        "command": "inspect",
        "outcome": {"status": "done", "message": ""},
        "model": model.name,
        "description": model.description,
        "notes": _notes(model),
        "libraries": list(model.libraries),
        "component": _component_json(model),
    }
    for table in TABLES:
        plain[table] = dict(_rows(getattr(model, table)))
    return plain


def _tree(model: Model, everything: bool) -> Tree:
    about = f"  [dim]{escape(model.description)}[/dim]" if model.description else ""
    tree = Tree(f"[bold]{escape(model.name)}[/bold]{about}")
    shown: set[str] = set()
    for title in TABLES:
        rows = _rows(getattr(model, title))
        if title == "variables":  # the rest: the others have been listed under what they are
            rows = [row for row in rows if row[0] not in shown]
        shown |= {name for name, _ in rows}
        if rows:
            branch = tree.add(f"[bold]{title}[/bold] [dim]({len(rows)})[/dim]")
            _grow(branch, rows if everything else list(_folded(rows)))
    _show_component(tree, model)
    for library in model.libraries:
        tree.add(f"[bold]library[/bold] {escape(library)}")
    for note in _notes(model):
        tree.add(f"[yellow]note[/yellow] {escape(note)}")
    return tree


def _notes(model: Model) -> list[str]:
    """What was rewritten or assumed on the way; the poles of a transfer function."""
    from estimica.simulate.linear.model import LinearModel

    if isinstance(model, LinearModel):
        return _poles(model)
    return list(getattr(model, "notes", ()))


def _poles(model: LinearModel) -> list[str]:
    """Where the poles of a transfer function are, and whether it is stable; none without values."""
    if any(v is None for v in model.parameters["value"]):
        return ["its parameters have no values; give them with --set to see its poles"]
    poles = model.poles()
    if not len(poles):
        return []
    discrete = model.sample_time is not None
    stable = bool((abs(poles) < 1).all() if discrete else (poles.real < 0).all())
    listed = ", ".join(_pole(p) for p in poles if p.imag >= 0 or abs(p.imag) <= ROUNDING * abs(p))
    return [f"poles in {'z' if discrete else 's'}: {listed} ({'' if stable else 'not '}stable)"]


def _pole(p: complex) -> str:
    """A real pole, or a pair."""
    real = abs(p.imag) <= ROUNDING * abs(p)
    return printed(p.real) if real else f"{printed(p.real)} ± {printed(p.imag)}j"


def _component_json(model: Model) -> dict[str, object]:
    from estimica.simulate.modelica.model import ModelicaModel

    if not isinstance(model, ModelicaModel):
        return {}
    choice = model.choose_inputs()
    return {
        "inputs_needed": choice.needed,
        "open_connectors": list(choice.connectors),
        "possible": [list(names) for names in choice.proposals],
        "chosen": list(model.causality.inputs),
    }


def _show_component(tree: Tree, model: Model) -> None:
    """What the class needs when it is taken alone, its connectors open."""
    from estimica.simulate.modelica.model import ModelicaModel

    if not isinstance(model, ModelicaModel):
        return
    choice = model.choose_inputs()
    if not choice.proposals:
        return
    plural = "variable" if choice.needed == 1 else "variables"
    branch = tree.add(
        f"[bold]as a component[/bold] [dim](open: {escape(', '.join(choice.connectors))})[/dim] "
        f"choose {choice.needed} {plural} as inputs, for instance"
    )
    for names in choice.proposals:
        shown = "  [dim]as it is shown here[/dim]" if names == model.causality.inputs else ""
        branch.add(f"{escape(', '.join(names))}{shown}")


def _rows(table: pd.DataFrame) -> list[Row]:
    return [
        (str(name), dict(zip(COLUMNS, row, strict=True)))
        for name, row in zip(table.index, table[list(COLUMNS)].itertuples(index=False), strict=True)
    ]


def _grow(branch: Tree, rows: Iterable[Row]) -> None:
    """Hang each quantity under the component it belongs to."""
    components: dict[tuple[str, ...], Tree] = {(): branch}
    for name, quantity in rows:
        *path, last = _parts(name)
        for depth in range(1, len(path) + 1):
            key = tuple(path[:depth])
            if key not in components:
                components[key] = components[key[:-1]].add(f"[cyan]{escape(key[-1])}[/cyan]")
        components[tuple(path)].add(_line(last, quantity))


def _line(name: str, q: dict[str, object]) -> str:
    text = escape(name)
    unit = "" if q["unit"] == "1" else str(q["unit"])
    if q["value"] is not None:
        text += f" = {escape(printed(q['value']))}"
        text += f" [green]{escape(unit)}[/green]" if unit else ""
    elif unit:
        text += f" [green]({escape(unit)})[/green]"
    text += _bounds(q["min"], q["max"])
    if q["description"]:
        text += f"  [dim]{escape(str(q['description']))}[/dim]"
    if q["place"]:
        text += f"  [dim blue]{escape(str(q['place']))}[/dim blue]"
    if q["why_not"]:
        text += f"  [yellow]not tunable: {escape(str(q['why_not']))}[/yellow]"
    return text


def _bounds(low: object, high: object) -> str:
    below, above = low == float("-inf"), high == float("inf")
    if below and above:
        return ""
    if above:
        return f" ≥ {printed(low)}"
    return f" ≤ {printed(high)}" if below else f" in {printed(low)} … {printed(high)}"


def _parts(name: str) -> list[str]:
    """`a.b[2].'c.d'` in its components; quoted names and `der(a.b)` keep their dots."""
    return re.findall(r"(?:'(?:[^'\\]|\\.)*'|\[[^\]]*\]|\([^)]*\)|[^.'\[(])+", name) or [name]


def _folded(rows: list[Row]) -> Iterable[Row]:
    """Rows, with the elements of a long array as one."""
    arrays: dict[str, list[Row]] = {}
    for row in rows:
        arrays.setdefault(re.sub(r"\[[\d, ]*\]$", "", row[0]), []).append(row)
    for base, elements in arrays.items():
        if len(elements) <= FOLDED:
            yield from elements
        else:
            first, last = (name.removeprefix(base) for name, _ in (elements[0], elements[-1]))
            yield f"{base}{first} … {last}", elements[0][1] | {"value": _span(elements)}


def _span(elements: list[Row]) -> str | None:
    numbers = [q["value"] for _, q in elements if isinstance(q["value"], (int, float))]
    if not numbers:
        return None
    low, high = printed(min(numbers)), printed(max(numbers))
    return low if low == high else f"{low} … {high}"
