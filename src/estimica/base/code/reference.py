"""CodeReference: what a text means as code, decided here and nowhere else.

Whoever looks for code in a study and whoever loads it ask the same function, so that nothing can
be loaded that was not found.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

ENDING = ".py"
#: what somebody may have meant as Python, however it is spelt
#: (repeats give nothing back: long runs of spaces must not take time)
_MEANT = re.compile(r"\.py[cow3]?(?:\s*+:|[/\\.\s]*+$)")


class CodeRefusedError(Exception):
    """A text that means code which cannot be used; the text says why."""


@dataclass(frozen=True)
class CodeReference:
    """A file, as the study writes it, and the name of a function; "" where none is given."""

    file: str
    function: str = ""


def means_code(text: str) -> bool:
    """Whether a text means a Python file, be it rightly spelt or not.

    What looks like one only after another spelling (`．ｐｙ`, `.PY`, control characters, a slash at
    the end) counts too: it is then refused by `code_reference`, not taken for something else.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(" " if _is_control(c) else c for c in plain)
    return _MEANT.search(visible) is not None


def means_fmu(text: str) -> bool:
    """Whether a text means the file of an FMU."""
    return text.lower().endswith(".fmu")


def code_reference(text: str) -> CodeReference:
    """The file and the function that a text means; CodeRefusedError says what is wrong with it."""
    if text != text.strip() or any(_is_control(c) for c in text):
        raise CodeRefusedError(
            f"{text!r} has control characters, or spaces at its ends; write file.py:function"
        )
    file, colon, function = text.rpartition(":")
    if not (colon and file.endswith(ENDING)):
        file, function = text, ""
    named = not colon or file == text or function.isidentifier()
    if not file.endswith(ENDING) or not named or _is_odd(file):
        raise CodeRefusedError(f"'{text}' is not written as file.py:function")
    return CodeReference(file, function)


def _is_odd(file: str) -> bool:
    """No name before the ending, or spaces at the ends of the file's name."""
    stem = file[: -len(ENDING)].replace("\\", "/").rpartition("/")[2]
    return not stem.strip() or file != file.strip()


def _is_control(character: str) -> bool:
    """Control and invisible characters, lone surrogates, separators of lines."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
