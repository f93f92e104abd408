"""The pages about the inside of the house speak of what is there, and of all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "estimica"
PAGES = ROOT / "docs" / "inside"
ROOMS = sorted(p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__")


def folders_of(room: str) -> list[str]:
    """Its folders and theirs, as paths from the package."""
    return sorted(
        p.relative_to(PACKAGE).as_posix()
        for p in (PACKAGE / room).rglob("*")
        if p.is_dir() and (p / "__init__.py").is_file()
    )


def test_every_room_has_its_page_and_is_in_the_overview() -> None:
    assert sorted(p.stem for p in PAGES.glob("*.md") if p.stem != "index") == ROOMS
    overview = (PAGES / "index.md").read_text(encoding="utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for room in ROOMS:
        assert f"]({room}.md)" in overview
        assert f"\n  {room}/" in contributing


@pytest.mark.parametrize("page", [*ROOMS, "index"])
def test_what_a_page_names_is_there(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(ROOMS)})(?:/[\w.]+)*)`", text)
    assert named
    missing = [path for path in named if not (PACKAGE / path).exists()]
    assert not missing


@pytest.mark.parametrize("room", ROOMS)
def test_a_page_names_all_folders_of_its_room(room: str) -> None:
    text = (PAGES / f"{room}.md").read_text(encoding="utf-8")
    told = [f for f in folders_of(room) if f"`{f}" not in text]
    deep = [
        f
        for f in told
        if not any(f.startswith(f"{g}/") and f"`{g}" in text for g in folders_of(room))
    ]
    assert not deep
