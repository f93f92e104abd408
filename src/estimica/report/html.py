"""Pages: one HTML file with texts, tables and figures that needs nothing from the network."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

import jinja2
from markupsafe import Markup, escape
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from estimica.base.files.write import write_text
from estimica.base.thinning import thin_page
from estimica.base.view import (
    Bars,
    Curves,
    Heat,
    Listing,
    Page,
    Parallel,
    Section,
    Table,
    ViewElement,
)
from estimica.base.visible import visible
from estimica.report.glossary import words_by_section
from estimica.report.plotly import bars, heat, parallel
from estimica.report.plotly import curves as plots
from estimica.report.plotly.compact_json import figure_json
from estimica.report.text import printed, provenance

FEW_SECTIONS = 4  # that need no contents list
Drawable = Curves | Heat | Bars | Parallel


def write_page(path: str | Path, title: str, sections: Sequence[Section], lead: str = "") -> Path:
    """Write a self-contained page to `path` and return where it is."""
    return write_html(Page(title, tuple(sections), lead), Path(path))


def write_html(page: Page, path: str | PathLike[str]) -> Path:
    """Write a self-contained page to `path` and return where it is."""
    return write_text(path, page_html(page))


def page_html(page: Page) -> str:
    """The whole page as HTML: figures drawn by plotly.js, which is packed into it."""
    page = thin_page(page)
    figures: list[tuple[str, Markup]] = []
    sections = list(_parts(page, figures))
    return _template("page.html.jinja").render(
        title=page.title,
        lead=page.lead,
        sections=sections,
        contents=sections if len(sections) > FEW_SECTIONS else (),
        figures=figures,
        plotly=Markup(_packed_plotly()),
        style=Markup(_template_text("page.css")),
        script=Markup(_template_text("page.js")),
        made=provenance(),
    )


@dataclass(frozen=True)
class _Part:
    """A section as the template wants it."""

    id: str
    heading: str
    chapter: bool
    within: bool  # a chapter
    paragraphs: tuple[str, ...]
    shown: tuple[Markup, ...]
    words: tuple[tuple[str, str], ...]


def _parts(page: Page, figures: list[tuple[str, Markup]]) -> Iterator[_Part]:
    chapters = any(s.chapter for s in page.sections)
    for k, (s, words) in enumerate(zip(page.sections, words_by_section(page), strict=True), 1):
        shown = tuple(_item(item, figures) for item in s.shown)
        paragraphs = tuple(_paragraphs(s.text))
        within = chapters and not s.chapter
        yield _Part(f"s{k}", s.heading, s.chapter, within, paragraphs, shown, words)


def _item(shown: ViewElement, figures: list[tuple[str, Markup]]) -> Markup:
    if isinstance(shown, Table):
        return Markup(_table(shown, copy=len(shown.rows) > 1))
    if isinstance(shown, Listing):
        return Markup(_listing(shown, copy=True))
    drawn = plotly_figure(shown)
    number = len(figures) + 1
    figures.append((f"f{number}", Markup(figure_json(drawn))))
    height = drawn.layout.height or 450
    words = escape(visible(shown.title or "figure"))
    return Markup(
        f'<figure class="plot" id="figure-{number}" data-of="f{number}" aria-label="{words}" '
        f'style="height:{height:.0f}px"><p class="waiting">drawing …</p></figure>'
    )


def plotly_figure(shown: Drawable) -> Figure:
    """An interactive figure of anything that is not a text."""
    if isinstance(shown, Heat):
        return heat.figure(shown)
    if isinstance(shown, Parallel):
        return parallel.figure(shown)
    return bars.figure(shown) if isinstance(shown, Bars) else plots.figure(shown)


def curves_fragment(shown: Drawable) -> str:
    """A figure as HTML that brings plotly.js along, for notebooks."""
    figure = plotly_figure(shown)
    return str(figure.to_html(include_plotlyjs=True, full_html=False, config=_BUTTONS))


def table_fragment(table: Table) -> str:
    """A table as HTML."""
    return _table(table, copy=False)


def listing_fragment(listing: Listing) -> str:
    """A text as it was typed, as HTML."""
    return _listing(listing, copy=False)


def _table(table: Table, copy: bool) -> str:
    rows = [[(printed(c), isinstance(c, (int, float))) for c in row] for row in table.rows]
    columns = [(n, any(row[k][1] for row in rows)) for k, n in enumerate(table.columns)]
    values = {"table": table, "columns": columns, "rows": rows, "copy": copy}
    return _template("table.html.jinja").render(values)


def _listing(listing: Listing, copy: bool) -> str:
    return _template("listing.html.jinja").render(listing=listing, copy=copy)


def _paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if part.strip()]


_BUTTONS = {"displaylogo": False, "responsive": True}


@lru_cache(maxsize=1)
def _packed_plotly() -> str:
    """plotly.js, a third as long: the page unpacks it."""
    return b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode("ascii")


@lru_cache
def _template_text(name: str) -> str:
    return files("estimica.report").joinpath("templates", name).read_text(encoding="utf-8")


def _shown(value: object) -> object:
    """What a template puts in: texts visible, and then escaped; `Markup` is our own and stays."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else visible(value)


@lru_cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_template_text(name))
