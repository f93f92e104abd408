"""Study file: a study read from TOML, with everything that is wrong with the file told at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from estimica.base.code.consent import admit_study, has_code_guard
from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import EstimicaError, StructureError, StudyError
from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml
from estimica.base.problems import Problem, raise_all
from estimica.base.suggest import did_you_mean_file
from estimica.compiled.model.interface import Model
from estimica.data.table import Data
from estimica.structure.causality.redefinition import BackCausality
from estimica.study.case import Case
from estimica.study.fields.messages import ValidationMessage, validation_messages
from estimica.study.file.named_code import code_in, code_of
from estimica.study.formulas import unreadable_formulas
from estimica.study.petab.files import is_petab
from estimica.study.study import Study, duplicate_names
from estimica.study.tables.study_file import ModelTable, StaticTable, StudyFile

_FILE: TypeAdapter[StudyFile] = TypeAdapter(StudyFile)
_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")
_TOGETHER = "cells together with the tables of the cases before"


def read_study(
    path: str | PathLike[str], *, asked: Mapping[str, Mapping[str, Any]] | None = None
) -> Study:
    """The study of a TOML file; paths in it are relative to the file.

    Every problem of the file is told in one error. `asked` are entries of tables that come before
    those of the file.
    """
    found = examine_file(path, asked)
    raise_all(found.problems)
    assert found.study is not None
    return found.study


def examine_tables(tables: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the tables of a study alone, before any model or data is read."""
    content, problems = _content(tables)
    return problems + duplicate_names(content.tune.values(), content.case, content.criterion)


@dataclass(frozen=True)
class ExaminedStudy:
    """What could be made of a study file, and what is wrong with it."""

    study: Study | None
    cases: tuple[Case, ...]
    problems: list[Problem]


def examine_file(
    path: str | PathLike[str], asked: Mapping[str, Mapping[str, Any]] | None = None
) -> ExaminedStudy:
    """Like `read_study`, with the problems as values and what is left without them."""
    path = Path(path)
    if is_petab(path):
        return _examine_petab(path, asked)
    try:
        tables = _tables(path)
    except StudyError as error:
        return ExaminedStudy(None, (), [Problem(error.code, "", error.message)])
    for name, entries in (asked or {}).items():
        written = tables.get(name, {})
        tables[name] = {**written, **entries} if isinstance(written, dict) else written
    code = code_in(tables, path.parent)
    if has_code_guard():
        admit_study(path, tables, code_of(tables, path.parent, code))
    content, problems = _content(tables)
    cases, unread = _with_data(content.case, path.parent)
    tuners = tuple(content.tune.values())
    problems += unread + duplicate_names(tuners, cases, content.criterion)
    cases = tuple({c.name: c for c in reversed(cases)}.values())[::-1]
    model = None
    try:
        model = _model(content, tables, cases, path.parent, code)
    except StructureError as error:
        if len(content.case) == len(_listed(tables, "case")):  # else inputs are not known
            advice = _to_compute(content) if error.code == "E204" else ""
            problems.append(Problem(error.code, _place(content), error.message, advice))
    except EstimicaError as error:
        problems.append(Problem(error.code, _place(content), error.message))
    if model is not None:
        wrong = unreadable_formulas(model, content.outputs, cases)
        problems += wrong
        model = None if wrong else model
    if model is None:
        return ExaminedStudy(None, cases, problems)
    study = Study(
        model,
        tuners,
        cases,
        estimation=content.estimate,
        solver=content.solver,
        path=path,
        tables=tables,
        criteria={c.name: c for c in content.criterion}.values(),
        indicators=content.indicator,
        code=code,
        outputs=content.outputs,
    )
    return ExaminedStudy(study, cases, problems)


