"""Study file: a study read from TOML, with everything that is wrong with the file told at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from estimica.base.code.consent import admit_study, has_code_guard
from estimica.base.errors import DataError, EstimicaError, StructureError, StudyError
from estimica.base.files.read import read_text
from estimica.base.files.toml import TOML_LIMIT, load_toml
from estimica.base.presenters import STORED_VALUES, presenter
from estimica.base.problems import Problem, raise_all
from estimica.base.suggest import did_you_mean_file
from estimica.data.joining import is_continued, joined
from estimica.data.table import Data
from estimica.study.case import Case
from estimica.study.fields.messages import ValidationMessage, validation_messages
from estimica.study.file.model import model_of_tables
from estimica.study.file.several import STAR, CaseFiles, with_case_names
from estimica.study.file.trust import code_in, code_of
from estimica.study.formulas import unreadable_formulas
from estimica.study.petab.files import is_petab
from estimica.study.reading import Reading
from estimica.study.shared_columns import (
    NO_COLUMNS,
    columns_of_model,
    timed,
    without_problems,
)
from estimica.study.study import Study, duplicate_names
from estimica.study.tables.fit_file import FitFile

_AT = re.compile(r" \(at line (\d+), column (\d+)\)$")
_TOGETHER = "cells together with the tables of the cases before"
#: the code of what is left out and is no equation of the class
LEFT_OUT = "E206"
CONTINUED = "C112"  # files that continue each other, each a case of its own


def read_study(
    path: str | PathLike[str], *, asked: Mapping[str, Mapping[str, Any]] | None = None
) -> Study:
    """The study of a TOML file; paths in it are relative to the file.

    Every problem of the file is told in one error. `asked` are entries of tables that come before
    those of the file.
    """
    examined = examine_file(path, asked)
    raise_all(examined.problems)
    assert examined.study is not None
    return examined.study


def examine_tables(tables: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the tables of a study alone, before any model or data is read."""
    content, problems = _content(with_case_names(tables, CaseFiles(Path())))
    return problems + duplicate_names(content.tune.values(), content.case, content.criteria)


def reading_of(path: Path, data: object) -> Reading:
    """How a study file reads the data of a case; as by default where it does not say so rightly."""
    try:
        tables = _tables(path)
        cases = [c for c in _listed(tables, "case") if isinstance(c, dict)]
        own = next((c.get("reading") for c in cases if c.get("data") == data), None)
        return Reading(**(own or {})).over(Reading(**tables.get("reading", {})))
    except (EstimicaError, TypeError):
        return Reading()


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
    files = CaseFiles(path.parent)
    if has_code_guard():
        admit_study(path, tables, code_of(tables, path.parent, code))
        admit_study(path, files.in_tables(tables), ())  # what its patterns mean now is what is read
    content, problems = _content(with_case_names(tables, files))
    cases, unread = _with_data(timed(_as_read(content), content.columns), path.parent, files)
    tuners = tuple(content.tune.values())
    problems += unread + duplicate_names(tuners, cases, content.criteria)
    cases = tuple({c.name: c for c in reversed(cases)}.values())[::-1]
    model = None
    try:
        model = model_of_tables(content, tables, cases, path.parent, code)
    except StructureError as error:
        if len(content.case) == len(_listed(tables, "case")):  # else inputs are not known
            advice = _to_compute(content) if error.code == "E204" else ""
            advice = advice or _to_drive(content)
            problems.append(Problem(error.code, _place(content, error.code), error.message, advice))
    except EstimicaError as error:
        problems.append(Problem(error.code, _place(content), error.message))
    shared = NO_COLUMNS
    if model is not None:
        shared, unfit = columns_of_model(content.columns, model, content.outputs)
        problems += unfit + without_problems(_named(tables, "columns"), cases)
        cases = tuple(_leaving_out(c, shared.entries) for c in shared.into(cases))
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
        execute=content.execute,
        path=path,
        tables=tables,
        criteria={c.name: c for c in content.criteria}.values(),
        indicators=content.indicators,
        code=code,
        outputs=content.outputs,
        columns=shared,
        notes=[p.text for p in unread if p.code == CONTINUED],
        process_noise=content.process_noise,
        filter=content.filter,
    )
    if content.from_fit:
        study, wrong = _with_stored_values(study)
        problems += wrong
    return ExaminedStudy(study, cases, problems)


def _with_stored_values(study: Study) -> tuple[Study, list[Problem]]:
    """The study with the values of the run that `[from_fit]` names, and what is wrong with it."""
    try:
        carried = presenter(STORED_VALUES)(study)
    except EstimicaError as error:
        return study, [Problem(error.code, "[from_fit]", error.message, place=("from_fit",))]
    return (study if carried is None else carried.study), []


