"""Which commands a page may run, and with which options: none of them names a file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from estimica.base.errors import WebError
from estimica.base.suggest import did_you_mean

# chosen: a command line stays far below what systems take, and names of models are long
LONGEST = 500  # characters of one value
MOST = 200  # values
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_NAMES = re.compile(r"[^\x00-\x1f\x7f]+")


class Kind(Enum):
    """What may stand behind an option."""

    FLAG = "nothing"
    NUMBER = "a number"
    WHOLE = "a whole number"
    WORD = "one word of letters, digits, '-', '_' and '.'"
    TEXT = "a text in one line"


FLAG, REAL, WHOLE = Kind.FLAG, Kind.NUMBER, Kind.WHOLE
WORD, TEXT = Kind.WORD, Kind.TEXT
_SHARED = {"workers": WHOLE, "seed": WHOLE}
_AGAIN = {"resume": WORD}
_BEGIN = {"fit": WORD}  # the run whose values a command begins with


@dataclass(frozen=True)
class Allowed:
    """Options of one command by name, and how many names may follow the study."""

    options: Mapping[str, Kind]
    names: tuple[int, int] = (0, 0)


COMMANDS: Mapping[str, Allowed] = {
    "fit": Allowed(
        _SHARED
        | _BEGIN
        | {
            "criterion": WORD,
            "method": WORD,
            "transcription": WORD,
            "starts": WHOLE,
            "max-iterations": WHOLE,
        }
    ),
    "release": Allowed(
        _SHARED | _AGAIN | _BEGIN | {"risk": REAL, "starts": WHOLE, "max-steps": WHOLE}
    ),
    "find-noise": Allowed(
        _SHARED | _AGAIN | _BEGIN | {"risk": REAL, "starts": WHOLE, "steps": WHOLE}, (0, MOST)
    ),
    "bootstrap": Allowed(
        _SHARED | _AGAIN | _BEGIN | {"replicates": WHOLE, "kind": WORD, "block-length": WHOLE}
    ),
    "profile": Allowed(
        {"workers": WHOLE, "level": REAL, "points": WHOLE} | _AGAIN | _BEGIN, (0, MOST)
    ),
    "sample": Allowed(
        _SHARED
        | _AGAIN
        | _BEGIN
        | {"draws": WHOLE, "chains": WHOLE, "warmup": WHOLE, "method": WORD, "acceptance": REAL}
    ),
    "crossvalidate": Allowed({"workers": WHOLE, "by": WORD, "folds": WHOLE} | _AGAIN | _BEGIN),
    "identifiability": Allowed(_SHARED | _BEGIN | {"structural": FLAG, "no-structural": FLAG}),
    "residuals": Allowed(_BEGIN | {"workers": WHOLE, "level": REAL, "covariance": WORD}),
    "states": Allowed(_BEGIN | {"workers": WHOLE, "level": REAL}),
    "predict": Allowed(_BEGIN | {"workers": WHOLE, "level": REAL, "ahead": WHOLE}),
    "forecast": Allowed(
        _BEGIN
        | {
            "workers": WHOLE,
            "seed": WHOLE,
            "level": REAL,
            "until": TEXT,
            "case": TEXT,
            "hold": WORD,
            "paths": WHOLE,
        }
    ),
    "monitor": Allowed(
        _BEGIN
        | {
            "case": TEXT,
            "once": FLAG,
            "memory": REAL,
            "drift": TEXT,
            "wild": REAL,
            "false-alarm": REAL,
            "relearn": REAL,
            "restart": FLAG,
        }
    ),
    "map": Allowed(
        _BEGIN
        | {
            "workers": WHOLE,
            "points": WHOLE,
            "range": TEXT,
            "refit": FLAG,
            "at-start": FLAG,
            "differences": FLAG,
        },
        (1, 2),
    ),
    "optimise": Allowed(
        _SHARED
        | _AGAIN
        | _BEGIN
        | {
            "method": WORD,
            "aggregate": WORD,
            "pareto": FLAG,
            "criteria": TEXT,
            "points": WHOLE,
            "front": WORD,
            "max-evaluations": WHOLE,
            "max-iterations": WHOLE,
            "starts": WHOLE,
            "population": WHOLE,
        }
    ),
    "sweep": Allowed(
        _SHARED
        | _AGAIN
        | _BEGIN
        | {"vary": TEXT, "design": WORD, "samples": WHOLE, "curves": WHOLE}
    ),
    "montecarlo": Allowed(
        _SHARED
        | _AGAIN
        | _BEGIN
        | {"samples": WHOLE, "sampling": WORD, "source": WORD, "sensitivity": WORD, "curves": WHOLE}
    ),
    "design-input": Allowed(
        {"workers": WHOLE, "kind": WORD, "criterion": WORD, "refine": FLAG} | _AGAIN | _BEGIN
    ),
    "backcalculate": Allowed(
        _BEGIN | {"against": TEXT, "leave-out": TEXT, "law": TEXT, "errors": WORD}, (0, MOST)
    ),
}


def arguments(command: str, options: Sequence[str]) -> tuple[list[str], list[str]]:
    """(options, names) as they are handed to a command, or an error that says what is refused."""
    allowed = COMMANDS.get(command)
    if allowed is None:
        raise WebError(
            "G040",
            f"the workbench does not run '{command}'{did_you_mean(command, COMMANDS)}"
            f" (it runs {', '.join(COMMANDS)})",
        )
    if len(options) > MOST:
        raise WebError("G041", f"'{command}' with {len(options)} options: at most {MOST}")
    words: list[str] = []
    names: list[str] = []
    rest = iter(options)
    for text in rest:
        if text.startswith("-"):
            words.append(_option(command, allowed, text, rest))
        else:
            names.append(_value(f"'{command}': name", Kind.TEXT, text))
    least, most = allowed.names
    if not least <= len(names) <= most:
        wanted = (
            f"{least}" if least == most else f"{least} to {most}" if least else f"at most {most}"
        )
        raise WebError(
            "G042", f"'{command}' takes {wanted} names after the study, not {len(names)}"
        )
    return words, names


def _option(command: str, allowed: Allowed, text: str, rest: Iterator[str]) -> str:
    """`--name=value`, so that a value cannot be taken for another option."""
    name, equals, value = text.removeprefix("--").partition("=")
    kind = allowed.options.get(name) if text.startswith("--") else None
    if kind is None:
        raise WebError(
            "G043",
            f"'{command}' with option '{text.partition('=')[0]}': the workbench does not set it"
            f"{did_you_mean(name, allowed.options)}",
        )
    if kind is Kind.FLAG:
        if equals:
            raise WebError("G044", f"'{command}': --{name} takes no value, not '{value}'")
        return f"--{name}"
    given = value if equals else next(rest, "")
    return f"--{name}={_value(f'{command!r}: --{name}', kind, given)}"


def _value(where: str, kind: Kind, text: str) -> str:
    fits = 0 < len(text) <= LONGEST
    if kind is Kind.WORD:
        fits = fits and _WORD.fullmatch(text) is not None
    elif kind is Kind.TEXT:
        fits = fits and _NAMES.fullmatch(text) is not None
    elif fits:
        fits = _is_number(text, kind)
    if not fits:
        raise WebError("G044", f"{where} takes {kind.value}, not '{text[:40]}'")
    return text


def _is_number(text: str, kind: Kind) -> bool:
    try:
        return math.isfinite(int(text) if kind is Kind.WHOLE else float(text))
    except (ValueError, OverflowError):
        return False
