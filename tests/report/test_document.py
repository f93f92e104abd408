"""Pages stand alone: no network, nothing executed that a name smuggled in."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from estimica.base import view as show
from estimica.base.errors import ReportError
from estimica.base.view import (
    Curve,
    Curves,
    Heat,
    Listing,
    Page,
    Panel,
    Section,
    Table,
    trajectories,
)
from estimica.report.html import curves_fragment, page_html, table_fragment, write_page
from estimica.report.plotly.compact_json import figure_json

TIME = np.linspace(0.0, 1.0, 11)


def test_page_needs_nothing_from_the_network(tmp_path: Path) -> None:
    curves = trajectories([Curve("E", TIME, TIME, "MW")])
    page = write_page(tmp_path / "page.html", "Boiler", [Section("Curves", "Text.", (curves,))])
    text = page.read_text(encoding="utf-8")
    assert '<figure class="plot" id="figure-1"' in text
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", text)
    packed = re.search(r'id="plotly">([^<]+)<', text)
    assert packed
    assert len(packed[1]) > 1_000_000
    rest = text.replace(packed[1], "")
    assert not re.findall(r"https?://|@import|url\(", rest.replace('href^="http"', ""))
    assert ">Curves</a></h2>" in text


def test_names_are_escaped(tmp_path: Path) -> None:
    section = Section("<b>", "a < b", (Table(("<i>",), (("<script>",),)),))
    text = write_page(tmp_path / "page.html", "<title>", [section]).read_text(encoding="utf-8")
    assert "<script></td>" not in text
    assert "&lt;script&gt;" in text
    assert ">&lt;b&gt;</a></h2>" in text


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


def test_page_of_a_million_samples_is_below_five_megabytes_and_keeps_the_extremes(
    tmp_path: Path,
) -> None:
    time = np.linspace(0.0, 1e5, 1_000_000)
    y = np.sin(time)
    y[123_456] = 7.25
    panels = tuple(
        Panel("y", (Curve("m", time, y, dotted=True), Curve("s", time, y))) for _ in "ab"
    )
    page = Page("big", tuple(Section(f"s{k}", "", (Curves(panels),)) for k in range(8)))
    text = show.write(page, tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(text) < 5e6
    told = json.loads(re.search(r'id="f1">(.*)</script>', text)[1])  # type: ignore[index]
    for trace in told["data"]:
        assert trace["y"]["dtype"] == "f4"
        drawn = np.frombuffer(b64decode(trace["y"]["bdata"]), "<f4")
        assert drawn.max() == 7.25


def test_large_offsets_keep_double_precision() -> None:
    epoch = 1.7e9 + np.arange(100.0) / 10
    told = json.loads(figure_json(show.figure(trajectories([Curve("y", epoch, TIME[0] + epoch)]))))
    assert told["data"][0]["x"]["dtype"] == "f8"
    assert np.array_equal(np.frombuffer(b64decode(told["data"][0]["x"]["bdata"]), "<f8"), epoch)


def test_maps_with_holes_are_written_as_arrays() -> None:
    value = np.arange(900.0).reshape(30, 30)
    value[3, 4] = np.nan
    heat = Heat(np.arange(30.0), np.arange(30.0), value, "x", "y", "v")
    told = json.loads(figure_json(show.figure(heat)))
    assert told["data"][0]["z"]["shape"] == "30, 30"
    z = np.frombuffer(b64decode(told["data"][0]["z"]["bdata"]), "<f4").reshape(30, 30)
    assert np.array_equal(z, value.astype(np.float32), equal_nan=True)


def test_long_pages_have_a_contents_list_that_leads_to_every_section() -> None:
    text = page_html(Page("t", tuple(Section(f"Heading {k}", "Text.") for k in range(6))))
    for k in range(1, 7):
        assert f'<a href="#s{k}">Heading {k - 1}</a></li>' in text
        assert f'<h2 id="s{k}">' in text
    assert "<nav" not in page_html(Page("t", (Section("One", "Text."),)))


def test_chapters_stand_above_their_sections() -> None:
    sections = (Section("Fit", chapter=True), Section("Estimates"), Section("Quality"))
    text = page_html(Page("t", sections))
    assert '<h2 class="chapter" id="s1">Fit</h2>' in text
    assert '<h3 id="s2">' in text


def test_words_are_explained_once_where_they_appear_first() -> None:
    sections = (Section("A", "The RMSE is 1."), Section("B", "The RMSE is 2; the bias is 0."))
    text = page_html(Page("t", sections))
    assert text.count("<dt>RMSE</dt>") == 1
    assert text.index("<dt>RMSE</dt>") < text.index("The RMSE is 2") < text.index("<dt>bias</dt>")


def test_listings_are_folded_where_they_are_long_and_never_executed() -> None:
    text = page_html(Page("t", (Section("h", "", (Listing("</pre><script>x", "file", True),)),)))
    assert "<summary>file</summary><pre>&lt;/pre&gt;&lt;script&gt;x</pre>" in text


def test_a_page_without_figures_brings_no_plotly() -> None:
    assert len(page_html(Page("t", (Section("h", "Text."),)))) < 30_000


@pytest.mark.parametrize(("name", "hint"), [("a.pdf", "; print the HTML page"), ("a.docx", "")])
def test_other_endings_are_refused_with_what_to_do(tmp_path: Path, name: str, hint: str) -> None:
    page = Page("t", ())
    with pytest.raises(
        ReportError, match=rf"P022: cannot write .*{name}.*\.html or an \.md.*{hint}"
    ):
        show.write(page, tmp_path / name)
