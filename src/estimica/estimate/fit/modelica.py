"""The fitted model as Modelica: a class that extends the original with the estimates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from estimica.base.errors import FitError
from estimica.base.files.write import write_text
from estimica.base.quantities import Quantity
from estimica.base.text import rounded
from estimica.compiled.model.interface import Model
from estimica.compiled.tuning import find_constant
from estimica.estimate.fit.result import Fit
from estimica.estimate.objective.predictor import split
from estimica.flat.modelica_text import identifier, write_expression
from estimica.simulate.formula import FormulaModel
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.modelica.operating_points import PointModel
from estimica.source.fixed_values import FixedValue, literal
from estimica.source.formula import parse_formula
from estimica.study.case import Case
from estimica.study.record.samples import Record

Tree: TypeAlias = "dict[str, Tree | str]"
_SUBSCRIPT = re.compile(r"\[([^\]]*)\]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def write_modelica(fit: Fit, path: str | PathLike[str], name: str | None = None) -> Path:
    """Write the class `name`, by default `Fitted` and the name of the model."""
    model = _modelica(fit)
    if name is not None:
        require_class_name(name)
    if not math.isfinite(fit.cost):
        raise FitError("F034", f"there is no estimate to write: {fit.outcome.message}")
    name = name or _class_name(model)
    if isinstance(model, FormulaModel):
        text = _formula_text(fit, model, name)
    elif isinstance(model, ModelicaModel):
        text = _extending_text(fit, model, name)
    else:
        from estimica.simulate.fmu.model import FmuModel

        advice = "; write_ssv writes its parameters" if isinstance(model, FmuModel) else ""
        raise FitError(
            "F035",
            f"model '{model.name}' has no Modelica source that can be extended{advice}",
        )
    return write_text(path, text)


def _modelica(fit: Fit) -> Model:
    """The model of a fit; that of operating points is the class itself."""
    model = fit.study.bare
    return model.model if isinstance(model, PointModel) else model


def _with_outputs(fit: Fit) -> Model:
    """The same with the outputs that are formulas."""
    model = fit.study.model
    return model.model if isinstance(model, PointModel) else model


def _class_name(model: Model) -> str:
    last = re.sub(r"\W", "", model.name.rpartition(".")[2], flags=re.ASCII)
    return f"Fitted{last[:1].upper()}{last[1:]}"


# --- a class that extends ------------------------------------------------------------------------


def _extending_text(fit: Fit, model: ModelicaModel, name: str) -> str:
    values, starts = fitted_values(fit)
    own = {q.name for q in model.quantities()}
    inherited = {n: v for n, v in values.items() if n in own}
    tree: Tree = {}
    for path, value in _modifiers(fit, model, inherited, starts):
        _put(tree, path, value)
    lines = [*_header(fit), *_left_out(fit), *_replacing(model, starts)]
    word = "function" if model.original.of_function else "model"
    lines.append(f'{word} {name} "{model.name} with fitted values"')
    lines.append(f"  extends {model.name}{_whole_modification(model, tree)};")
    lines += _formula_lines(fit, {n: v for n, v in values.items() if n not in own})
    records = fit.setup.of_role("calibrate")
    timed = fit.study.model.has_time and not records[0].is_frequency
    if len(records) == 1 and timed:
        lines.append(f"  {_experiment(records[0])}")
    lines.append(f"end {name};")
    return "\n".join(lines) + "\n"


def _whole_modification(model: ModelicaModel, tree: Tree) -> str:
    """The values, after the modification with which the class was loaded."""
    asked, values = model.original.modification, _modification(tree, 2)
    if not asked or not values:
        return asked or values
    return f"{asked[:-1].rstrip()}, {values[1:].lstrip()}"


def extended(
    model: ModelicaModel,
    name: str,
    values: Mapping[str, float],
    about: str,
    comments: Sequence[str],
) -> str:
    """A class that extends the model with values of parameters, and what is said above it."""
    tree: Tree = {}
    whole: dict[str, float] = {
        q.name: float(q.value)
        for q in model.quantities()
        if q.role == "parameter" and isinstance(q.value, (int, float))
    } | dict(values)
    for path in dict.fromkeys(_base(n) for n in values):
        elements = {(path, _indices(n)): v for n, v in whole.items() if _base(n) == path}
        if path in values:
            text = literal(values[path], model.flat.by_name.get(path))
            _put(tree, tuple(path.split(".")), text)
        else:
            _put(tree, *_array(path, elements))
    return "\n".join(
        [
            *map(_comment, comments),
            f'model {name} "{model.name} with {about}"',
            f"  extends {model.name}{_whole_modification(model, tree)};",
            f"end {name};\n",
        ]
    )


def require_class_name(name: str) -> None:
    """Refuse what cannot be the name of a class."""
    if not _IDENTIFIER.match(name) or identifier(name) != name:
        raise FitError("F033", f"'{name}' cannot be the name of a Modelica class; use letters")


def fitted_values(fit: Fit) -> tuple[dict[str, FixedValue], dict[str, float]]:
    """Parameters, and start values of variables, of the fitted model.

    What differs from case to case is left out where several cases calibrate.
    """
    setup = fit.setup
    found, _ = setup.links.at(fit.values[: len(setup.tuners)])
    tuned = dict(zip(setup.links.parameters, map(float, found), strict=True))
    model = _modelica(fit)
    from estimica.simulate.fmu.model import FmuModel

    loaded = model.fixed if isinstance(model, (ModelicaModel, FmuModel)) else {}
    common, begun = split(_with_outputs(fit), {**tuned, **setup.held, **_common_fix(fit)})
    parameters = {**loaded, **common}
    only = _only_case(fit)
    if only is not None:
        own = zip(fit.unknowns.items, fit.values, strict=True)
        starts = ((u, v) for u, v in own if u.kind == "start" and u.case == only.case.name)
        begun |= {u.name: float(v) for u, v in starts}
    return parameters, begun


def _only_case(fit: Fit) -> Record | None:
    records = fit.setup.begun("calibrate")
    return records[0] if len(records) == 1 else None


def _common_fix(fit: Fit) -> dict[str, float]:
    """Values that all calibrating cases fix alike."""
    fixes = [_fixed(fit, r.case) for r in fit.setup.begun("calibrate")]
    return {n: v for n, v in fixes[0].items() if all(f.get(n) == v for f in fixes)}


def _fixed(fit: Fit, case: Case) -> dict[str, float]:
    """What a case fixes, expressions in tuners at their estimates."""
    links = fit.setup.links.of_case(case)
    found, _ = links.at(fit.values[: len(fit.setup.tuners)])
    values = dict(zip(links.parameters, map(float, found), strict=True))
    return {n: values[n] if isinstance(v, str) else v for n, v in case.fix.items()}


def _modifiers(
    fit: Fit, model: ModelicaModel, values: Mapping[str, FixedValue], starts: Mapping[str, float]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Paths of names and what stands there in Modelica."""
    arrays = dict.fromkeys(_base(n) for n in values if "[" in n)
    for name, value in values.items():
        if "[" not in name and name not in arrays:
            yield tuple(name.split(".")), literal(value, model.flat.by_name.get(name))
    for base in arrays:
        yield _array(base, _current(fit, model, base, values, starts))
    variables: dict[str, float] = {}
    for name, value in starts.items():
        constant = find_constant(model.equations, name)
        if not _replaces_an_equation(model, constant.name):
            variables[_state(constant.name)] = constant.sign * value
    for name, value in variables.items():
        if "[" not in name:
            yield (*name.split("."), "start"), repr(value)
            yield (*name.split("."), "fixed"), "true"
    for base in dict.fromkeys(_base(n) for n in variables if "[" in n):
        path, text = _array(base, _current(fit, model, base, values, starts))
        yield (*path, "start"), text
        yield (*path, "each fixed"), "true"


