"""Files: the YAML file of a PEtab problem and its tables, read as data of limited size."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from estimica.base.errors import StudyError
from estimica.base.files.read import read_text
from estimica.base.suggest import did_you_mean_file

#: bytes of a table; the largest of the benchmark collection (27,132 measurements) has 3 MB
TABLE_LIMIT = 50_000_000
#: bytes of the YAML file, a list of a few names
YAML_LIMIT = 100_000

Row = Mapping[str, str]


@dataclass(frozen=True)
class Files:
    """The tables of a problem, cell by cell as text, and where its model is."""

    path: Path
    version: int
    model: Path
    parameters: tuple[Row, ...]
    measurements: tuple[Row, ...]
    observables: tuple[Row, ...]
    conditions: tuple[Row, ...] = ()
    experiments: tuple[Row, ...] = ()
    mapping: tuple[Row, ...] = ()


def is_petab(path: str | Path) -> bool:
    """Whether a name is that of a PEtab problem."""
    return Path(path).suffix.lower() in (".yaml", ".yml")


def read_files(path: str | Path) -> Files:
    """The problem of a YAML file with all its tables."""
    path = Path(path)
    content = _yaml(path)
    version = str(content.get("format_version", "")).partition(".")[0]
    if version not in ("1", "2"):
        raise StudyError(
            "Q101",
            f"'{path}': format_version is '{content.get('format_version')}', and versions 1 and 2 "
            "of PEtab are read",
        )
    inner = _only(content.get("problems"), path) or content
    listed = {**content, **inner}

    def table(key: str, *, needed: bool = False) -> tuple[Row, ...]:
        names = _names(listed.get(key), key, path)
        if needed and not names:
            raise StudyError("Q102", f"'{path}' names no {key}; add them")
        return tuple(row for name in names for row in _table(_beside(path, name)))

    own = "parameter_file" if "parameter_file" in listed else "parameter_files"
    return Files(
        path,
        int(version),
        _model(listed, path),
        table(own, needed=True),
        table("measurement_files", needed=True),
        table("observable_files", needed=True),
        table("condition_files"),
        table("experiment_files"),
        table("mapping_files"),
    )


def _yaml(path: Path) -> Mapping[str, Any]:
    try:
        yaml = import_module("yaml")
    except ImportError:
        raise StudyError(
            "Q100",
            f"reading '{path}', a PEtab problem, needs petab; install it with: "
            "pip install 'estimica[petab]'",
        ) from None
    text = _text(path, YAML_LIMIT)
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise StudyError("Q101", f"'{path}' is not readable YAML: {reason}") from None
    if not isinstance(content, dict) or "format_version" not in content:
        raise StudyError(
            "Q101", f"'{path}' is not a PEtab problem: it has no format_version at its top level"
        )
    return content


def _text(path: Path, limit: int) -> str:
    try:
        return read_text(path, "utf-8-sig", limit=limit)
    except FileNotFoundError:
        raise StudyError("Q103", f"there is no file '{path}'{did_you_mean_file(path)}") from None
    except UnicodeDecodeError:
        raise StudyError("Q103", f"'{path}' is not text in UTF-8") from None
    except OSError as error:
        raise StudyError("Q103", f"cannot read '{path}': {error.strerror}") from None


def _only(problems: object, path: Path) -> Mapping[str, Any]:
    """The one problem of a file of version 1."""
    if problems is None:
        return {}
    if not isinstance(problems, list) or not all(isinstance(p, dict) for p in problems):
        raise StudyError("Q101", f"'{path}': problems is not a list of tables")
    if len(problems) != 1:
        raise StudyError(
            "Q104",
            f"'{path}' holds {len(problems)} problems, and one at a time is read; write a YAML "
            "file for each",
        )
    problem: Mapping[str, Any] = problems[0]
    return problem


def _names(given: object, key: str, path: Path) -> list[str]:
    names = [given] if isinstance(given, str) else given
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise StudyError("Q101", f"'{path}': {key} is not a list of file names")
    return names


def _beside(path: Path, name: str) -> Path:
    """A file named in the YAML file; nothing is fetched from elsewhere."""
    if "://" in name:
        raise StudyError("Q105", f"'{path}' names '{name}'; download it and name the file")
    return path.parent / name


def _model(listed: Mapping[str, Any], path: Path) -> Path:
    files = listed.get("sbml_files")
    if files is None:
        models = listed.get("model_files")
        if not isinstance(models, dict) or not all(isinstance(m, dict) for m in models.values()):
            raise StudyError("Q102", f"'{path}' names no model; add sbml_files or model_files")
        for name, model in models.items():
            if str(model.get("language", "sbml")).lower() != "sbml":
                raise StudyError(
                    "Q106",
                    f"'{path}': model '{name}' is written in '{model.get('language')}', and SBML "
                    "is read; convert it to SBML",
                )
        files = [str(model.get("location", "")) for model in models.values()]
    names = _names(files, "sbml_files", path)
    if len(names) != 1:
        raise StudyError("Q104", f"'{path}' names {len(names)} models; one is needed")
    return _beside(path, names[0])


def _table(path: Path) -> Iterable[Row]:
    """The rows of a tab-separated table, cells without surrounding blanks."""
    lines = csv.reader(io.StringIO(_text(path, TABLE_LIMIT)), delimiter="\t")
    try:
        header = [cell.strip() for cell in next(lines)]
    except StopIteration:
        raise StudyError("Q107", f"'{path}' is empty") from None
    except csv.Error as error:
        raise StudyError("Q107", f"'{path}': {error}") from None
    for cells in lines:
        if any(cell.strip() for cell in cells):
            padded = [*cells, *[""] * (len(header) - len(cells))]
            yield dict(zip(header, (c.strip() for c in padded), strict=False))