def _examine_petab(path: Path, asked: Mapping[str, Mapping[str, Any]] | None) -> ExaminedStudy:
    """A PEtab problem: its tables become those of a study, and its model the study's."""
    from estimica.study.petab.convert import model_of, open_problem

    try:
        opened = open_problem(path)
        tables = dict(opened.tables)
        for name, entries in (asked or {}).items():
            tables[name] = {**tables.get(name, {}), **entries}
        content, problems = _content(tables)
        cases = tuple(replace(c, data=opened.data[c.name]) for c in content.case)
        tuners = tuple(content.tune.values())
        problems += duplicate_names(tuners, cases)
        study = Study(
            model_of(opened.flat),
            tuners,
            cases,
            estimation=content.estimate,
            solver=content.solver,
            path=path,
            tables=tables,
            notes=opened.notes,
        )
    except EstimicaError as error:
        return ExaminedStudy(None, (), [Problem(error.code, "", error.message)])
    return ExaminedStudy(study, cases, problems)


def _place(content: StudyFile) -> str:
    return "[static]" if content.static else "[model]" if content.model else ""


def _listed(tables: Mapping[str, Any], name: str) -> list[Any]:
    found = tables.get(name, [])
    return found if isinstance(found, list) else []


def _to_compute(content: StudyFile) -> str:
    """A study without tuners may mean to calculate backwards."""
    if content.tune or content.backcalculate.compute:
        return ""
    return 'to compute a parameter or variable from them, write [backcalculate] and compute = "…"'


def _tables(path: Path) -> dict[str, Any]:
    try:
        text = read_text(path, "utf-8-sig", limit=TOML_LIMIT)
    except FileNotFoundError:
        hint = did_you_mean_file(path)
        raise StudyError("Q003", f"there is no file '{path}'{hint}") from None
    except UnicodeDecodeError:
        raise StudyError("Q003", f"'{path}' is not text in UTF-8; is it a study file?") from None
    except OSError as error:
        raise StudyError("Q003", f"cannot read '{path}': {error.strerror}") from None
    try:
        tables = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError("Q004", f"{path.name}, {_located(str(error))}") from None
    if any("\0" in text for text in _texts(tables)):
        raise StudyError("Q004", f"{path.name}: a text holds NUL, which no name and no path has")
    return tables


def _texts(value: object) -> Iterator[str]:
    """Every text of the tables, and every key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _located(message: str) -> str:
    found = _AT.search(message)
    if not found:
        return message
    return f"line {found[1]}, column {found[2]}: {_AT.sub('', message)}"


# --- from tables to values -----------------------------------------------------------------------


def _content(tables: Mapping[str, Any]) -> tuple[StudyFile, list[Problem]]:
    """The file as values; what is wrong is taken out, so that the rest can be looked at."""
    rest, problems = _without_odd_data(tables)
    for _ in range(3):  # what is taken out may leave a second complaint, as a dataclass its own
        try:
            return _FILE.validate_python(rest), problems
        except ValidationError as error:
            order = list(tables)  # as the user wrote them
            found = validation_messages(error, StudyFile)
            found.sort(key=lambda c: order.index(str(c.place[0])) if c.place else -1)
            problems += [_problem(c, rest, tables) for c in found]
            rest = _pruned(rest, error)
        except EstimicaError as error:
            problems.append(Problem(error.code, "", error.message))
            break
    return StudyFile(), problems


def _without_odd_data(tables: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Cases whose data is not a path; in a program it may be a table, in a file it may not."""
    cases = tables.get("case")
    if not isinstance(cases, list):
        return dict(tables), []
    odd = [
        k
        for k, case in enumerate(cases)
        if isinstance(case, dict) and not isinstance(case.get("data", ""), str)
    ]
    why = "data: write the path of a file, in quotes"
    told = [Problem("C001", _case(tables, k), why, place=("case", k, "data")) for k in odd]
    kept = [case for k, case in enumerate(cases) if k not in odd]
    return {**tables, "case": kept}, told


