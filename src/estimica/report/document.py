"""Pages: one HTML file with texts, tables and figures that needs nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from importlib.resources import files
from os import PathLike
from pathlib import Path

import jinja2
from markupsafe import Markup
from plotly.graph_objects import Figure
from plotly.offline import get_plotlyjs

from estimica.base.errors import ReportError
from estimica.base.show import Bars, Curves, Heat, Listing, Page, Parallel, Section, Shown, Table
from estimica.report import bars, heat, parallel, plots
from estimica.report.text import printed


def write_page(path: str | Path, title: str, sections: Sequence[Section], lead: str = "") -> Path:
    """Write a self-contained page to `path` and return where it is."""
    path = Path(path)
    page = _template("page.html.jinja").render(
        title=title,
        lead=lead,
        sections=[(s.heading, _paragraphs(s.text), list(map(fragment, s.shown))) for s in sections],
        plotly=Markup(get_plotlyjs()),
        made=f"estimica {version('estimica')}, {datetime.now():%Y-%m-%d %H:%M}",
    )
    try:
        # a name may hold half a surrogate pair, which is no text in UTF-8
        path.write_text(page, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ReportError("P001", f"cannot write '{path}': {error.strerror}") from None
    return path


def write_shown(page: Page, path: str | PathLike[str]) -> Path:
    """Write what a result says of itself."""
    return write_page(Path(path), page.title, page.sections, page.lead)


def fragment(shown: Shown) -> Markup:
    """A figure or a table as HTML for a page that has plotly.js."""
    if isinstance(shown, Table):
        return Markup(table_fragment(shown))
    if isinstance(shown, Listing):
        return Markup(listing_fragment(shown))
    return Markup(_html(shown, plotly=False))


def curves_fragment(shown: Curves | Heat | Bars | Parallel) -> str:
    """A figure as HTML that brings plotly.js along, for notebooks."""
    return _html(shown, plotly=True)


def _figure(shown: Curves | Heat | Bars | Parallel) -> Figure:
    if isinstance(shown, Heat):
        return heat.figure(shown)
    if isinstance(shown, Parallel):
        return parallel.figure(shown)
    return bars.figure(shown) if isinstance(shown, Bars) else plots.figure(shown)


def _html(shown: Curves | Heat | Bars | Parallel, plotly: bool) -> str:
    figure = _figure(shown)
    return str(figure.to_html(include_plotlyjs=plotly, full_html=False, config=_BUTTONS))


def table_fragment(table: Table) -> str:
    """A table as HTML."""
    rows = [[(printed(c), isinstance(c, (int, float))) for c in row] for row in table.rows]
    columns = [(n, any(row[k][1] for row in rows)) for k, n in enumerate(table.columns)]
    return _template("table.html.jinja").render(table=table, columns=columns, rows=rows)


def listing_fragment(listing: Listing) -> str:
    """A text as it was typed, as HTML."""
    return _template("listing.html.jinja").render(listing=listing)


def _paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if part.strip()]


_BUTTONS = {"displaylogo": False, "responsive": True}


def _template(name: str) -> jinja2.Template:
    source = files("estimica.report").joinpath("templates", name).read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(source)
