"""Safe name: whether the name of a file, as a browser sends it, may be looked for at all."""

from __future__ import annotations

import re
import unicodedata

from estimica.base.errors import WebError

LONGEST = 1000  # characters of a name with its folders
LONGEST_PART = 255  # bytes, what file systems allow
DEEPEST = 32
_DRIVE = re.compile(r"[A-Za-z]:")
_ESCAPED = re.compile(r"%(2e|2f|5c|00)", re.IGNORECASE)
_RESERVED = re.compile(
    r"(con|prn|aux|nul|clock\$|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)", re.IGNORECASE
)
_FORBIDDEN = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}  # controls, bidi and invisible characters
_NOT_IN_NEW = set('<>:"|?*%#')


def safe_parts(name: str) -> tuple[str, ...]:
    """The folders and the file of a name relative to the served folder, normalised.

    The name is decoded already: what still holds an escaped dot or slash is refused.
    """
    if not name or name.isspace():
        raise refused(name, "it is empty")
    name = unicodedata.normalize("NFC", name)
    if len(name) > LONGEST:
        raise refused(name[:40] + "…", f"it has more than {LONGEST} characters")
    if any(unicodedata.category(c) in _FORBIDDEN for c in name):
        raise refused(name, "it holds control characters, or ones that cannot be seen")
    if "\\" in name or _ESCAPED.search(name):
        raise refused(name, "it holds a backslash or an escape; write folders with '/'")
    if name.startswith(("/", "~")) or _DRIVE.match(name):
        raise refused(name, "write it relative to the served folder")
    parts = tuple(name.split("/"))
    if len(parts) > DEEPEST:
        raise refused(name[:40] + "…", f"it is more than {DEEPEST} folders deep")
    for part in parts:
        _require_part(part, name)
    return parts


def _require_part(part: str, name: str) -> None:
    if part in ("", ".", ".."):
        raise refused(name, "it does not stay in the served folder")
    if part.startswith("."):
        raise refused(name, "hidden files are not served")
    if part != part.rstrip(" ."):
        raise refused(name, "a part ends in a dot or a space")
    if len(part.encode()) > LONGEST_PART:
        raise refused(name[:40] + "…", f"a part has more than {LONGEST_PART} bytes")
    if _RESERVED.match(part) or _DRIVE.match(part):
        raise refused(name, f"'{part}' means a device or a drive on some machines")


def safe_new_name(name: str) -> tuple[str, ...]:
    """The parts of a name for a new file, which every file system can hold."""
    parts = safe_parts(name)
    odd = sorted(_NOT_IN_NEW & set(name))
    if odd:
        raise refused(name, f"leave out {' '.join(odd)} in names of new files")
    return parts


def refused(name: str, why: str) -> WebError:
    """The error about a name; what cannot be printed is shown as its code."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
    return WebError("G010", f"'{shown}' is not a name of a file here: {why}")
