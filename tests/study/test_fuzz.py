"""Whatever stands in a study file, it is told in words and never with a traceback."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from estimica.study.check.run import check_file
from estimica.study.file import model as model_file
from estimica.study.file import read as study_file

ODD: list[Any] = [
    None, True, -1, 0, 3.5, float("nan"), float("inf"), "", "x", "a.b", "…", [], [1], ["x", "y"],
    {}, {"a": 1}, {"start": "x"}, [[1, 2]], [{}], "run1.csv", 10**400, [[]], {"": 0},
]  # fmt: skip
LETTERS = "[]{}=\",.'#\n ab1-_é\x00"


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a nested value."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items if isinstance(value, (dict, list)) else ():
        if isinstance(inner, (dict, list)):
            found += places(inner, (*path, key))
        else:
            found.append((*path, key))
    return found


def changed(tables: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The tables with one value replaced, or one key misspelt."""
    import copy

    found = copy.deepcopy(tables)
    *outer, last = chance.choice(places(found))
    owner: Any = found
    for key in outer:
        owner = owner[key]
    odd = chance.choice(ODD)
    if isinstance(owner, dict) and (odd is None or chance.random() < 0.2):
        owner[str(last) + "x"] = owner.pop(last)
    else:
        owner[last] = 0 if odd is None else odd
    return found


def test_odd_values_are_told(study: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = study()
    more = {
        "estimate": {"criterion": "ml", "starts": 2},
        "solver": {"rtol": 1e-6},
        "release": {"any": 1},
    }
    tables = tomllib.loads(path.read_text(encoding="utf-8")) | more
    # the model is not what is tried here
    monkeypatch.setattr(model_file, "_loaded", lambda *_: None)
    monkeypatch.setattr(model_file, "_of_function", lambda _: None)
    chance = random.Random(1)
    for _ in range(500):
        odd = changed(changed(tables, chance), chance)
        monkeypatch.setattr(study_file, "_tables", lambda _, odd=odd: odd)
        check_file(path)


def test_odd_texts_are_told(study: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    path = study()
    text = path.read_text(encoding="utf-8")
    monkeypatch.setattr(model_file, "_loaded", lambda *_: None)
    monkeypatch.setattr(model_file, "_of_function", lambda _: None)
    chance = random.Random(2)
    for _ in range(400):
        at = chance.randrange(len(text))
        odd = text[:at] + chance.choice(LETTERS) + text[at + chance.randrange(3) :]
        path.write_text(odd, encoding="utf-8")
        check_file(path)


def test_odd_studies_of_a_model_are_told(study: Callable[..., Path]) -> None:
    path = study()
    text = path.read_text(encoding="utf-8")
    chance = random.Random(3)
    words = ["a", "b", "u", "y", "x", "T", "n", "w[1]", "level", "current", "other", "temp", "t"]
    for _ in range(60):
        odd = text
        for _ in range(2):
            odd = odd.replace(f'"{chance.choice(words)}"', f'"{chance.choice(words)}"')
            odd = odd.replace(f"{chance.choice(words)} = ", f'"{chance.choice(words)}" = ', 1)
        path.write_text(odd, encoding="utf-8")
        check_file(path)


def test_odd_data_are_told(study: Callable[..., Path], folder: Path) -> None:
    path = study()
    table = (folder / "run1.csv").read_text(encoding="utf-8")
    chance = random.Random(4)
    for _ in range(60):
        at = chance.randrange(len(table))
        odd = table[:at] + chance.choice(["", ",", "x", "nan", "\n", "1e999", '"', "-", ";"])
        (folder / "run1.csv").write_text(odd + table[at + 1 :], encoding="utf-8")
        check_file(path)
