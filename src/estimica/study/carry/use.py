"""Use of values: a study at those of a result, and its file with them written into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from estimica.base.errors import StudyError
from estimica.base.result import Result
from estimica.study.carry.apply import carried_study
from estimica.study.carry.history import note_use
from estimica.study.carry.values import RunValues, values_of_object
from estimica.study.carry.write import WrittenValues, text_with_values
from estimica.study.file.save import read_text, write_text_if_unchanged
from estimica.study.origin import ValueChange
from estimica.study.petab.files import is_petab
from estimica.study.study import Study


@dataclass(frozen=True)
class UsedValues:
    """What was written into a study file."""

    path: Path
    about: str  # where the values are from
    run: str
    changes: tuple[ValueChange, ...]
    remarks: tuple[str, ...]
    undoable: bool = True

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "command": "use",
            "run": self.run,
            "study": str(self.path),
            "from": self.about,
            "changes": [c.to_dict() for c in self.changes],
            "remarks": list(self.remarks),
            "undoable": self.undoable,
        }


def study_at_result(
    study: Study, result: Result, names: Mapping[str, str] | None = None, write: bool = False
) -> Study:
    """The study at the values of a result; with `write` its file has them too."""
    found = values_of_object(result.to_dict())
    carried = carried_study(study, require_values(found), names)
    if write:
        use_values(study, found, names)
    return carried.study


def require_values(found: RunValues) -> RunValues:
    """The same, if there is anything in it."""
    if found.is_empty:
        raise StudyError(
            "Q198",
            f"{found.about} has found no values; name a run of fit, release or optimise",
        )
    return found


def use_values(
    study: Study, found: RunValues, names: Mapping[str, str] | None = None
) -> UsedValues:
    """Write the values of a run into the file of a study, which can be undone."""
    if study.path is None:
        raise StudyError(
            "Q199", f"study '{study.name}' was not read from a file that could be changed"
        )
    text, known = read_text(study.path)
    written = values_written(study, text, found, names)
    undoable = True
    if written.text != text:
        write_text_if_unchanged(study.path, written.text, known)
        undoable = note_use(study.path, found.run, text, written.text)
    return UsedValues(
        study.path, found.about, found.run, written.changes, written.remarks, undoable
    )


def values_written(
    study: Study, text: str, found: RunValues, names: Mapping[str, str] | None = None
) -> WrittenValues:
    """The text of a study file with the values of a run, and what there is to say of them."""
    if study.path is not None and is_petab(study.path):
        raise StudyError(
            "Q199",
            f"'{study.path.name}' is a PEtab problem, which is not changed; "
            "`estimica new` makes a study file of it",
        )
    carried = carried_study(study, require_values(found), names)
    origin = carried.study.origin
    assert origin is not None
    folder = study.path.parent if study.path else Path()
    written = text_with_values(text, carried.changes, folder)
    return WrittenValues(written.text, written.changes, (*origin.remarks, *written.remarks))
