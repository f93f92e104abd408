"""Markdown has every text and table, and its figures beside it."""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from estimica.base import view as show
from estimica.base.errors import ReportError
from estimica.base.view import Curve, Listing, Page, Rounded, Section, Table, trajectories
from estimica.report.markdown import table_markdown

TIME = np.linspace(0.0, 1.0, 11)


def test_tables_have_pipes_and_numbers_to_the_right() -> None:
    rows = (("R|1", Rounded(2.0, 2), None), ("tau", 0.5, True))
    text = table_markdown(Table(("name", "value", "remark"), rows, "Title", "A note."))
    assert text.splitlines() == [
        "**Title**",
        "",
        "| name | value | remark |",
        "| ---- | ----: | ------ |",
        "| R\\|1 |  2.00 |        |",
        "| tau  |   0.5 | yes    |",
        "",
        "*A note.*",
    ]


def test_page_in_markdown_has_headings_texts_listings_and_figures(tmp_path: Path) -> None:
    curves = trajectories([Curve("y", TIME, TIME**2, "m")])
    shown = (curves, Listing("```\nx = 1", "The file"))
    page = Page("Plant <1>", (Section("Curves of y", "One.\n\nTwo *stars*.", shown),), "Lead.")
    path = show.write(page, tmp_path / "plant.md")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Plant \\<1>\n\nLead.\n\n## Curves of y\n\nOne.\n\nTwo \\*stars\\*.")
    assert "````\n```\nx = 1\n````" in text
    (link,) = re.findall(r"!\[.*\]\((.*)\)", text)
    assert link == "plant_figures/01_curves_of_y.svg"
    root = ElementTree.parse(tmp_path / link).getroot()
    assert root.tag.endswith("svg")
    words = "".join(root.itertext())
    assert "time [s]" in words
    assert "y [m]" in words


def test_words_are_explained_in_markdown_too(tmp_path: Path) -> None:
    page = Page("t", (Section("h", "The RMSE is 1."),))
    assert "> **RMSE**: root mean square" in show.write(page, tmp_path / "a.md").read_text("utf-8")


def test_chapters_have_their_sections_below_them(tmp_path: Path) -> None:
    page = Page("t", (Section("Fit", chapter=True), Section("Estimates", "Text.")))
    text = show.write(page, tmp_path / "a.md").read_text(encoding="utf-8")
    assert "- Fit\n\n## Fit\n\n### Estimates" in text


def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    page = Page("t", (Section("h", "", (trajectories([Curve("y", TIME, TIME)]),)),))
    with pytest.raises(ReportError, match=r"P024: .*pip install 'estimica\[figures\]'"):
        show.write(page, tmp_path / "a.md")