def _examine_petab(path: Path, asked: Mapping[str, Mapping[str, Any]] | None) -> ExaminedStudy:
    """A PEtab problem: its tables become those of a study, and its model the study's."""
    from estimica.study.petab.convert import model_of, open_problem

    try:
        opened = open_problem(path)
        tables = dict(opened.tables)
        for name, entries in (asked or {}).items():
            tables[name] = {**tables.get(name, {}), **entries}
        content, problems = _content(tables)
        # rows of one time are replicates there, by its definition
        measured = Reading(duplicates="replicates")
        cases = tuple(
            replace(c, data=opened.data[c.name], reading=c.reading or measured)
            for c in content.case
        )
        tuners = tuple(content.tune.values())
        problems += duplicate_names(tuners, cases)
        study = Study(
            model_of(opened.flat),
            tuners,
            cases,
            estimation=content.estimate,
            solver=content.solver,
            execute=content.execute,
            path=path,
            tables=tables,
            notes=opened.notes,
        )
    except EstimicaError as error:
        return ExaminedStudy(None, (), [Problem(error.code, "", error.message)])
    return ExaminedStudy(study, cases, problems)


def _place(content: FitFile, code: str = "") -> str:
    """The table that is wrong; equations are left out in that of the model."""
    of_model = content.model and (code == LEFT_OUT or not content.static)
    return "[model]" if of_model else "[static]" if content.static else ""


def _listed(tables: Mapping[str, Any], name: str) -> list[Any]:
    items = tables.get(name, [])
    return items if isinstance(items, list) else []


