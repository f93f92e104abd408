"""Missing: what to say of a class that was not found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from estimica.source.libraries.search import SMALL, library_folders

#: places that a message names; chosen: a line or two of them
PLACES = 5
#: where the whole standard library is to be had
DOWNLOAD = "https://github.com/modelica/ModelicaStandardLibrary/releases"


@dataclass(frozen=True)
class Missing:
    """Where classes were looked for, in words.

    source: the file of the model, or "" for a text; folder: that of the files beside it, which were
    looked into; packages: those that the model belongs to; extra: what the user gave as libraries;
    unread: files beside it that may hold a class and cannot be read, by its name.
    """

    source: str = ""
    folder: Path | None = None
    packages: Sequence[Path] = ()
    extra: Sequence[Path] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False  # whether the text is all there is

    def unread_file(self, name: str) -> str:
        """What is wrong with the file that may hold `name`; "" where there is none."""
        return f": {self.unread[name]}" if name in self.unread else ""

    def anywhere(self, name: str) -> str:
        """What to say of a top-level class that is nowhere."""
        if self.alone:
            return ""
        beside = "put its file beside the model, or its" if self.folder is not None else "put its"
        return self.unread_file(name) or (
            f"; looked in {self.places()}; {beside} folder into 'libraries' or on MODELICAPATH"
        )

    def within(self, file: str) -> str:
        """What to say of a class that a package does not have, by the package's file."""
        return not_in_small_library() if file and Path(file).is_relative_to(SMALL) else ""

    def places(self) -> str:
        """Where it was looked for, the first few places."""
        found = [f"'{self.source}'" if self.source else "the text"]
        found += ["the files beside it"] if self.folder is not None else []
        found += [f"'{p}'" for p in (*self.packages, *self.extra) if str(p) != self.source]
        folders = library_folders()
        found += [f"'{p}'" for p in folders]
        shown, more = found[:PLACES], len(found) - PLACES
        listed = " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
        if more > 0:
            listed = f"{', '.join(shown)} and {more} more"
        return listed if folders else f"{listed} (MODELICAPATH names no library folder)"


def not_in_small_library() -> str:
    """Where the whole library is, of which a small part comes with Estimica."""
    return (
        ": the small library that comes with Estimica does not have it; put the folder of the "
        f"whole one ({DOWNLOAD}) on MODELICAPATH or into 'libraries'"
    )
