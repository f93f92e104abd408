"""StudySession: one open study, shared by all who look at it: its text, history, problems."""

from __future__ import annotations

import contextlib
import tomllib
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from estimica.apps.web.files.folder import ServedFolder
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.worker.client import ModelWorkers
from estimica.base.errors import EstimicaError, WebError
from estimica.base.files.toml import load_toml
from estimica.base.problems import Fix, Problem
from estimica.study.file import edit as study_text
from estimica.study.file.edit import Revision
from estimica.study.file.fixes import text_with_fix
from estimica.study.file.located import LocatedProblem, located_problem, located_problems
from estimica.study.file.save import fingerprint, read_text, write_text_if_unchanged
from estimica.study.form.labels import FormLabels, apply_labels, read_labels
from estimica.study.form.tables import Form, form_of

Place = tuple[str | int, ...]


@lru_cache(maxsize=16)  # a page asks for many values of one text
def _tables(text: str) -> dict[str, Any] | None:
    try:
        return load_toml(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def _as_problem(plain: dict[str, Any]) -> Problem:
    """A problem as the process of the study tells it."""
    keys = ("code", "where", "message", "suggestion", "warning", "note")
    fixes = [
        Fix(**{**f, "changes": tuple((str(k), v) for k, v in f["changes"])}) for f in plain["fixes"]
    ]
    return Problem(**{k: plain[k] for k in keys}, place=tuple(plain["place"]), fixes=tuple(fixes))


def _listed(text: str, place: Place) -> list[object]:
    value = study_text.value_at(text, place)
    return value if isinstance(value, list) else []


class StudySession:
    """A study file that pages read and write; every edit is written at once.

    The file stays the truth: what another program writes into it is taken over, and an edit that
    was made on an older text is refused.
    """

    def __init__(self, name: str, path: Path, folder: ServedFolder, benches: ModelWorkers) -> None:
        self.name = name  # as in addresses
        self.path = path
        self.folder = folder
        self._benches = benches
        self._listeners: list[Callable[[], None]] = []
        text, self._seen = read_text(path)
        self.revision = Revision(text)
        self.problems: tuple[LocatedProblem, ...] = ()
        self.checked: tuple[LocatedProblem, ...] | None = (
            None  # what the whole check found, if it is new
        )
        self.notes: tuple[str, ...] = ()  # what was told when the study was proposed
        self._model: tuple[object, dict[str, Any]] | None = None
        self._aside: dict[Place, Any] = {}  # what was taken out, for those who want it back
        self._changed()

    # --- the text -----------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The study file as it is now."""
        return self.revision.text

    @property
    def tables(self) -> dict[str, Any]:
        """The study file as values, not to be changed; empty where it is not TOML."""
        return _tables(self.text) or {}

    def value(self, place: Place, default: Any = None) -> Any:
        """What stands at a place, also inside a short form."""
        if self.is_broken:
            return default
        value = study_text.value_at(self.text, place)
        return default if value is None else value

    def table(self, place: Place) -> dict[str, Any]:
        """The table at a place; empty where there is none, or something else."""
        value = self.value(place)
        return value if isinstance(value, dict) else {}

    def entries(self, place: Place) -> list[dict[str, Any]]:
        """The tables of a list of tables; empty ones for what is none."""
        value = self.value(place)
        listed = value if isinstance(value, list) else []
        return [e if isinstance(e, dict) else {} for e in listed]

    @property
    def is_broken(self) -> bool:
        """Whether the text is not TOML, so that there is nothing to edit but the text."""
        return _tables(self.text) is None

    @property
    def is_gone(self) -> bool:
        """Whether the file was moved or removed while it was open."""
        return not self.path.is_file()

    def set(self, place: Place, value: object, *, tables: Collection[Place] = ()) -> None:
        """Write a value; None takes the entry out, and those of `tables` that it leaves empty."""
        text = study_text.with_value(self.text, place, value)
        while value is None and len(place) > 1:
            place = place[:-1]
            if place not in tables or study_text.value_at(text, place) not in ({}, []):
                break
            text = study_text.without(text, place)
        self._write(text)

    def set_all(self, changes: Iterable[tuple[Place, object]]) -> None:
        """Write several values as one edit, in this order; None takes an entry out."""
        text = self.text
        for place, value in changes:
            if isinstance(value, dict) and place[-1] == len(_listed(text, place[:-1])):
                text = study_text.appended(text, place[:-1], value)
            else:
                text = study_text.with_value(text, place, value)
            outer = place[:-1]
            if value is None and len(outer) > 2 and study_text.value_at(text, outer) == {}:
                text = study_text.without(text, outer)
        self._write(text)

    def remove(self, place: Place) -> None:
        """Take an entry out."""
        self._write(study_text.without(self.text, place))

    def set_aside(self, place: Place) -> None:
        """Take an entry out that may be wanted back as it was."""
        value = self.value(place)
        if value is not None:
            self._aside[place] = value
        self.set(place, None)

    def bring_back(self, place: Place, new: object) -> None:
        """Write the entry that was set aside here, or a new one where there was none."""
        self.set(place, self._aside.pop(place, new))

    def rename(self, place: Place, new: str) -> None:
        """Give an entry another name."""
        self._write(study_text.renamed(self.text, place, new))

    def append(self, place: Place, value: dict[str, Any]) -> int:
        """Add a table to a list of tables; its number."""
        self._write(study_text.appended(self.text, place, value))
        return len(self.entries(place)) - 1

    def replace(self, text: str) -> None:
        """Write another text."""
        self._write(text)

    def undo(self) -> None:
        """Take the last edit back."""
        self._store(self.revision.undo())

    def redo(self) -> None:
        """Make the last edit that was taken back again."""
        self._store(self.revision.redo())

    def look(self) -> bool:
        """Take over what another program has written; whether there was something."""
        with contextlib.suppress(EstimicaError):
            if not self.is_gone and fingerprint(self.path) != self._seen:
                text, self._seen = read_text(self.path)
                if text != self.text:
                    self.revision = self.revision.edit(text)
                    self._changed()
                    return True
        return False

    def _write(self, text: str) -> None:
        if text != self.text:
            self._store(self.revision.edit(text))

    def _store(self, revision: Revision) -> None:
        if revision.text != self.text:
            self._seen = write_text_if_unchanged(self.path, revision.text, self._seen)
        self.revision = revision
        self._changed()

    def _changed(self) -> None:
        self.problems = located_problems(self.text)
        self.checked = None
        for listener in list(self._listeners):
            listener()

    # --- who looks ----------------------------------------------------------------------------

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; what is returned ends that."""
        self._listeners.append(listener)

        def end() -> None:
            with contextlib.suppress(ValueError):
                self._listeners.remove(listener)

        return end

    # --- what is wrong ------------------------------------------------------------------------

    def wrong_at(self, place: Place) -> str:
        """What is wrong with the entry at exactly this place."""
        problems = self.problems or self.checked or ()
        here = [p.text for p in problems if p.place == place and not p.warning]
        return in_page_words("; ".join(here).replace(f"{self.folder.root}/", ""))

    def wrong_below(self, place: Place) -> int:
        """How many problems there are at a place and below."""
        return sum(p.place[: len(place)] == place for p in self.everything_wrong)

    @property
    def everything_wrong(self) -> tuple[LocatedProblem, ...]:
        """What is wrong with the text, and what the last check of model and data found."""
        problems = self.problems or self.checked or ()
        return tuple(p for p in problems if not p.warning)

    async def check(self) -> tuple[LocatedProblem, ...]:
        """Everything that is wrong with study, model and data together."""
        if self.checked is not None:
            return self.checked
        text = self.text
        answer = await self.ask("check")
        problems = [_as_problem(p) for p in answer["problems"]]
        located = tuple(located_problem(problem, text) for problem in problems)
        if text == self.text:
            self.checked = located
        return located

    def fix(self, problem: LocatedProblem, fix: Fix) -> None:
        """Make the edit that cures a problem; it can be undone as every other."""
        text = text_with_fix(self.text, problem.where, fix, self.path.parent)
        if text is None:
            raise WebError("G071", f"the study has no entry of '{fix.name}' any more; check again")
        self._write(text)

    # --- the model ----------------------------------------------------------------------------

    async def ask(self, task: str, /, **args: Any) -> dict[str, Any]:
        """Have the study's own process do something."""
        return await self._benches.of(self.path).ask(task, **args)

    async def model(self) -> dict[str, Any]:
        """What the model consists of; asked again when the study names another model."""
        named = [self.tables.get(n) for n in ("model", "static", "columns")]
        key = repr((*named, self._cases_inputs()))
        if self._model is None or self._model[0] != key:
            answer = await self.ask("model")
            for q in answer["quantities"]:
                q["output"] = q["name"] in answer["outputs"]
            self._model = (key, answer)
        return self._model[1]

    def _cases_inputs(self) -> list[Sequence[str]]:
        cases = range(len(self.entries(("case",))))
        return [sorted(self.table(("case", k, "inputs"))) for k in cases]

    # --- forms --------------------------------------------------------------------------------

    def form(self, pattern: tuple[str, ...]) -> Form:
        """The form of a table, with the labels of the folder's own file."""
        return apply_labels(form_of(pattern), self.labels)

    @property
    def labels(self) -> FormLabels:
        """The folder's own labels; none where there is no such file."""
        return read_labels(self.folder.root)
