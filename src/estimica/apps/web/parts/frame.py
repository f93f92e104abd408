"""Frame: the frame of every page: header, tree of the study, and what stands in the middle."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nicegui import ui

from estimica.apps.web.jobs.job import State
from estimica.apps.web.parts.notifications import try_or_notify
from estimica.apps.web.session.page_words import COMMAND_TABLES, in_page_words
from estimica.apps.web.session.study import Place, StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError
from estimica.base.visible import visible


@dataclass(frozen=True)
class Item:
    """One line of the tree: where it leads, its name, and what stands beside it."""

    at: str
    word: str
    icon: str = ""
    count: str = ""
    place: Place | None = None
    inner: bool = False
    off: bool = False


def study_address(name: str, at: str = "") -> str:
    """The address of a page about a study."""
    return f"/study/{quote(name)}" + (f"?at={quote(at)}" if at else "")


@contextlib.contextmanager
def frame(
    workbench: Workbench, title: str, desk: StudySession | None = None, at: str = ""
) -> Iterator[None]:
    """A page with this title; what is made inside stands in its middle."""
    ui.page_title(visible(f"{title} · Estimica"))
    ui.add_head_html(
        '<link rel="stylesheet" href="/assets/estimica.css">'
        '<script src="/assets/estimica.js"></script>'
    )
    ui.colors(primary="#00796b", negative="#b3261e", warning="#b26a00", positive="#2e7d32")
    drawer = _tree(desk, at) if desk else None
    with ui.header().classes("est-header items-center no-wrap gap-3"):
        ui.html('<a class="est-skip" href="#main">To the content</a>', sanitize=False)
        if drawer:
            ui.button(icon="menu", on_click=drawer.toggle).props(
                'flat round dense color=primary aria-label="Show or hide the study tree"'
            )
        _link("/", "Estimica", "est-brand")
        if desk:
            ui.label("/").classes("est-soft")
            _link(study_address(desk.name), desk.name, "est-crumb ellipsis")
        ui.space()
        if desk:
            _history(desk)
        _running(workbench)
        ui.button(icon="dark_mode").props(
            'flat round dense color=primary aria-label="Light or dark"'
        ).on("click", js_handler="() => estimica.toggleTheme()").tooltip("Light or dark")
    with ui.column().classes("est-page").props('id=main role=main tabindex="-1"'):
        yield


def _link(address: str, text: str, classes: str) -> None:
    ui.link(text, address).classes(replace="").classes(classes)


def _history(desk: StudySession) -> None:
    """Undo and redo, and what to do about an edit from elsewhere."""

    def back() -> None:
        if desk.revision.past and try_or_notify(desk.undo):
            ui.navigate.reload()

    def forth() -> None:
        if desk.revision.future and try_or_notify(desk.redo):
            ui.navigate.reload()

    undo = ui.button(icon="undo", on_click=back).props(
        'flat round dense color=primary aria-label="Undo"'
    )
    undo.tooltip("Undo (Ctrl+Z outside of fields)")
    redo = ui.button(icon="redo", on_click=forth).props(
        'flat round dense color=primary aria-label="Redo"'
    )

    page = ui.context.client
    gone = {"told": False}

    def show() -> None:
        undo.set_enabled(bool(desk.revision.past))
        redo.set_enabled(bool(desk.revision.future))
        if at_work() is not page:  # in another tab
            page.run_javascript("estimica.renew()")

    def look() -> None:
        if desk.look():
            page.run_javascript("estimica.renew()")
        if desk.is_gone and not gone["told"]:
            ui.notify(
                f"{desk.name} was moved or removed. What you change here cannot be written.",
                type="warning",
                timeout=0,
                close_button="Close",
            )
        gone["told"] = desk.is_gone

    show()
    end = desk.listen(show)
    page.on_delete(end)
    ui.timer(2.0, look)
    ui.keyboard(on_key=lambda e: _key(e, back, forth), ignore=["input", "textarea", "select"])


def at_work() -> object:
    """The page that somebody works on just now; none where nobody does."""
    try:
        return ui.context.client
    except RuntimeError:
        return None


def _key(event: object, back: object, forth: object) -> None:
    from nicegui.events import KeyEventArguments

    assert isinstance(event, KeyEventArguments)
    key = str(event.key).lower()
    if event.action.keydown and event.modifiers.ctrl and key in ("z", "y"):
        (forth if event.modifiers.shift or key == "y" else back)()  # type: ignore[operator]


def _running(workbench: Workbench) -> None:
    """How many runs go on, in every header."""
    chip = ui.link("", "/#runs").classes(replace="").classes("est-status running")

    def show() -> None:
        states = [j.state for j in workbench.jobs.jobs()]
        going, queued = states.count(State.RUNNING), states.count(State.QUEUED)
        chip.set_text(f"{going} running" + (f", {queued} queued" if queued else ""))
        chip.set_visibility(bool(going or queued))

    show()
    ui.timer(1.0, show)


def _tree(desk: StudySession, at: str) -> ui.left_drawer:
    with (
        ui.left_drawer(bordered=False)
        .classes("est-drawer")
        .props("width=252 breakpoint=900 role=navigation aria-label=Study") as drawer
    ):

        @ui.refreshable
        def lines() -> None:
            for heading, items in tree_of(desk):
                ui.label(heading).classes("est-head")
                with ui.column().classes("gap-0 w-full"):
                    for item in items:
                        _line(desk, item, item.at == at)

        def renew() -> None:
            lines.refresh()

        lines()
        end = desk.listen(renew)
        ui.context.client.on_delete(end)
    return drawer


def _line(desk: StudySession, item: Item, active: bool) -> None:
    link = ui.link(target=study_address(desk.name, item.at)).classes(replace="")
    link.classes("est-nav" + (" active" if active else "") + (" inner" if item.inner else ""))
    if active:
        link.props("aria-current=page")
    if item.off:
        link.classes("off")
    wrong = desk.wrong_below(item.place) if item.place is not None else 0
    with link:
        if item.icon:
            ui.icon(item.icon, size="19px").classes("est-soft")
        ui.label(item.word).classes("word").tooltip(item.word)
        if wrong:
            ui.label(str(wrong)).classes("bad").props["aria-label"] = f"{wrong} problems"
        if item.count:
            ui.label(item.count).classes("count")


MOST = 40  # tuners or cases in the tree; chosen: a screen or two, their pages have all


def tree_of(desk: StudySession) -> list[tuple[str, list[Item]]]:
    """The tree on the left: it mirrors the study file."""
    tables = desk.tables
    tuners, cases = desk.table(("tune",)), desk.entries(("case",))
    study = [
        Item("", "Overview", "dashboard"),
        Item("model", "Model", "account_tree", place=("model",)),
        Item("tune", "Tuners", "tune", str(len(tuners)), ("tune",)),
        *(
            Item(f"tune/{n}", n, place=("tune", n), inner=True, off=_off(t))
            for n, t in list(tuners.items())[:MOST]
        ),
        *_more("tune", len(tuners)),
        Item("case", "Cases", "science", str(len(cases)), ("case",)),
        *(
            Item(
                f"case/{k}",
                str(c.get("name", f"case {k + 1}")),
                place=("case", k),
                inner=True,
                off=_off(c),
            )
            for k, c in enumerate(cases[:MOST])
        ),
        *_more("case", len(cases)),
        Item("columns", "Columns", "view_column", _shared(desk), ("columns",)),
        Item("reading", "Reading of data", "table_view", place=("reading",)),
        Item("starts", "Free starts", "flag_circle", _free_starts(cases)),
        Item("estimate", "Estimation", "calculate", place=("estimate",)),
        Item("solver", "Solver", "timeline", place=("solver",)),
        Item("execute", "Execution", "memory", place=("execute",)),
    ]
    if "static" in tables:
        study.insert(2, Item("static", "Operating points", "scatter_plot", place=("static",)))
    design = [
        Item("criterion", "Criteria", "flag", _count(desk, "criterion"), ("criterion",)),
        *_named(desk, "criterion"),
        Item("indicator", "Indicators", "speed", _count(desk, "indicator"), ("indicator",)),
        *_named(desk, "indicator"),
    ]
    commands = [
        Item(name, word, place=(name,),
             count="set" if name in tables else "")
        for name, word in COMMAND_TABLES.items()
    ]  # fmt: skip
    work = [
        Item("hand", "Fit by hand", "pan_tool"),
        Item("runs", "Runs and results", "play_circle"),
        Item("file", "Study file", "description"),
    ]
    return [
        ("Study", study),
        ("Work", work),
        ("Design", design),
        ("Settings of commands", commands),
    ]


def _shared(desk: StudySession) -> str:
    count = len(desk.table(("columns",)))
    return str(count) if count else ""


def _more(at: str, count: int) -> list[Item]:
    """A line that stands for those that are too many for the tree."""
    return [Item(at, f"and {count - MOST} more", inner=True)] if count > MOST else []


def _off(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("active") is False


def _free_starts(cases: list[dict[str, Any]]) -> str:
    free = [c.get("free_start") for c in cases]
    count = sum(len(f) for f in free if isinstance(f, (dict, list)))
    return str(count) if count else ""


def _count(desk: StudySession, table: str) -> str:
    entries = desk.entries((table,))
    return str(len(entries)) if entries else ""


def _named(desk: StudySession, table: str) -> list[Item]:
    return [
        Item(f"{table}/{k}", str(e.get("name", f"{table} {k + 1}")), place=(table, k), inner=True,
             off=_off(e))
        for k, e in enumerate(desk.entries((table,)))
    ]  # fmt: skip


Page = Callable[..., Awaitable[None] | None]


def with_error_page(workbench: Workbench) -> Callable[[Page], Callable[..., Awaitable[None]]]:
    """Have a page show errors of the user's as a page of their own."""

    def around(page: Page) -> Callable[..., Awaitable[None]]:
        @functools.wraps(page)
        async def shown(*args: Any, **kwargs: Any) -> None:
            try:
                content = page(*args, **kwargs)
                if inspect.isawaitable(content):
                    await content
            except EstimicaError as error:
                ui.context.client.content.clear()
                with ui.context.client.content:
                    error_page(workbench, error)

        return shown

    return around


def error_page(workbench: Workbench, error: EstimicaError) -> None:
    """The page of an error."""
    with frame(workbench, "Not possible"):
        ui.label("This page cannot be shown").classes("est-title")
        with ui.column().classes("est-card"):
            ui.label(in_page_words(error.message)).classes("est-pre")
            ui.label(f"Code {error.code}").classes("est-soft")
            ui.link("All studies of this folder", "/")


async def show_when_loaded(shown: Awaitable[None]) -> None:
    """Fill the page once the browser has it: what a model is asked for may take its time."""
    with ui.row().classes("est-empty items-center justify-center") as waiting:
        ui.spinner(size="md")
        ui.label("Model and data are read …")
    try:
        await ui.context.client.connected(timeout=30.0)
    except BaseException as error:  # nobody waits any more, or the server ends
        if inspect.iscoroutine(shown):
            shown.close()
        if isinstance(error, TimeoutError):
            return
        raise
    try:
        await shown
    except EstimicaError as error:
        with ui.column().classes("est-card"):
            ui.label("This page cannot be shown").classes("est-title")
            ui.label(in_page_words(error.message)).classes("est-pre")
            ui.label(f"Code {error.code}").classes("est-soft")
    finally:
        if not waiting.is_deleted:
            waiting.delete()
