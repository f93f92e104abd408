"""Patterns: several files by one name with `*`, `?` or `[…]`, in an order that people expect."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from estimica.base.errors import DataError
from estimica.base.suggest import close_names

WILD = re.compile(r"[*?\[]")
#: files that one pattern may match: more cases no study can have
MOST = 10_000
SHOWN = 5  # names in a message


def is_pattern(name: str, folder: Path) -> bool:
    """Whether a name means several files; a file that is called so comes first."""
    try:
        return bool(WILD.search(name)) and not (folder / name).exists()
    except (OSError, ValueError):  # too long for a path, or a NUL within
        return False


def matching_files(pattern: str, folder: Path) -> tuple[str, ...]:
    """The files that a pattern means, in natural order, named as the pattern is.

    Wildcards stand for parts of one name, never for folders within folders. Hidden files, lock
    files of office programs, folders and devices are passed over.
    """
    if "**" in pattern:
        raise DataError("D060", f"'{pattern}': ** is not understood; write * for each folder")
    absolute = os.path.isabs(pattern)
    parts = PurePosixPath(pattern.replace(os.sep, "/")).parts
    found = [parts[0]] if absolute else [""]
    for part in parts[1:] if absolute else parts:
        if not WILD.search(part):
            found = [os.path.join(above, part) for above in found]
            continue
        found = [os.path.join(above, n) for above in found for n in _names(folder / above, part)]
        if len(found) > MOST:
            raise DataError("D061", f"'{pattern}' means more than {MOST} files; narrow it")
    files = [Path(f).as_posix() for f in found if os.path.isfile(folder / f)]
    if not files:
        raise DataError("D060", f"no file matches '{pattern}'{_instead(pattern, folder)}")
    return tuple(sorted(files, key=natural_key))


def natural_key(name: str) -> tuple[object, ...]:
    """By which run2 stands before run10; letters of both sizes are alike at first."""
    words = re.split(r"(\d+)", name.casefold())
    return tuple((int(w), "") if w.isdigit() else (-1, w) for w in words), name


def file_labels(files: Sequence[str]) -> list[str]:
    """A short name for each file: without folder and ending, as far as they differ so."""
    paths = [PurePosixPath(f) for f in files]
    forms = (
        [p.stem for p in paths],
        [p.name for p in paths],
        [str(p.with_suffix("")) for p in paths],
    )
    for labels in forms:
        if max(Counter(labels).values()) == 1:
            return labels
    return [str(p) for p in paths]


def _names(folder: Path, pattern: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    hidden = (".", "~$")
    return [n for n in names if fnmatchcase(n, pattern) and not n.startswith(hidden)]


def _instead(pattern: str, folder: Path) -> str:
    """What there is in the folder where a pattern leads to nothing."""
    above = folder / os.path.dirname(pattern)
    if WILD.search(os.path.dirname(pattern)):
        return ""
    if not above.is_dir():
        beside = (
            [p.name for p in above.parent.iterdir() if p.is_dir()] if above.parent.is_dir() else []
        )
        near = close_names(above.name, beside)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f": there is no folder '{above}'{hint}"
    names = sorted(_names(above, "*"), key=natural_key)
    plain = WILD.sub("", os.path.basename(pattern))
    ordered = [*close_names(plain, names), *names]
    shown = list(dict.fromkeys(ordered))[:SHOWN]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    listed = ", ".join(f"'{n}'" for n in shown)
    return f": folder '{above}' holds {listed}{more}" if shown else f": folder '{above}' is empty"
