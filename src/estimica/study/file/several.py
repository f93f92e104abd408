"""Several files of one kind: a case of the study file that means many, or one record of many files.

Files are looked for once, so that what was found to be safe is what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from estimica.base.errors import DataError
from estimica.data.patterns import file_labels, is_pattern, matching_files
from estimica.study.case import Case
from estimica.study.stretch import begun_as

STAR = "*"


class CaseFiles:
    """The files that cases of a study in `folder` mean by names with wildcards and by lists."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[str, ...] | DataError] = {}

    def means_several(self, data: object) -> bool:
        """Whether it is a list of names, or a name with wildcards."""
        if isinstance(data, str):
            return data in self._known or is_pattern(data, self._folder)
        return isinstance(data, (list, tuple))

    def of(self, data: object) -> tuple[str, ...]:
        """All files, each once, in natural order within each name."""
        names = [data] if isinstance(data, str) else data
        assert isinstance(names, (list, tuple))
        files = [f for n in names for f in (self._matching(n) if self.means_several(n) else (n,))]
        return tuple(dict.fromkeys(files))

    def _matching(self, pattern: str) -> tuple[str, ...]:
        if pattern not in self._known:
            try:
                self._known[pattern] = matching_files(pattern, self._folder)
            except DataError as error:
                self._known[pattern] = error
        found = self._known[pattern]
        if isinstance(found, DataError):
            raise found
        return found

    def in_tables(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        """The tables with the files that are meant in place of patterns, to be looked at."""
        cases = tables.get("case")
        if not isinstance(cases, list):
            return dict(tables)
        return {**tables, "case": [self._listed(c) for c in cases]}

    def _listed(self, case: object) -> object:
        if not isinstance(case, Mapping) or not self.means_several(case.get("data")):
            return case
        data = case["data"]
        names = [n for n in ([data] if isinstance(data, str) else data) if isinstance(n, str)]
        listed = list(names)  # also what matches nothing: where it leads to is looked at too
        for name in names:
            try:
                listed += self.of(name)
            except DataError:
                continue
        return {**case, "data": list(dict.fromkeys(listed))}

    def cases(self, case: Case) -> list[Case]:
        """A case for each file, named by it; one of them all where they are joined."""
        if not self.means_several(case.data):
            return [case]
        files = self.of(case.data)
        names = _case_names(case.name, files, join=case.join)
        if case.join:
            return [replace(begun_as(case, names[0]), data=files)]
        return [replace(begun_as(case, n), data=f) for n, f in zip(names, files, strict=True)]

    def names(self, case: Mapping[str, Any]) -> list[str]:
        """What the cases are called that a table of the study file means; its files may be gone."""
        name, data = str(case.get("name", STAR)), case.get("data")
        try:
            if not self.means_several(data):
                return [name]
            return _case_names(name, self.of(data), join=case.get("join") is True)
        except DataError:
            return [name]


def _case_names(name: str, files: tuple[str, ...], *, join: bool) -> list[str]:
    """A name for each file; one for them all where they are joined."""
    labels = file_labels(files)
    if join:
        return [" ".join(name.replace(STAR, " ").split()) or labels[0]]
    template = name if STAR in name else f"{name} {STAR}"
    return [template.replace(STAR, label) for label in labels]


def with_case_names(tables: Mapping[str, Any], files: CaseFiles) -> dict[str, Any]:
    """The tables in which cases of several files need no name: each is called like its file."""
    cases = tables.get("case")
    if not isinstance(cases, list):
        return dict(tables)
    named = [
        {"name": STAR, **c}
        if isinstance(c, Mapping) and "name" not in c and files.means_several(c.get("data"))
        else c
        for c in cases
    ]
    return {**tables, "case": named}