def _problem(
    complaint: ValidationMessage, tables: Mapping[str, Any], whole: Mapping[str, Any]
) -> Problem:
    """A complaint about `tables`, which are what is left of the whole file."""
    place = complaint.place
    if len(place) >= 2 and place[0] == "tune":
        where, code, depth = f"[tune] {place[1]}", "T001", 2
    elif len(place) >= 2 and place[0] == "case":
        where, code, depth = _case(tables, int(place[1])), "C001", 2
    elif place:
        where, code, depth = f"[{place[0]}]", "Q002", 1
    else:
        where, code, depth = "", "Q002", 0
    inner = ValidationMessage(place[depth:], complaint.message)
    if depth == 2 and place[0] == "case":
        case = tables["case"][int(place[1])]
        place = ("case", next(k for k, c in enumerate(whole["case"]) if c is case), *place[2:])
    return Problem(complaint.code or code, where, inner.text, place=place)


def _case(tables: Mapping[str, Any], k: int) -> str:
    case = tables["case"][k]
    name = case.get("name") if isinstance(case, dict) else None
    return f"case '{name}'" if isinstance(name, str) and name else f"[[case]] {k + 1}"


def _pruned(tables: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """The tables without the entries that are wrong: a tuner, a case, or a whole table."""
    rest = dict(tables)
    places = {e["loc"][:2] for e in error.errors(include_url=False)}
    for place in places:
        if len(place) < 2 or place[0] not in ("tune", "case"):
            rest.pop(str(place[0]), None)
    if "tune" in rest:
        rest["tune"] = {n: t for n, t in rest["tune"].items() if ("tune", n) not in places}
    if "case" in rest:
        rest["case"] = [c for k, c in enumerate(rest["case"]) if ("case", k) not in places]
    return rest


# --- data and model ------------------------------------------------------------------------------


def _with_data(cases: Sequence[Case], folder: Path) -> tuple[tuple[Case, ...], list[Problem]]:
    """The cases with their tables; a file that several use is read once."""
    from estimica.data.readers import read_data
    from estimica.data.requirements import require_total_cells

    tables: dict[tuple[str, str | None], Data | EstimicaError] = {}
    cells: list[int] = []
    found, problems = [], []
    for case in cases:
        if case.data is None:
            found.append(case)
            continue
        path = str(folder / str(case.data))
        key = (path, case.sheet)
        if case.active and key not in tables:
            try:
                require_total_cells(path, cells, _TOGETHER)
                data = read_data(path, sheet=case.sheet)
                cells.append(len(data) * len(data.columns))
                require_total_cells(path, cells, _TOGETHER)
                tables[key] = data
            except EstimicaError as error:
                tables[key] = error
        table = tables.get(key)
        if isinstance(table, EstimicaError):
            problems.append(Problem(table.code, f"case '{case.name}'", table.message))
        found.append(replace(case, data=table if isinstance(table, Data) else path))
    return tuple(found), problems


def _model(
    content: StudyFile,
    tables: Mapping[str, Any],
    cases: Sequence[Case],
    folder: Path,
    code: Mapping[str, TrustedCode],
) -> Model | None:
    if content.static is not None and content.model is None:
        backwards = bool(content.backcalculate.compute) and not content.tune
        return _static_model(content.static, cases, tunable=not backwards)
    if content.model is not None:
        inputs = {c.name: tuple(c.inputs) for c in cases if c.active}
        model = _loaded(content.model, folder, _causality(content), inputs, code)
        static = content.static or _of_function(model)
        return model if static is None else _points(model, static)
    formulas = {c.name: c.of for c in content.criterion if c.kind == "value"}
    if formulas and "model" not in tables and "static" not in tables:
        from estimica.simulate.formula import formula_model

        return formula_model(formulas, ())
    unread = "criterion" in tables and not content.criterion  # told already; they may be formulas
    if "model" not in tables and "static" not in tables and not unread:
        raise StudyError("Q006", 'there is no [model]; write [model] and source = "Model.mo"')
    return None


def _of_function(model: Model) -> StaticTable | None:
    """A Modelica function has no time: its study is one of points without saying so."""
    from estimica.simulate.modelica.model import ModelicaModel

    is_function = isinstance(model, ModelicaModel) and model.original.of_function
    return StaticTable() if is_function else None


def _points(model: Model, static: StaticTable) -> Model:
    """The model at operating points."""
    from estimica.simulate.modelica.model import ModelicaModel

    if static.expression is not None:
        raise StudyError("Q005", "there is a [model] and an expression too; leave out one of them")
    if not isinstance(model, ModelicaModel):
        raise StudyError(
            "Q005", f"'{model.name}' has no operating points; they need a Modelica class"
        )
    return model.at_points(
        static.mode, tolerance=static.tolerance, max_time=static.max_time, guess=static.guess
    )


def _static_model(static: StaticTable, cases: Sequence[Case], *, tunable: bool) -> Model:
    from estimica.simulate.formula import formula_model

    if static.mode != "static":
        raise StudyError(
            "Q006",
            f"mode '{static.mode}' needs a model; write [model] and source = \"Model.mo\"",
        )
    if static.guess:
        raise StudyError("Q006", "guess is for the equations of a [model]; leave it out")
    if static.expression is None:
        raise StudyError(
            "Q006", 'expression is missing; write expression = "a + b*x", or a [model]'
        )
    expression = static.expression
    measured = list(dict.fromkeys(n for c in cases for n in c.outputs))
    if isinstance(expression, str):
        if len(measured) > 1:
            named = ", ".join(f'{n} = "…"' for n in measured)
            raise StudyError(
                "Q007",
                f"one expression, but the cases have {len(measured)} outputs; "
                f"write expression = {{ {named} }}",
            )
        expression = {measured[0] if measured else "y": expression}
    inputs = list(dict.fromkeys(n for c in cases for n in c.inputs))
    return formula_model(expression, inputs=inputs, tunable=tunable)


def _causality(content: StudyFile) -> BackCausality | None:
    """What is given and computed, where a study has no tuners and only calculates backwards."""
    back = content.backcalculate
    if content.tune or not back.compute or not content.case:
        return None
    return BackCausality(tuple(content.case[0].inputs), back.compute, back.leave_out)


def _loaded(
    table: ModelTable,
    folder: Path,
    causality: BackCausality | None,
    inputs: Mapping[str, Sequence[str]],
    code: Mapping[str, TrustedCode],
) -> Model:
    from estimica.simulate.load import ModelSource, load_source

    named = ModelSource(
        table.source,
        table.class_,
        folder=folder,
        fix=table.fix,
        libraries=[folder / library for library in table.libraries],
        frontend=table.frontend,
        interface=table.interface,
        communication_step=table.communication_step,
        code=code.get(table.source),
    )
    _require_apt(table, named.kind)
    return load_source(named, causality=causality, inputs=inputs)


_KINDS = {
    "fmu": "an FMU",
    "code": "a Python function",
    "transfer function": "a transfer function",
}


def _require_apt(table: ModelTable, kind: str) -> None:
    """Whether all that the table says is for a model of its kind."""
    if kind != "fmu":
        for key in ("interface", "communication_step"):
            if getattr(table, key) is not None:
                raise StudyError(
                    "Q005", f"source '{table.source}': {key} is for FMUs only; leave that out"
                )
    if kind in _KINDS:
        _require_no_class(table, _KINDS[kind])
    if kind == "fmu" and table.frontend != "rumoca":
        raise StudyError("Q005", f"source '{table.source}': an FMU has no frontend; leave that out")


def _require_no_class(table: ModelTable, kind: str) -> None:
    if table.class_ is not None or table.libraries:
        what = "class" if table.class_ is not None else "libraries"
        raise StudyError("Q005", f"source '{table.source}': {kind} has no {what}; leave that out")
