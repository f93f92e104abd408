"""write_study: a study as a study file that reads back as an equal study."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from estimica.base.code.reference import CodeRefusedError, means_code
from estimica.base.errors import StudyError
from estimica.base.files.toml import load_toml
from estimica.base.problems import raise_all
from estimica.study.case import Case
from estimica.study.file.read import examine_tables
from estimica.study.shared_columns import SharedColumns
from estimica.study.study import Study
from estimica.study.toml.short_forms import to_short_form
from estimica.study.toml.write import toml_key, toml_value
from estimica.study.written.data import CaseData
from estimica.study.written.model import model_tables
from estimica.study.written.places import StudyPlace
from estimica.study.written.values import Table, plain, table_of

#: columns of a line; longer tables of a case have a line for each entry
WIDTH = 100
#: what a Study holds as values of its own: `[reading]` in its cases, and what `[from_fit]` has
#: brought in its tuners and cases
_OWN = frozenset(
    (
        "model",
        "static",
        "outputs",
        "tune",
        "columns",
        "case",
        "estimate",
        "solver",
        "execute",
        "criterion",
        "indicator",
        "reading",
        "process_noise",
        "filter",
    )
)
_NAME = frozenset(["name"])
_OF_DATA = frozenset(["data", "join", "sheet", "reading"])


def write_study(
    study: Study, path: str | PathLike[str], *, overwrite: bool = False
) -> tuple[Path, ...]:
    """Write a study, and beside it what it has in memory only; see `Study.write`."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise StudyError(
            "Q184", f"'{path}': a study file is called so: '{path.with_suffix('.toml')}'"
        )
    place = StudyPlace(path)
    tables = study_tables(study, place)
    text = "\n".join(_lines(tables)) + "\n"
    try:
        raise_all(examine_tables(load_toml(text)))
    except tomllib.TOMLDecodeError as error:
        raise StudyError("Q185", f"the study is too large for a study file: {error}") from None
    return place.write(text, overwrite=overwrite)


def study_tables(study: Study, place: StudyPlace) -> Table:
    """The tables of a study file at a place; files that it needs are put beside it."""
    tables = model_tables(study, place)
    tables["outputs"] = dict(study.outputs)
    tables["tune"] = {
        t.name: to_short_form(("tune", t.name), table_of(t, (f"tuner '{t.name}'",), _NAME))
        for t in study.tuners
    }
    tables["columns"] = {
        n: to_short_form(("columns", n), plain(entry, (f"[columns] {n}",)))
        for n, entry in study.columns.items()
    }
    data = CaseData(place)
    tables["case"] = [_case(case, study.shared, data) for case in _cases(study)]
    tables["estimate"] = table_of(study.estimation, ("[estimate]",))
    tables["process_noise"] = dict(study.process_noise)
    tables["filter"] = table_of(study.filter, ("[filter]",))
    tables["solver"] = table_of(study.solver, ("[solver]",))
    tables["execute"] = table_of(study.execute, ("[execute]",))
    tables["criterion"] = [table_of(c, (f"criterion '{c.name}'",)) for c in study.criteria]
    tables["indicator"] = [table_of(i, (f"indicator '{i.name}'",)) for i in study.indicators]
    kept = {n: t for n, t in tables.items() if t or (n == "static" and t == {})}
    for name, table in study.tables.items():
        if name not in _OWN and not (name == "from_fit" and study.origin is not None):
            kept[name] = plain(table, (f"[{name}]",))
    other = kept.get("from_fit", {}).get("study")
    if isinstance(other, str) and study.path is not None:
        kept["from_fit"] = {**kept["from_fit"], "study": place.named(study.path.parent / other)}
    return {n: t if n == "model" else _with_code(t, study, place) for n, t in kept.items()}


def _cases(study: Study) -> Iterator[Case]:
    """The cases as they were given, not in stretches between their gaps."""
    divided, known = study.partition.cases, set()
    for case in study.cases:
        name = study.partition.case_of(case.name)
        if name not in known:
            known.add(name)
            yield divided.get(name, case)


def _case(case: Case, shared: SharedColumns, data: CaseData) -> Table:
    place = (f"case '{case.name}'",)
    return {
        "name": case.name,
        **data.table(case),
        **table_of(shared.out_of(case), place, _NAME | _OF_DATA),
    }


def _with_code(value: Any, study: Study, place: StudyPlace) -> Any:
    """The tables with Python files named from the new place."""
    if isinstance(value, Mapping):
        return {k: _with_code(v, study, place) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_code(v, study, place) for v in value]
    if not isinstance(value, str) or not means_code(value):
        return value
    try:
        code = study.code_for(value)
    except CodeRefusedError:
        return value  # it is no code, or whoever wants it tells
    function = f":{code.function}" if code.function else ""
    return f"{place.named(code.entry.path)}{function}"


# --- text ----------------------------------------------------------------------------------------


def _lines(tables: Mapping[str, Any]) -> Iterator[str]:
    first = True
    for name, content in tables.items():
        several = isinstance(content, list)
        for table in content if several else [content]:
            if not first:
                yield ""
            first = False
            yield f"[[{toml_key(name)}]]" if several else f"[{toml_key(name)}]"
            for key, value in table.items():
                yield from _entry(toml_key(key), value)


def _entry(key: str, value: object) -> Iterator[str]:
    """One entry; a table that is too long for a line has a line for each of its own."""
    line = f"{key} = {toml_value(value)}"
    if isinstance(value, Mapping) and value and len(line) > WIDTH:
        for inner, content in value.items():
            yield from _entry(f"{key}.{toml_key(str(inner))}", content)
    else:
        yield line