def _state(constant: str) -> str:
    return constant.removeprefix("start(").removesuffix(")")


def _replaces_an_equation(model: ModelicaModel, constant: str) -> bool:
    """Whether a start value stands in for an initial equation, which no modifier takes away."""
    system, known = model.system, model.flat.by_name
    begun = (*system.states, *system.memories)
    fixed = sum(n in known and known[n].fixed for n in begun)
    own = known.get(_state(constant))
    whole = len(system.initial_equations) + fixed >= len(begun)
    return bool(system.initial_equations) and whole and not (own is not None and own.fixed)


def _base(name: str) -> str:
    return _SUBSCRIPT.sub("", name)


def _indices(name: str) -> tuple[int, ...]:
    return tuple(int(k) for part in _SUBSCRIPT.findall(name) for k in part.split(","))


def _current(
    fit: Fit,
    model: ModelicaModel,
    base: str,
    values: Mapping[str, FixedValue],
    starts: Mapping[str, float],
) -> dict[tuple[str, tuple[int, ...]], float]:
    """All elements of an array at the fitted values, at the beginning of the first case."""
    elements = [q for q in model.quantities() if _base(q.name) == base]
    record = fit.setup.begun("calibrate")[0]
    loaded = model.fixed
    numbers = {n: float(v) for n, v in values.items() if n not in loaded and isinstance(v, float)}
    response = model.response(
        [record.begin],
        dict(record.inputs),
        numbers,
        dict(starts),
        outputs=[q.name for q in elements],
        begin=record.begin,
    )
    row = response.at().Y[0]
    return {
        (base, _indices(q.name)): _number(q, float(v)) for q, v in zip(elements, row, strict=True)
    }


