"""Compare: what several runs found, side by side."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from estimica.apps.run_differences import (
    ABOUT,
    comparison_columns,
    comparison_rows,
    distinct_names,
    has_errors,
)
from estimica.apps.run_facts import cautions, objects, outcome, unknowns
from estimica.apps.run_pictures import (
    CRITERIA,
    CURVES,
    RunPage,
    criteria_bars,
    difference_curves,
    differences_text,
    overlaid_curves,
    run_page,
    without_curves,
)
from estimica.apps.web.files.recent_runs import FolderRun, runs_in, store_in, when
from estimica.apps.web.parts.figure import Figure, figure_data
from estimica.apps.web.parts.frame import frame, with_error_page
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import WebError
from estimica.base.view import Bar, Bars
from estimica.execute.runs.record import StoredRun


def register(workbench: Workbench) -> None:
    """Put the page in place."""

    @ui.page("/compare")
    @with_error_page(workbench)
    def compare(runs: str = "") -> None:
        chosen = runs_in(runs)
        if len(chosen) < 2:
            raise WebError("G051", "tick at least two runs to compare them")
        found = [(f, store_in(workbench.folder, f).run(r)) for f, r in chosen]
        with frame(workbench, "Compare runs"):
            ui.label("Runs side by side").classes("est-title")
            with ui.column().classes("est-card"):
                _table(found)
            names = distinct_names([run for _, run in found])
            pages = [
                run_page(store_in(workbench.folder, folder), run, name)
                for (folder, run), name in zip(found, names, strict=True)
            ]
            _criteria(pages)
            _curves(pages)
            picture = intervals([run for _, run in found])
            if picture.groups:
                with ui.column().classes("est-card"):
                    _heading("Values, with their 95 % intervals where they have some")
                    ui.label(
                        "Relative to the first run that has a value: 100 % is the same."
                    ).classes("est-soft")
                    Figure(figure_data(picture), label="Estimates with their intervals")


def _criteria(pages: list[RunPage]) -> None:
    bars = criteria_bars(pages)
    if bars is not None:
        with ui.column().classes("est-card"):
            _heading("Criteria over their demands")
            ui.label(CRITERIA).classes("est-soft")
            Figure(figure_data(bars), label="Criteria over their demands")


def _curves(pages: list[RunPage]) -> None:
    curves = overlaid_curves(pages)
    if curves is None:
        return
    with ui.column().classes("est-card"):
        _heading("Curves, one over the other")
        ui.label(CURVES).classes("est-soft")
        missing = without_curves(pages)
        if missing:
            ui.label(f"Nothing was kept to be drawn of {', '.join(missing)}.").classes("est-soft")
        Figure(figure_data(curves), label="Curves of all runs")
    less = difference_curves(pages)
    with ui.column().classes("est-card"):
        _heading("Differences of curves")
        if less is None:
            ui.label("The curves of these runs do not differ, or show different things.")
        else:
            ui.label(differences_text(pages)).classes("est-soft")
            Figure(figure_data(less), label="Differences of curves")


def _heading(text: str) -> None:
    ui.label(text).classes("est-h2").props("role=heading aria-level=2")


def intervals(runs: list[StoredRun]) -> Bars:
    """The estimates of several runs beside one another, each relative to the first."""
    groups = []
    for name in dict.fromkeys(n for run in runs for n in _entries(run)):
        entries = [(run, _entries(run)[name]) for run in runs if name in _entries(run)]
        values = [(run, e) for run, e in entries if isinstance(e.get("value"), (int, float))]
        first = values[0][1]["value"] if values else 0.0
        if len(values) < 2 or not first:
            continue
        bars = []
        for run, entry in values:
            below, above = _margins(entry["value"], entry.get("ci95"), first)
            at, label = 100 * entry["value"] / first, f"{entry['value']:.6g}"
            bars.append(Bar(run.summary.title, at, label, margin=above, margin_below=below))
        groups.append((str(name), tuple(bars)))
    return Bars(tuple(groups), "relative to the first run [%]")


def _margins(value: float, interval: object, first: float) -> tuple[float, float]:
    """How far an interval reaches below and above its value, which need not be its middle."""
    match interval:
        case [int() | float() as low, int() | float() as high]:
            ends = sorted(100 * (end - value) / first for end in (low, high))
            return max(-ends[0], 0.0), max(ends[1], 0.0)
    return 0.0, 0.0


def _entries(run: StoredRun) -> dict[str, dict[str, Any]]:
    return {n: dict(e) for n, e in unknowns(run.result)}


def _table(runs: list[tuple[str, StoredRun]]) -> None:
    stored = [run for _, run in runs]
    with ui.element("div").classes("est-wide"), ui.element("table").classes("est"):
        with ui.element("thead"), ui.element("tr"):
            _cell("", head=True)
            for k, word in enumerate(comparison_columns(stored)):
                with ui.element("th"):
                    if k and k % 2 == 0:
                        ui.label(word)
                    else:
                        folder, run = runs[(k + 1) // 2]
                        ui.link(word, FolderRun(folder, run.summary).address)
                        about = f"{run.summary.command} of {run.summary.name}"
                        ui.label(f"{about}, {when(run.summary.started)}").classes("est-soft")
        with ui.element("tbody"):
            for word, value in FACTS:
                texts = [value(run) for run in stored]
                if any(text not in ("", "–") for text in texts):
                    _row(word, texts, beside=True)
            for name, *cells in comparison_rows(stored):
                _row(name, cells, mono=True)
    for caution in cautions(stored):
        ui.label(f"{caution[:1].upper()}{caution[1:]}.").classes("est-soft")
    if has_errors(stored):
        ui.label(ABOUT).classes("est-soft")


def _row(word: str, values: list[str], mono: bool = False, beside: bool = False) -> None:
    """A line of the table; `beside` leaves room for the differences of others."""
    own = values if beside else [values[0], *values[1::2]]
    strong = len(set(own)) > 1
    with ui.element("tr"):
        _cell(word, mono=mono)
        for k, value in enumerate(values):
            _cell(value, mono=mono, strong=strong)
            if beside and k:
                _cell("")


def _cell(text: str, *, head: bool = False, mono: bool = False, strong: bool = False) -> None:
    with ui.element("th" if head else "td"):
        label = ui.label(text)
        if mono:
            label.classes("est-mono")
        if not strong:
            label.classes("est-soft")


def _quality(run: StoredRun) -> str:
    lines = []
    for case, entry in objects(run.result.get("quality")).items():
        errors = [
            f"{n}\u00a0{v['fit_percent']:.4g}\u00a0%"  # a number stays with its name and unit
            for n, v in entry.items()
            if isinstance(v, dict) and isinstance(v.get("fit_percent"), (int, float))
        ]
        lines.append(f"{case}: {', '.join(errors)}")
    return "; ".join(lines)


FACTS = (
    ("state", lambda r: str(r.status)),
    ("outcome", outcome),
    ("criterion", lambda r: str(r.settings.get("criterion") or "")),
    ("fit", _quality),
)
