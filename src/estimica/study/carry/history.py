"""What a study file was before values were written into it, so that this can be taken back."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from estimica.base.errors import EstimicaError, StudyError
from estimica.base.files.read import read_text as read_plain
from estimica.base.files.write import make_folder, write_text
from estimica.study.file.save import read_text, write_text_if_unchanged

FOLDER, FILE = ".estimica", "used-values.json"  # beside the store of runs
MOST = 20  # texts of one study file that are kept: with 10 kB each, 200 kB


@dataclass(frozen=True)
class UsedBefore:
    """A study file as it was before it took the values of a run."""

    study: str  # the name of the file
    run: str
    when: str
    before: str
    after: str


def note_use(path: Path, run: str, before: str, after: str) -> bool:
    """Keep what the file was; whether that was possible."""
    entry = UsedBefore(path.name, run, _now(), before, after)
    mine = [e for e in _entries(path) if e.study == path.name]
    others = [e for e in _entries(path) if e.study != path.name]
    return _keep(path, [*others, *mine[-MOST + 1 :], entry])


def undo_use(path: Path) -> UsedBefore:
    """Write back what the file was before the last use of values; what was taken back."""
    entries = _entries(path)
    mine = [e for e in entries if e.study == path.name]
    if not mine:
        raise StudyError("Q196", f"no values were written into '{path.name}' that could be undone")
    last = mine[-1]
    text, known = read_text(path)
    if text != last.after:
        raise StudyError(
            "Q197",
            f"'{path.name}' was changed after the values of run {last.run} were written; undoing "
            f"would lose that. What it was before stands in '{path.parent / FOLDER / FILE}'",
        )
    write_text_if_unchanged(path, last.before, known)
    entries.remove(last)
    _keep(path, entries)
    return last


def _keep(path: Path, entries: list[UsedBefore]) -> bool:
    folder = path.parent / FOLDER
    if os.path.islink(folder) or os.path.islink(folder / FILE):
        return False  # a link that came with the study may lead anywhere
    with suppress(EstimicaError):
        make_folder(folder)
        write_text(folder / FILE, json.dumps([asdict(e) for e in entries], indent=1))
        return True
    return False


def _entries(path: Path) -> list[UsedBefore]:
    place = path.parent / FOLDER / FILE
    if os.path.islink(place.parent) or os.path.islink(place):
        return []
    try:
        listed = json.loads(read_plain(place, "utf-8"))
        return [UsedBefore(**{k: str(v) for k, v in e.items()}) for e in listed]
    except (OSError, ValueError, TypeError, AttributeError):
        return []


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
