"""To repeat this: the end of every page, with all that gives the same numbers again."""

from __future__ import annotations

import hashlib
import platform
import shlex
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from estimica.base.files.read import open_file, read_text
from estimica.base.view import Listing, Page, Section, Table, ViewElement
from estimica.data.table import Data
from estimica.execute.runs.provenance import environment
from estimica.study.study import Study

HEADING = "To repeat this"
ANSWER = "The answer"
IN_PYTHON = {"pareto": "pareto", "map": "criterion_map", "design-input": "design_input"}
ON_FITS = ("residuals", "bootstrap", "sample", "profile", "crossvalidate", "covariance", "bands",
           "region", "prefilter_weighting")  # fmt: skip


def with_reproduction(
    page: Page,
    command: str,
    study: Study | None,
    *,
    first: tuple[Section, ...] = (),
    seed: int | None = None,
    run: str = "",
    files: tuple[Path, ...] = (),
) -> Page:
    """The page between what was asked and the answer, `first`, and how to repeat it."""
    last = reproduction_section(command, study, seed=seed, run=run, files=files)
    return Page(page.title, (*first, *page.sections, last), page.lead)


def reproduction_section(
    command: str,
    study: Study | None,
    *,
    seed: int | None = None,
    run: str = "",
    files: tuple[Path, ...] = (),
) -> Section:
    """Command line, seed, versions, checksums of the files, and the study as it was written."""
    text = _study_text(study)
    shown: list[ViewElement] = [Listing(_line(command, study), "The command")]
    shown.append(Table(("what", "is"), tuple(_circumstances(seed, run))))
    rows = tuple(_checksums((*_files(study), *files)))
    if rows:
        note = "SHA-256 changes with every byte of a file: the same code, the same data."
        shown.append(Table(("file", "bytes", "SHA-256"), rows, "The files it read", note))
    if text:
        shown.append(Listing(text, f"The study file {_name(study)}", folded=True))
    words = "The same command with the same files and versions gives the same numbers."
    if seed is not None:
        words += f" Whatever is random begins from seed {seed}."
    return Section(HEADING, words, tuple(shown))


def from_command_line() -> bool:
    """Whether this process is the command `estimica`."""
    own = Path(sys.argv[0])
    return own.stem == "estimica" or (own.name == "__main__.py" and own.parent.name == "estimica")


def _line(command: str, study: Study | None) -> str:
    if from_command_line():
        return shlex.join(["estimica", *sys.argv[1:]])
    if study is None:
        return f"es.{command.replace('-', '_')}(…)"
    load = f'study = es.read_study("{_name(study)}")' if study.path else "study = es.Study(…)"
    function = IN_PYTHON.get(command, command)
    if function in ON_FITS:
        return f"import estimica as es\n\n{load}\nes.{function}(es.fit(study))"
    return f"import estimica as es\n\n{load}\nes.{function}(study)"


def _name(study: Study | None) -> str:
    return study.path.name if study and study.path else ""


def _circumstances(seed: int | None, run: str) -> Iterator[tuple[str, str]]:
    if run:
        yield "run in the store", run
    if seed is not None:
        yield "seed", str(seed)
    yield "made", f"{datetime.now():%Y-%m-%d %H:%M}"
    told = environment(seed)
    packages = ("estimica", "casadi", "numba", "llvmlite", "rumoca", "numpy", "scipy")
    versions = [f"{name} {told[name]}" for name in packages if told.get(name)]
    yield "versions", ", ".join([*versions, f"Python {told['python']}"])
    yield "machine", f"{platform.system()} {platform.machine()}"


def _study_text(study: Study | None) -> str:
    if study is None or study.path is None:
        return ""
    try:
        return read_text(study.path, "utf-8-sig", "replace").rstrip()
    except OSError:
        return ""


def _files(study: Study | None) -> Iterator[Path]:
    """The study, its model and its data, as far as they are files."""
    if study is None:
        return
    folder = study.path.parent if study.path else Path()
    if study.path:
        yield study.path
    told = study.tables.get("model", {})
    source = told.get("source") if isinstance(told, dict) else None
    known = study.code.get(str(source))
    if known is not None:
        yield known.entry.path
    elif source and "\n" not in str(source):
        yield folder / str(source)
    for case in study.active_cases:
        if isinstance(case.data, (str, Path)):
            yield Path(case.data)
        elif isinstance(case.data, Data):
            yield Path(case.data.source)


def _checksums(paths: tuple[Path, ...]) -> Iterator[tuple[object, ...]]:
    for path in dict.fromkeys(paths):
        try:
            with open_file(path) as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = path.stat().st_size
        except (OSError, ValueError):
            continue
        yield path.name, size, digest
