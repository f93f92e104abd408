"""`estimica use`: write the values that a run has found into a study file, or take that back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import print_json, print_text, reported
from estimica.apps.cli.options import AsJson, StorePath
from estimica.base.errors import StudyError

if TYPE_CHECKING:
    from estimica.study.carry.use import UsedValues


def use(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="A run with values, or the `last`; RUN.3 is the third design of a front.",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Argument(metavar="[STUDY]", help="A study file; by default that of the run."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back what was written last into the study.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")
    ] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Make the values that a run has found the starts and values of a study."""
    with reported("use", as_json):
        if undo:
            _undo(run, study, as_json)
            return
        if run is None:
            raise StudyError(
                "Q200", "say which run, as in `estimica use last motor.toml`; `estimica runs` lists"
            )
        used = _used(run, study, store, dry_run)
    if as_json:
        print_json(used.to_dict())
        return
    print_text(_text(used, dry_run))


def _used(run: str, study: Path | None, store: Path | None, dry_run: bool) -> UsedValues:
    from estimica.execute.carry import DESIGNS, found_run
    from estimica.study.carry.names import RUN, TABLE
    from estimica.study.carry.use import UsedValues, use_values, values_written
    from estimica.study.file.read import read_study
    from estimica.study.file.save import read_text

    path = study or _study_of(run, store)
    checked = read_study(path, asked={TABLE: {RUN: ""}})
    found = found_run(checked, run, store, DESIGNS)
    if not dry_run:
        return use_values(checked, found.values)
    written = values_written(checked, read_text(path)[0], found.values)
    about = found.values.about
    return UsedValues(path, about, found.values.run, written.changes, written.remarks, False)


def _study_of(run: str, store: Path | None) -> Path:
    """The file of the study that a run is of, in the folder of its store."""
    from estimica.execute.carry import RunReference
    from estimica.execute.runs.names import LAST
    from estimica.execute.runs.store import Store

    reference = RunReference.of(run)
    if reference.study is not None:
        return reference.study
    place = Store.of(Path(), store)
    if reference.which == LAST:
        raise StudyError(
            "Q201", "the last run of which study? Write `estimica use last STUDY.toml`"
        )
    name = place.summary(reference.which).name
    path = place.path.parent.parent / f"{name}.toml"
    if not path.is_file():
        raise StudyError(
            "Q201",
            f"run '{reference.which}' is of study '{name}', and there is no file '{path}'; name "
            f"the file, as in `estimica use {run} STUDY.toml`",
        )
    return path


def _undo(run: str | None, study: Path | None, as_json: bool) -> None:
    from estimica.study.carry.history import undo_use

    path = study or (Path(run) if run else None)
    if path is None:
        raise StudyError("Q201", "of which study? Write `estimica use --undo STUDY.toml`")
    last = undo_use(path)
    if as_json:
        print_json({"command": "use", "study": str(path), "undone": last.run})
    else:
        print_text(f"{path.name} is as it was before the values of run {last.run}")


def _text(used: UsedValues, dry_run: bool) -> str:
    name = used.path.name
    if not used.changes:
        lines = [f"{name} has the values of {used.about} already; nothing is changed"]
    else:
        word = "would have" if dry_run else "has"
        lines = [f"{name} {word} the values of {used.about}:"]
        lines += [f"  {change.text}" for change in used.changes]
    lines += [f"note: {remark}" for remark in used.remarks]
    if used.changes and not dry_run:
        lines.append(
            f"`estimica use --undo {used.path}` takes this back"
            if used.undoable
            else "this cannot be taken back: what the file was could not be kept"
        )
    return "\n".join(lines)