def _number(quantity: Quantity, value: float) -> float:
    if math.isfinite(value) or not isinstance(quantity.value, (int, float)):
        return value
    return float(quantity.value)


def _array(
    base: str, elements: Mapping[tuple[str, tuple[int, ...]], float]
) -> tuple[tuple[str, ...], str]:
    """The modifier of a whole array, in nested braces."""
    path = tuple(base.split("."))
    indices = [k for _, k in elements]
    shape = tuple(max(k[d] for k in indices) for d in range(len(indices[0])))
    whole = np.full(shape, np.nan)
    for (_, k), value in elements.items():
        whole[tuple(i - 1 for i in k)] = value
    return path, _braces(whole)


def _braces(values: np.ndarray) -> str:
    if values.ndim == 0:
        return repr(float(values))
    return "{" + ", ".join(_braces(v) for v in values) + "}"


def _put(tree: Tree, path: tuple[str, ...], value: str) -> None:
    *outer, last = path
    for part in outer:
        inner = tree.setdefault(part, {})
        if isinstance(inner, str):  # a variable that has a value and attributes
            raise FitError("F036", f"'{part}' and a part of it both have a value")
        tree = inner
    tree[last] = value


def _modification(tree: Tree, depth: int) -> str:
    """Modifiers in brackets, at the outermost level one on each line."""
    parts = [
        f"{_spelt(name)} = {inner}"
        if isinstance(inner, str)
        else f"{_spelt(name)}{_modification(inner, 0)}"
        for name, inner in tree.items()
    ]
    if not parts:
        return ""
    if not depth:
        return f"({', '.join(parts)})"
    margin = " " * (depth + 2)
    return "(\n" + ",\n".join(margin + p for p in parts) + ")"


def _formula_lines(fit: Fit, values: Mapping[str, FixedValue]) -> Iterator[str]:
    """Outputs that are formulas, and their parameters; in cases that differ, those of the first."""
    formulas = {**fit.study.formulas, **fit.setup.of_role("calibrate")[0].case.expressions}
    parsed = {n: parse_formula(text) for n, text in formulas.items()}
    names = dict.fromkeys(n for f in parsed.values() for n in f.names)
    for name in names:
        if name in values:
            yield f"  parameter Real {_spelt(name)} = {values[name]!r};"
        elif name in fit.study.observed_parameters:
            yield f"  parameter Real {_spelt(name)};"
    for name, formula in parsed.items():
        # names stand in a formula as they do in Modelica: with dots, subscripts and quotes
        yield f"  output Real {_spelt(name)} = {write_expression(formula.expression, spell=str)};"


