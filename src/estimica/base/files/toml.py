"""TOML texts of a user: parsed at one place, which refuses what would take all memory or time."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

#: names within names, and lists within lists: a study has at most six; one table is made for each
#: beginning of a dotted key, so that the memory grows with the square of its parts
DEPTH = 32
#: bytes of a TOML file; 1 MB takes about a second, and a study of 10,000 cases has 0.7 MB
TOML_LIMIT = 2_000_000
#: entries of a list or table, each of which is checked: 50,000 take some seconds
ENTRIES = 50_000
#: characters of a text, and of a name: formulas are shorter, and no file system has longer paths
CHARACTERS, NAME = 40_000, 1_000
BOM = "\ufeff"
# a part of a key and the dot behind it; the parts are taken whole (possessive), else a long name
# would be tried in all its divisions
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DEEP_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}){{{DEPTH}}}")
_LONG_NUMBER = re.compile(r"\d{4300}")  # digits that Python turns into an integer, at most


def load_toml(text: str) -> dict[str, Any]:
    """The tables of a text; TOMLDecodeError, with its place, for whatever is wrong with it."""
    text = text.removeprefix(BOM)
    if len(text) > TOML_LIMIT:
        raise tomllib.TOMLDecodeError(
            f"the text has {len(text)} characters, and at most {TOML_LIMIT} are read"
        )
    deep = _DEEP_KEY.search(text)
    if deep:
        raise _at(text, deep.start(), f"a name has more than {DEPTH} parts between dots")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python's limit to the digits of an integer
        long = _LONG_NUMBER.search(text.replace("_", ""))
        why = "a number has more than 4300 digits"
        raise _at(text, long.start() if long else 0, why) from None
    _require_small(tables)
    return tables


def _require_small(tables: Mapping[str, Any]) -> None:
    """Refuse what is nested too deeply, has too many entries or too long names and texts."""
    level: list[dict[str, Any] | list[Any]] = [dict(tables)]
    for _ in range(DEPTH + 1):
        for outer in level:
            _require_few(outer)
        level = [v for outer in level for v in _values(outer) if isinstance(v, (dict, list))]
        if not level:
            return
    raise _too_deep()


def _require_few(outer: dict[str, Any] | list[Any]) -> None:
    if len(outer) > ENTRIES:
        raise tomllib.TOMLDecodeError(
            f"a list or table has {len(outer)} entries, and at most {ENTRIES} are read; write "
            "values that are data into a data file, or a range as { from, to, count }"
        )
    texts = ((v, CHARACTERS) for v in _values(outer) if isinstance(v, str))
    names = ((k, NAME) for k in outer) if isinstance(outer, dict) else ()
    for text, limit in (*texts, *names):
        if len(text) > limit:
            raise tomllib.TOMLDecodeError(
                f"'{text[:40]}…' has {len(text)} characters, and at most {limit} are read"
            )


def _values(outer: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer


def _too_deep() -> tomllib.TOMLDecodeError:
    return tomllib.TOMLDecodeError(
        f"brackets are nested too deeply: at most {DEPTH} tables or lists stand in one another"
    )


def _at(text: str, start: int, why: str) -> tomllib.TOMLDecodeError:
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return tomllib.TOMLDecodeError(f"{why} (at line {line}, column {column})")
