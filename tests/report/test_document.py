"""Pages stand alone: no network, nothing executed that a name smuggled in."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from estimica.base import show
from estimica.base.errors import ReportError
from estimica.base.show import Curve, Curves, Page, Panel, Section, Table, trajectories
from estimica.report.document import curves_fragment, table_fragment, write_page

TIME = np.linspace(0.0, 1.0, 11)


def test_page_needs_nothing_from_the_network(tmp_path: Path) -> None:
    curves = trajectories([Curve("E", TIME, TIME, "MW")])
    page = write_page(tmp_path / "page.html", "Boiler", [Section("Curves", "Text.", (curves,))])
    text = page.read_text(encoding="utf-8")
    assert text.count("Plotly.newPlot(") >= 1
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", text)
    assert "<h2>Curves</h2>" in text


def test_names_are_escaped(tmp_path: Path) -> None:
    section = Section("<b>", "a < b", (Table(("<i>",), (("<script>",),)),))
    text = write_page(tmp_path / "page.html", "<title>", [section]).read_text(encoding="utf-8")
    assert "<script></td>" not in text
    assert "&lt;script&gt;" in text
    assert "<h2>&lt;b&gt;</h2>" in text


def test_paragraphs_are_kept_apart(tmp_path: Path) -> None:
    page = write_page(tmp_path / "page.html", "t", [Section("h", "One.\n\nTwo <b>.")])
    assert re.search(r"<p>One\.</p>\s*<p>Two &lt;b&gt;\.</p>", page.read_text(encoding="utf-8"))


def test_a_page_that_results_describe_is_written_through_the_registry(tmp_path: Path) -> None:
    page = Page("Title", (Section("Heading", "Text."),), "Lead")
    text = show.write(page, tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(part in text for part in ("Title", "Heading", "Text.", "Lead"))


def test_names_in_figures_cannot_leave_their_script(tmp_path: Path) -> None:
    odd = "</script><script>alert(1)</script>"
    curves = Curves((Panel(odd, (Curve(odd, TIME, TIME), Curve("b", TIME, TIME)), group=odd),), odd)
    page = write_page(tmp_path / "page.html", "t", [Section("h", "", (curves,))])
    assert "alert(1)</script>" not in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"P001: cannot write .*missing.*No such file"):
        write_page(tmp_path / "missing" / "page.html", "Boiler", [])


def test_notebook_fragment_brings_its_own_plotly() -> None:
    assert len(curves_fragment(trajectories([Curve("y", TIME, TIME)]))) > 1_000_000


def test_table_fragment_aligns_numbers() -> None:
    html = table_fragment(Table(("name", "value"), (("R", 2.0),), "Title", "Note"))
    assert '<td class="number">2</td>' in html
    assert "<caption>Title</caption>" in html
    assert "Note" in html
