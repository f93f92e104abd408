"""Values of stored runs for a study: which run is meant, what it found, whether it still holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from estimica.base.errors import EstimicaError, StoreError
from estimica.base.files.read import read_text
from estimica.base.files.toml import load_toml
from estimica.execute.runs.choice import chosen_run
from estimica.execute.runs.names import LAST
from estimica.execute.runs.provenance import changes, fingerprint
from estimica.execute.runs.record import Status, StoredRun
from estimica.execute.runs.store import Store
from estimica.study.carry.apply import CarriedStudy, carried_study
from estimica.study.carry.names import RUN, STUDY, TABLE
from estimica.study.carry.use import require_values
from estimica.study.carry.values import MEMBER, RunValues, values_of_object
from estimica.study.study import Study

ENDING = ".toml"
#: commands that the `last` run may be of: estimates for what is about data, designs besides for
#: what is about criteria
ESTIMATES = ("fit", "release")
DESIGNS = ("optimise", *ESTIMATES)
#: parts of a study on which what was found depends; starts and bounds may change
LASTING = ("the model", "the data of ")


@dataclass(frozen=True)
class RunReference:
    """A run as users write it: `RUN`, `RUN.3`, `motor.toml`, or `motor.toml:RUN`."""

    which: str = LAST
    study: Path | None = None  # another study, beside which its store is
    member: int | None = None  # of a front, from 1

    @staticmethod
    def of(text: str, folder: Path | None = None) -> RunReference:
        """Read it; a study is looked for from `folder`."""
        path, colon, which = text.rpartition(":")
        if not (colon and path.endswith(ENDING)):
            path, which = (text, LAST) if text.endswith(ENDING) else ("", text)
        head, _, member = (which or LAST).rpartition(MEMBER)
        if not (head and member.isdecimal()):  # the name of a run may have a point too
            head, member = which or LAST, ""
        study = (folder or Path()) / path if path else None
        return RunReference(head, study, int(member) if member else None)

    def text(self, run: str) -> str:
        """The same with the id of the run that it meant."""
        member = "" if self.member is None else f"{MEMBER}{self.member}"
        return f"{self.study}:{run}{member}" if self.study else f"{run}{member}"


@dataclass(frozen=True)
class FoundRun:
    """A stored run, what it found, and how it is written so that nothing else can be meant."""

    run: StoredRun
    values: RunValues
    reference: str
    store: Path  # the file it is in


def found_run(
    study: Study,
    which: str,
    store: Path | None = None,
    commands: Sequence[str] = DESIGNS,
    folder: Path | None = None,
    *,
    with_values: bool = True,
    of_named: bool = False,
) -> FoundRun:
    """The run that `which` means for a study; `last` is one of these commands.

    It is looked for in the store of the study, then in that of the study that `[from_fit]` names:
    the last optimum of a drive comes before the last fit of its motor. `of_named` says that the
    last run of the named study is meant. One without values is an error, unless only the run is
    asked for.
    """
    reference = RunReference.of(which, folder)
    other = _named_study(study)
    if of_named and reference.study is None and other is not None and reference.which == LAST:
        reference = replace(reference, study=other)
    try:
        place, run = _run(study, reference, store, commands)
    except StoreError:
        if reference.study is not None or other is None:
            raise
        reference = replace(reference, study=other)
        place, run = _run(study, reference, store, commands)
    values = values_of_object({**run.result, **_who(run)}, reference.member)
    remarks = tuple(_remarks(run, study, reference.study))
    values = replace(values, remarks=remarks, elsewhere=_is_another(reference.study, study))
    if with_values:
        require_values(values)
    return FoundRun(run, values, reference.text(run.id), place.path)


def study_at_run(
    study: Study,
    which: str,
    store: Path | None = None,
    commands: Sequence[str] = DESIGNS,
    folder: Path | None = None,
    *,
    of_named: bool = False,
) -> tuple[CarriedStudy, FoundRun]:
    """The study at the values of a run, and the run."""
    found = found_run(study, which, store, commands, folder, of_named=of_named)
    return carried_study(study, found.values), found


def from_fit_values(study: Study) -> CarriedStudy | None:
    """The study with what its table `[from_fit]` names; None where that names no run."""
    table = study.tables.get(TABLE, {})
    if not isinstance(table, Mapping) or not (table.get(RUN) or table.get(STUDY)):
        return None
    if table.get(RUN) == "":  # another run was given in its place
        return None
    folder = study.path.parent if study.path else Path()
    commands = DESIGNS if study.is_design else ESTIMATES
    which = str(table.get(RUN) or LAST)
    carried, _ = study_at_run(study, which, None, commands, folder, of_named=True)
    return carried


def _named_study(study: Study) -> Path | None:
    table = study.tables.get(TABLE, {})
    named = table.get(STUDY) if isinstance(table, Mapping) else None
    folder = study.path.parent if study.path else Path()
    return folder / str(named) if named else None


def _is_another(path: Path | None, study: Study) -> bool:
    """Whether a run was looked for beside another study."""
    return path is not None and (study.path is None or path.resolve() != study.path.resolve())


def _run(
    study: Study, reference: RunReference, store: Path | None, commands: Sequence[str]
) -> tuple[Store, StoredRun]:
    if reference.study is not None:
        if not reference.study.is_file():
            raise StoreError("B062", f"there is no study '{reference.study}' whose runs to look in")
        place, name = Store.beside(reference.study), reference.study.stem
        commands = DESIGNS  # whatever was asked last of that study
    elif study.path is None and store is None:
        raise StoreError(
            "B063",
            f"run '{reference.which}': a study that was not read from a file has no store of runs; "
            "give the result itself",
        )
    else:
        place, name = Store.of(study.path or Path(), store), study.name
    run = chosen_run(place, reference.which, study=name, commands=commands)
    if run.status is Status.RUNNING:
        raise StoreError("B064", f"run '{run.id}' is still running; wait for it, or stop it")
    return place, run


def _who(run: StoredRun) -> dict[str, Any]:
    return {"run": run.id, "command": run.summary.command, "study": run.summary.name}


# --- whether it still holds ----------------------------------------------------------------------


def _remarks(run: StoredRun, study: Study, other: Path | None) -> Iterator[str]:
    """What has to be known of a run: that it ended early, or that its model or data changed."""
    ended = run.result.get("outcome")
    message = str(ended.get("message", "")) if isinstance(ended, Mapping) else ""
    status = str(ended.get("status", "")) if isinstance(ended, Mapping) else ""
    if run.status is not Status.DONE:
        because = f" ({run.summary.message})" if run.summary.message else ""
        yield f"run {run.id} is {run.status}{because}: these are its best values so far"
    elif status == "not met":
        yield f"run {run.id} has not met its demands: {message}"
    if other is not None:
        yield from _changed_files(run, other)
    elif run.summary.name == study.name:
        noted = run.settings.get("fingerprint")
        before = noted if isinstance(noted, Mapping) else {}
        now = fingerprint(study) if before else {}
        told = [t for t in changes(before, now) if t.startswith(LASTING)]
        if told:
            yield f"since run {run.id} {', '.join(told)}"


def _changed_files(run: StoredRun, study: Path) -> Iterator[str]:
    """Files of another study that were written after its run began."""
    for path in _files(study):
        try:
            written = path.stat().st_mtime
        except (OSError, ValueError):
            continue
        if written > run.summary.started:
            when = datetime.fromtimestamp(written)
            yield f"'{path.name}' was changed after run {run.id}, on {when:%Y-%m-%d %H:%M}"


def _files(study: Path) -> Iterator[Path]:
    """Model and data of a study, as far as its file names them."""
    try:
        tables = load_toml(read_text(study, "utf-8-sig"))
    except (EstimicaError, OSError, ValueError, RecursionError):
        return
    model, cases = tables.get("model"), tables.get("case")
    named = [model.get("source")] if isinstance(model, dict) else []
    named += (
        [c.get("data") for c in cases if isinstance(c, dict)] if isinstance(cases, list) else []
    )
    for name in dict.fromkeys(n for n in named if isinstance(n, str) and "\n" not in n):
        yield study.parent / name
