"""Figures, pages and tables of results; importing this room registers how results are shown."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from estimica.base.view import (
    Bars,
    Curves,
    Form,
    Heat,
    Listing,
    Page,
    Parallel,
    Table,
    register,
    register_figures,
    register_writer,
)


def _on_use(module: str, function: str) -> Callable[..., Any]:
    """`function` of `module`, imported when first called: plotting libraries are slow to load."""

    def call(*shown: Any) -> Any:
        return getattr(import_module(module), function)(*shown)

    return call


register(Curves, Form.FIGURE, _on_use("estimica.report.plotly.curves", "figure"))
register(Curves, Form.HTML, _on_use("estimica.report.html", "curves_fragment"))
register(Curves, Form.TEXT, _on_use("estimica.report.text", "curves_text"))
register(Table, Form.FIGURE, _on_use("estimica.report.plotly.curves", "table_figure"))
register(Table, Form.HTML, _on_use("estimica.report.html", "table_fragment"))
register(Table, Form.TEXT, _on_use("estimica.report.text", "table_text"))
register(Heat, Form.FIGURE, _on_use("estimica.report.plotly.heat", "figure"))
register(Heat, Form.HTML, _on_use("estimica.report.html", "curves_fragment"))
register(Heat, Form.TEXT, _on_use("estimica.report.plotly.heat", "heat_text"))
register(Bars, Form.FIGURE, _on_use("estimica.report.plotly.bars", "figure"))
register(Bars, Form.HTML, _on_use("estimica.report.html", "curves_fragment"))
register(Bars, Form.TEXT, _on_use("estimica.report.plotly.bars", "bars_text"))
register(Parallel, Form.FIGURE, _on_use("estimica.report.plotly.parallel", "figure"))
register(Parallel, Form.HTML, _on_use("estimica.report.html", "curves_fragment"))
register(Parallel, Form.TEXT, _on_use("estimica.report.plotly.parallel", "parallel_text"))
register(Listing, Form.FIGURE, _on_use("estimica.report.plotly.curves", "listing_figure"))
register(Listing, Form.HTML, _on_use("estimica.report.html", "listing_fragment"))
register(Listing, Form.TEXT, _on_use("estimica.report.text", "listing_text"))
register_writer(Page, _on_use("estimica.report.write", "write_report"))
register_figures(_on_use("estimica.report.matplotlib.files", "write_figures"))