def _spelt(name: str) -> str:
    """A name as it stands in Modelica; quoted ones have their quotes already."""
    each, _, last = name.rpartition(" ")
    plain = last if last.startswith("'") else identifier(last)
    return f"{each} {plain}" if each else plain


def _experiment(record: Record) -> str:
    last = max(float(m.time[-1]) for m in record.outputs)
    return f"annotation(experiment(StartTime = {record.begin!r}, StopTime = {last!r}));"


# --- what is said above the class ----------------------------------------------------------------


def _header(fit: Fit) -> Iterator[str]:
    yield _comment(
        f"Fitted by estimica {version('estimica')} on {date.today()}: study '{fit.study.name}', "
        f"{fit.criterion} cost {fit.cost:.8g}, {fit.n_samples} samples, {fit.outcome.status}."
    )
    if isinstance(_modelica(fit), ModelicaModel):
        yield _comment(f"Load it together with {fit.study.model.name}{_source(fit)}.")
    for k, u in enumerate(fit.unknowns.items):
        error = float(fit.accuracy.stderr[k])
        told = f"std. error {rounded(error, error)}" if math.isfinite(error) else ""
        about = "; ".join(filter(None, (told, fit.remark(k))))
        value = f"{rounded(float(fit.values[k]), error)}"
        unit = f" {u.unit}" if u.unit not in ("", "1") else ""
        yield _comment(f"  {u.label} = {value}{unit} ({about})")


def _source(fit: Fit) -> str:
    table = fit.study.tables.get("model")
    if not isinstance(table, Mapping):
        return ""
    places = [str(table.get("source", "")), *map(str, table.get("libraries", ()))]
    return f" ({', '.join(p for p in places if p)})"


def _left_out(fit: Fit) -> Iterator[str]:
    """What a modifier cannot say."""
    several = _only_case(fit) is None
    if several and any(u.kind == "start" for u in fit.unknowns.items):
        yield _comment("The start values above belong to single cases and are left out below.")
    if several and any(set(r.case.fix) - set(_common_fix(fit)) for r in fit.setup.records):
        yield _comment("Values that differ from case to case are left out too.")
    if not several and len(fit.setup.of_role("calibrate")) > 1:
        yield _comment("Start values behind gaps of the data are left out below.")
    if any(r.case.staging for r in fit.setup.of_role("calibrate")):
        yield _comment("Steady starts and changes of cases are left out of the class.")
    if any(u.kind == "disturbance" for u in fit.unknowns.items):
        yield _comment("Disturbances are to be added to the outputs; the class is without them.")


def _replacing(model: ModelicaModel, starts: Mapping[str, float]) -> Iterator[str]:
    for name, value in starts.items():
        if _replaces_an_equation(model, find_constant(model.equations, name).name):
            yield _comment(
                f"The start value {name} = {value!r} stands in for an initial equation of "
                f"{model.name}, which no modifier takes away: it is left out below."
            )


def _comment(text: str) -> str:
    start = "//   " if text.startswith("  ") else "// "
    return start + " ".join(text.split())


# --- a formula -----------------------------------------------------------------------------------


def _formula_text(fit: Fit, model: FormulaModel, name: str) -> str:
    values, _ = fitted_values(fit)
    lines = [*_header(fit), *_left_out(fit)]
    lines.append(f'block {name} "A formula with fitted values"')
    for parameter in model.parameter_names:
        if parameter in values:
            lines.append(f"  parameter Real {identifier(parameter)} = {values[parameter]!r};")
        else:
            lines.append(f"  parameter Real {identifier(parameter)};")
    lines += [f"  input Real {identifier(n)};" for n in model.input_names]
    lines += [f"  output Real {identifier(n)};" for n in model.output_names()]
    lines += _formula_lines(fit, {n: values[n] for n in fit.study.observed_parameters & {*values}})
    lines.append("equation")
    for output, formula in model.formulas.items():
        lines.append(f"  {identifier(output)} = {write_expression(formula.expression)};")
    lines.append(f"end {name};")
    return "\n".join(lines) + "\n"
