"""Draft: the text of a study from a model and data files, as `estimica new` writes it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base.files.toml import load_toml
from estimica.data.table import Data

if TYPE_CHECKING:
    from estimica.compiled.model.interface import Model
    from estimica.study.draft.columns import Table
    from estimica.study.draft.remarks import Drafted


def draft_study(
    source: str, class_: str | None, files: Sequence[Path], folder: Path, libraries: Sequence[Path]
) -> Drafted:
    """The commented text of a study file in `folder`, with what the data suggest."""
    from estimica.data.readers import read_data
    from estimica.experiment.guess.case_starts import case_starts
    from estimica.study.draft.columns import Table
    from estimica.study.draft.remarks import with_notes
    from estimica.study.draft.run import draft, relative, require_one_class

    tables = [Table(relative(f, folder), read_data(_first(f))) for f in files]
    if class_ is None and not source.lower().endswith(".fmu"):
        require_one_class(source)
    columns = [name for t in tables for name in t.data.names]
    model, named = _loaded(source, class_, libraries, folder, columns, _sample_time(source, tables))
    mode = _mode(model, tables)
    drafted = draft(
        model if not mode else _at_points(model, mode),
        named,
        class_,
        tables,
        [relative(f, folder) for f in libraries],
        None if mode else lambda *given: case_starts(model, *given),
        mode=mode,
    )
    inputs = [q.name for q in model.quantities() if q.role == "input"]
    text = with_first_guesses(drafted.text, [t.data for t in tables], inputs)
    return with_notes(text, drafted.remarks)


def _first(file: Path) -> Path:
    """The file itself, or the first one of those that a name with wildcards means."""
    from estimica.data.patterns import is_pattern, matching_files

    here = Path()
    return Path(matching_files(str(file), here)[0]) if is_pattern(str(file), here) else file


def _loaded(
    source: str,
    class_: str | None,
    libraries: Sequence[Path],
    folder: Path,
    columns: Sequence[str],
    sample_time: float | None,
) -> tuple[Model, str]:
    """The model, and how a study file in `folder` names it."""
    from estimica.simulate.function.file import code_of_source
    from estimica.simulate.load import ModelSource, load_source
    from estimica.study.draft.run import relative

    given = ModelSource(source, class_, libraries=libraries, sample_time=sample_time)
    named = relative(source, folder) if os.path.exists(source) else source
    if given.kind == "transfer function":
        named = source
    if given.kind == "code":
        code = code_of_source(source, Path())
        name = f":{code.function}" if code.function else ""
        named = f"{relative(code.spelt, folder)}{name}"
        given = replace(given, code={source: code})
    return load_source(given, measured=columns), named


def _sample_time(source: str, tables: Sequence[Table]) -> float | None:
    """Of a transfer function in z, that of the data, or a second where no data say it."""
    from estimica.simulate.linear.text import SHIFT, variable_of
    from estimica.simulate.load import ModelSource
    from estimica.study.draft.columns import sample_time_of

    if ModelSource(source).kind != "transfer function" or variable_of(source) != SHIFT:
        return None
    steps = (sample_time_of(t.data) for t in tables)
    return next((s for s in steps if s is not None), 1.0)


def _mode(model: Model, tables: Sequence[Table]) -> str:
    """How points are computed, where the data of a Modelica class have no time."""
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.study.draft.columns import has_time

    if not isinstance(model, ModelicaModel) or not tables or any(map(has_time, tables)):
        return ""
    return "steady" if model.system.states else "static"


def _at_points(model: Model, mode: str) -> Model:
    from estimica.simulate.modelica.model import ModelicaModel

    assert isinstance(model, ModelicaModel)
    return model.at_points(mode)


MOST = 6  # remarks for one case; chosen: a draft is to be read


def with_first_guesses(text: str, tables: Sequence[Data], inputs: Collection[str] = ()) -> str:
    """The drafted study with what steps in the data suggest, below the head of each case.

    `inputs` are those of the model: they tell what the columns of all cases are.
    """
    drafted = load_toml(text)
    cases = drafted.get("case", [])
    if not tables or len(cases) != len(tables):
        return text
    shared = {n: c for n, c in drafted.get("columns", {}).items() if n != "time"}
    common = {
        "inputs": {n: c for n, c in shared.items() if n in inputs},
        "outputs": {n: c for n, c in shared.items() if n not in inputs},
    }
    remarks = iter([list(_remarks(common | c, t)) for c, t in zip(cases, tables, strict=True)])
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if line == "[[case]]":
            lines += next(remarks)
    return "\n".join(lines) + "\n"


def _remarks(case: Mapping[str, object], data: Data) -> Iterator[str]:
    from estimica.experiment.guess.step.run import step_remarks

    sentences = step_remarks(data, _columns(case.get("inputs")), _columns(case.get("outputs")))
    yield from (f"# {' '.join(sentence.split())}" for sentence in sentences[:MOST])


def _columns(given: object) -> list[str]:
    """The columns of a table of inputs or outputs, each a name or {column = name, …}."""
    columns = given.values() if isinstance(given, Mapping) else ()
    named = [c.get("column") if isinstance(c, Mapping) else c for c in columns]
    return [c for c in named if isinstance(c, str)]