def _named(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    entries = tables.get(name, {})
    return entries if isinstance(entries, dict) else {}


def _to_compute(content: FitFile) -> str:
    """A study without tuners may mean to calculate backwards."""
    if content.tune or (content.backwards and content.backwards.compute):
        return ""
    return 'to compute a parameter or variable from them, write [backcalculate] and compute = "…"'


def _to_drive(content: FitFile) -> str:
    """A component that is open has no inputs that its class could tell."""
    if not content.columns or any(c.inputs for c in content.case):
        return ""
    return 'say what drives it, as { column = "…", role = "input" } in [columns]'


def _leaving_out(case: Case, known: Collection[str]) -> Case:
    """The case with only what it can leave out; the rest was told."""
    given = {*case.inputs, *case.outputs, *(["time"] if case.time else [])}
    kept = tuple(n for n in case.without if n in known and n not in given)
    return case if kept == case.without else replace(case, without=kept)


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
    position = _AT.search(message)
    if not position:
        return message
    return f"line {position[1]}, column {position[2]}: {_AT.sub('', message)}"


# --- from tables to values -----------------------------------------------------------------------


def _content(tables: Mapping[str, Any]) -> tuple[FitFile, list[Problem]]:
    """The file as values; what is wrong is taken out, so that the rest can be looked at."""
    rest, problems = _without_odd_data(tables)
    reader = _reader(frozenset(tables) <= {f.name for f in fields(FitFile)})
    for _ in range(3):  # what is taken out may leave a second complaint, as a dataclass its own
        try:
            return reader.validate_python(rest), problems
        except ValidationError as error:
            from estimica.study.tables.study_file import StudyFile

            order = list(tables)  # as the user wrote them
            messages = validation_messages(error, StudyFile)
            messages.sort(key=lambda c: order.index(str(c.place[0])) if c.place else -1)
            problems += [_problem(c, rest, tables) for c in messages]
            rest = _pruned(rest, error)
        except EstimicaError as error:
            problems.append(Problem(error.code, "", error.message))
            break
    return FitFile(), problems


@cache
def _reader(of_a_fit: bool) -> TypeAdapter[FitFile]:
    """What checks a file; tables of other commands take a while to make, and most have none."""
    if of_a_fit:
        return TypeAdapter(FitFile)
    from estimica.study.tables.study_file import StudyFile

    return TypeAdapter(StudyFile)


def _without_odd_data(tables: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Cases whose data is not a path; in a program it may be a table, in a file it may not."""
    cases = tables.get("case")
    if not isinstance(cases, list):
        return dict(tables), []
    odd = [
        k
        for k, case in enumerate(cases)
        if isinstance(case, dict) and not _is_data(case.get("data", ""))
    ]
    why = "data: write the path of a file, in quotes, or a list of them"
    problems = [Problem("C001", _case(tables, k), why, place=("case", k, "data")) for k in odd]
    kept = [_with_tuple(case) for k, case in enumerate(cases) if k not in odd]
    return {**tables, "case": kept}, problems


def _is_data(given: object) -> bool:
    """Whether it is a path, or a list of paths."""
    several = isinstance(given, list) and bool(given) and all(isinstance(f, str) for f in given)
    return several or isinstance(given, str)


def _with_tuple(case: object) -> object:
    """The case with a list of files as what it is in a program, where lists are numbers."""
    if isinstance(case, dict) and isinstance(case.get("data"), list):
        return {**case, "data": tuple(case["data"])}
    return case


def _problem(
    complaint: ValidationMessage, tables: Mapping[str, Any], whole: Mapping[str, Any]
) -> Problem:
    """A complaint about `tables`, which are what is left of the whole file."""
    place = complaint.place
    if len(place) >= 2 and place[0] == "tune":
        where, code, depth = f"[tune] {place[1]}", "T001", 2
    elif len(place) >= 2 and place[0] == "case":
        where, code, depth = _case(tables, int(place[1])), "C001", 2
    elif len(place) >= 2 and place[0] == "columns":
        where, code, depth = f"[columns] {place[1]}", "C001", 2
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
    """The tables without the entries that are wrong: of named ones those, else a whole table."""
    rest = dict(tables)
    places = {e["loc"][:2] for e in error.errors(include_url=False)}
    for place in places:
        if len(place) < 2 or place[0] not in ("tune", "columns", "case"):
            rest.pop(str(place[0]), None)
    for table in ("tune", "columns"):
        if table in rest:
            rest[table] = {n: t for n, t in rest[table].items() if (table, n) not in places}
    if "case" in rest:
        rest["case"] = [c for k, c in enumerate(rest["case"]) if ("case", k) not in places]
    return rest


# --- data ----------------------------------------------------------------------------------------


def _as_read(content: FitFile) -> tuple[Case, ...]:
    """The cases, each with what it and the whole study say of reading."""
    common = content.reading
    if common == Reading():
        return content.case
    return tuple(replace(c, reading=(c.reading or common).over(common)) for c in content.case)


def _with_data(
    cases: Sequence[Case], folder: Path, files: CaseFiles
) -> tuple[tuple[Case, ...], list[Problem]]:
    """The cases with their tables; a file that several use is read once."""
    tables = _Tables(folder)
    read, problems = [], []
    for written in cases:
        where = f"case '{written.name}'" if written.name != STAR else f"data '{written.data}'"
        try:
            meant = files.cases(written)
        except DataError as error:
            problems.append(Problem(error.code, where, error.message))
            meant = []
        for case in meant:
            try:
                read.append(replace(case, data=tables.of(case)))
            except EstimicaError as error:
                own = f"case '{case.name}'"
                problems.append(Problem(error.code, own, error.message.removeprefix(f"{own}: ")))
                read.append(replace(case, data=tables.path(case)))
        several = [c.data for c in read[-len(meant) :] if isinstance(c.data, Data)] if meant else []
        if len(several) == len(meant) > 1 and is_continued(several, written.time):
            message = f"its {len(several)} files continue each other, and each begins anew"
            advice = "write join = true to make one record of them"
            problems.append(Problem(CONTINUED, where, message, advice, warning=True))
    return tuple(read), problems


class _Tables:
    """Files that were read for the cases before, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[tuple[object, ...], Data | EstimicaError] = {}
        self._cells: list[int] = []

    def of(self, case: Case) -> Data | str | None:
        """The table of a case; its path where it is not used, none where there is none."""
        if case.data is None:
            return None
        if not case.active:
            return self.path(case)
        if not isinstance(case.data, tuple):
            return self._read(self.path(case), case)
        pieces = [self._read(str(self._folder / f), case) for f in case.data]
        return joined(pieces, case.time)

    def path(self, case: Case) -> str:
        """Where the data are, or the first of several files."""
        name = case.data[0] if isinstance(case.data, tuple) else case.data
        return str(self._folder / str(name))

    def _read(self, path: str, case: Case) -> Data:
        from estimica.data.readers import read_table
        from estimica.data.requirements import require_total_cells

        reading = (case.reading or Reading()).options(case.time)
        # without settings the name of the time changes nothing
        key = (path, case.sheet, *(() if case.reading is None else (reading,)))
        if key not in self._known:
            try:
                require_total_cells(path, self._cells, _TOGETHER)
                data = read_table(Path(path), case.sheet, reading)
                self._cells.append(len(data) * len(data.columns))
                require_total_cells(path, self._cells, _TOGETHER)
                self._known[key] = data
            except EstimicaError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, EstimicaError):
            raise found
        return found
