"""Places of files as a study file names them, and the files that are written with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from estimica.base.errors import StudyError
from estimica.base.files.write import atomic_replacement, require_writable

_ODD = re.compile(r"[^A-Za-z0-9_-]+")


class StudyPlace:
    """Where a study file is to lie, and what is to lie beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = Path(os.path.abspath(path.parent))
        self._beside: dict[str, bytes] = {}
        self._taken = {path.name.lower()}

    def named(self, path: str | os.PathLike[str]) -> str:
        """A path as the study file names it: relative below its folder, else absolute."""
        whole = os.path.abspath(path)
        for place, folder in (
            (whole, str(self.folder)),
            (os.path.realpath(whole), os.path.realpath(self.folder)),
        ):
            if Path(place).is_relative_to(folder):
                return Path(place).relative_to(folder).as_posix()
        return whole

    def unused_name(self, label: str, ending: str) -> str:
        """A name for a file beside, like that of the study; some disks do not tell A from a."""
        stem = f"{self.path.stem}_{_ODD.sub('_', label)}" if label else self.path.stem
        name, k = f"{stem}{ending}", 1
        while name.lower() in self._taken:
            k += 1
            name = f"{stem}_{k}{ending}"
        return name

    def put(self, name: str, content: bytes) -> str:
        """Have a file of this name and content beside the study file; its name."""
        self._taken.add(name.lower())
        self._beside[name] = content
        return name

    def write(self, text: str, *, overwrite: bool) -> tuple[Path, ...]:
        """Write everything, the study file last: all files, or none of them."""
        files: Mapping[Path, bytes] = {
            **{self.path.parent / name: content for name, content in self._beside.items()},
            self.path: text.encode("utf-8"),
        }
        known = {path for path in files if os.path.lexists(path)}
        if known and not overwrite:
            there = ", ".join(f"'{path}'" for path in sorted(known))
            raise StudyError(
                "Q181",
                f"there is already {there}; choose another name, or say overwrite=True to replace "
                f"{'it' if len(known) == 1 else 'them'}",
            )
        for path in files:
            require_writable(path)
        written: list[Path] = []
        try:
            for path, content in files.items():
                with atomic_replacement(path) as draft:
                    draft.write_bytes(content)
                written.append(path)
        except BaseException:
            for path in written:
                if path not in known:
                    path.unlink(missing_ok=True)
            raise
        return self.path, *(p for p in files if p != self.path)
