"""Close names for a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

#: share of letters that a misspelt name has right. Chosen by examples: Rael and Real have 0.75,
#: Heatr and Heater 0.91, but Single and String 0.67
MISSPELT = 0.75


def close_names(wrong: object, known: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` names of `known` that `wrong` may have meant, the likeliest first.

    Who misspells a name may as well give a number in its place.
    """
    wrong, known = str(wrong), list(known)
    exact = [k for k in known if k.lower() == wrong.lower()]
    tail = [k for k in known if k.rsplit(".", 1)[-1].lower() == wrong.rsplit(".", 1)[-1].lower()]
    near = get_close_matches(wrong, known, n=count, cutoff=0.6)
    return list(dict.fromkeys(exact + tail[:count] + near))[:count]


def misspelt(wrong: str, known: Iterable[str]) -> str:
    """As `did_you_mean`, but only for names that can hardly be anything else."""
    return did_you_mean(wrong, get_close_matches(wrong, list(known), n=3, cutoff=MISSPELT))


def did_you_mean(wrong: object, known: Iterable[str]) -> str:
    """`; did you mean 'a' or 'b'?`, or an empty text where nothing is close."""
    return _asked(close_names(wrong, known))


def did_you_mean_file(path: Path) -> str:
    """The same for files of the same ending in the same folder."""
    try:
        beside = [p for p in sorted(path.parent.iterdir()) if p.suffix == path.suffix]
    except OSError:
        return ""
    stems = {p.stem: p.name for p in beside}
    return _asked([stems[s] for s in get_close_matches(path.stem, stems, n=3, cutoff=0.6)])


def _asked(close: list[str]) -> str:
    names = [f"'{n}'" for n in close]
    if not names:
        return ""
    return (
        f"; did you mean {names[0]}?"
        if len(names) == 1
        else f"; did you mean {', '.join(names[:-1])} or {names[-1]}?"
    )
