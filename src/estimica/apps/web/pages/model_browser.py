"""Model browser: the model as a tree of components; tick what is tuned, measured or driven."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nicegui import ui

from estimica.apps.web.files.recent_runs import folder_of
from estimica.apps.web.pages.tuners import start_of
from estimica.apps.web.parts.class_tree import ClassTree
from estimica.apps.web.parts.form import FormView
from estimica.apps.web.parts.frame import at_work
from estimica.apps.web.parts.markup import indented
from estimica.apps.web.parts.notifications import notify_error, try_or_notify
from estimica.apps.web.parts.suggestions import equations, equations_note, suggestions
from estimica.apps.web.parts.ticks import Tick
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError

MOST = 300  # lines drawn at once; more are found by searching. Chosen: each has many elements
KINDS = {
    "all": "All",
    "parameter": "Parameters",
    "variable": "Variables",
    "state": "States",
    "input": "Inputs",
}


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """Where the model comes from, and its tree."""
    ui.label("Model").classes("est-title")
    folded = ui.expansion("Source, class and fixed values", value=not desk.tables.get("model"))
    with folded.classes("est-card est-fold"):
        known = await suggestions(desk)
        known["equation"], count = await equations(desk)
        _class_tree(workbench, desk)
        FormView(desk, ("model",), desk.form(("model",)), known).show()
        equations_note(len(known["equation"]), count)
    if await trust_card(workbench, desk):
        return
    area, beside = ui.column().classes("w-full"), ui.column().classes("hidden")
    asked = {"model": ""}

    async def load() -> None:
        asked["model"] = key = _source(desk)
        area.clear()
        with area, ui.row().classes("est-empty items-center justify-center"):
            ui.spinner(size="md")
            ui.label("The model is loaded …")
        try:
            model = await desk.model()
        except EstimicaError as error:
            model = {"error": error.message}
        if asked["model"] == key:  # no other one was asked for meanwhile
            area.clear()
            with area, ui.column().classes("est-card"):
                _failed(model["error"]) if "error" in model else Browser(desk, model).show()

    def changed() -> None:
        if _source(desk) != asked["model"]:
            asked["model"] = _source(desk)
            with beside:
                ui.timer(0.05, load, once=True)

    ui.context.client.on_delete(desk.listen(changed))
    changed()


def _class_tree(workbench: Workbench, desk: StudySession) -> None:
    """Packages of the folder and libraries, of which one class becomes the model of the study."""

    def picked(source: str, class_: str) -> None:
        if class_:
            source = os.path.relpath(source, folder_of(desk.name) or ".").replace(os.sep, "/")
        changes = [(("model", "source"), source), (("model", "class"), class_ or None)]
        if try_or_notify(lambda: desk.set_all(changes)):
            ui.notify(f"The model is {class_ or source} now", type="positive")

    with ui.expansion("Pick a class of the folder or of a library", icon="account_tree") as fold:
        fold.classes("w-full").props("dense")
        with ui.element("div").classes("w-full est-tree-box"):
            ClassTree(workbench.folder, picked).show()


def _source(desk: StudySession) -> str:
    """What decides which model a study has."""
    return repr((desk.tables.get("model"), desk.tables.get("static")))


def _failed(why: str) -> None:
    with ui.row().classes("items-start no-wrap gap-2"):
        ui.icon("error", size="24px").classes("est-bad")
        with ui.column().classes("gap-1"):
            ui.label("The model cannot be loaded").classes("est-h2")
            ui.label(in_page_words(why)).classes("est-pre")


@dataclass
class Node:
    """A component with its components and quantities."""

    name: str
    path: str
    inner: dict[str, Node] = field(default_factory=dict)
    own: list[dict[str, Any]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Quantities below."""
        return len(self.own) + sum(n.count for n in self.inner.values())


def tree_of(quantities: list[dict[str, Any]]) -> Node:
    """Quantities by the components of their names; elements of an array stay with it."""
    root = Node("", "")
    for q in quantities:
        *path, _ = split(q["name"])
        node = root
        for step in path:
            whole = f"{node.path}.{step}" if node.path else step
            node = node.inner.setdefault(step, Node(step, whole))
        node.own.append(q)
    return root


def split(name: str) -> list[str]:
    """The parts of a name; dots within brackets or quotes part nothing."""
    return re.findall(r"(?:\[[^\]]*\]|'[^']*'|[^.\[\]'])+", name) or [name]


class Browser:
    """Search, kind and case, and the tree below."""

    def __init__(self, desk: StudySession, model: dict[str, Any]) -> None:
        self.desk, self.model = desk, model
        self.quantities: list[dict[str, Any]] = model["quantities"]
        self.search, self.kind = "", "all"
        self.case = 0
        self.open: set[str] = set()
        self.left = MOST

    def show(self) -> None:
        """The whole browser."""
        about = self.model.get("description") or ""
        with ui.row().classes("w-full items-baseline"):
            ui.label(self.model["name"]).classes("est-h2")
            ui.label(about).classes("est-soft")
        for note in self.model.get("notes", []):
            ui.label(in_page_words(note)).classes("est-soft")
        with ui.row().classes("w-full items-center"):
            ui.input(
                "Search names and descriptions", on_change=lambda e: self._seek(e.value or "")
            ).props("outlined dense clearable debounce=200").classes("w-80")
            ui.toggle(KINDS, value="all", on_change=lambda e: self._turn(e.value)).props(
                "no-caps unelevated toggle-color=primary"
            )
            cases = self.desk.entries(("case",))
            if cases:
                names = {k: str(c.get("name", k + 1)) for k, c in enumerate(cases)}
                ui.select(
                    {**names, -1: "all cases"},
                    value=0,
                    label="Outputs, inputs, start values of",
                    on_change=lambda e: self._choose(e.value),
                ).props("outlined dense options-dense").classes("w-64")
        with ui.column().classes("w-full").props("data-renews"):
            self._tree()
        page = ui.context.client

        def renew() -> None:
            if at_work() is not page:
                self._tree.refresh()

        page.on_delete(self.desk.listen(renew))

    def _seek(self, text: str) -> None:
        self.search = text.strip().lower()
        self._tree.refresh()

    def _turn(self, kind: str) -> None:
        self.kind = kind
        self._tree.refresh()

    def _choose(self, case: int) -> None:
        self.case = case
        self._tree.refresh()

    def _fits(self, q: dict[str, Any]) -> bool:
        role = q["role"]
        kinds = {"parameter": ("parameter", "constant"), "state": ("state",), "input": ("input",)}
        if self.kind == "variable" and role in ("parameter", "constant"):
            return False
        if self.kind in kinds and role not in kinds[self.kind]:
            return False
        words = f"{q['name']} {q.get('description') or ''}".lower()
        return all(w in words for w in self.search.split())

    @ui.refreshable_method
    def _tree(self) -> None:
        fitting = [q for q in self.quantities if self._fits(q)]
        if not fitting:
            ui.label("Nothing of the model fits this search.").classes("est-empty")
            return
        self.left = MOST
        root = tree_of(fitting)
        with ui.element("div").classes("est-wide"), ui.element("table").classes("est"):
            with ui.element("thead"), ui.element("tr"):
                for word in ("name", "value", "unit", "description", "use as"):
                    with ui.element("th"):
                        ui.label(word)
            with ui.element("tbody"):
                self._lines(root, 0)
        if self.left <= 0:
            ui.label(f"Only {MOST} lines are drawn; search to see the others.").classes("est-soft")

    def _lines(self, node: Node, depth: int) -> None:
        for q in node.own:
            if self.left <= 0:
                return
            self.left -= 1
            self._quantity(q, depth)
        for inner in node.inner.values():
            if self.left <= 0:
                return
            self.left -= 1
            shown = inner.path in self.open or bool(self.search)
            self._component(inner, depth, shown)
            if shown:
                self._lines(inner, depth + 1)

    def _component(self, node: Node, depth: int, shown: bool) -> None:
        def turn() -> None:
            self.open ^= {node.path}
            self._tree.refresh()

        with (
            ui.element("tr"),
            ui.element("td").props("colspan=5"),
            indented(ui.row().classes("items-center gap-1 no-wrap"), depth),
        ):
            button = ui.button(icon="expand_more" if shown else "chevron_right", on_click=turn)
            button.props("flat round dense size=sm")
            button.props["aria-expanded"], button.props["aria-label"] = (
                str(shown).lower(),
                node.path,
            )
            ui.label(node.name).classes("text-weight-medium cursor-pointer").on("click", turn)
            ui.label(f"{node.count}").classes("est-soft")

    def _quantity(self, q: dict[str, Any], depth: int) -> None:
        with ui.element("tr"):
            with ui.element("td"):
                last = split(q["name"])[-1]
                indented(ui.label(last).classes("est-mono"), depth, 26).tooltip(q["name"])
            value = q.get("value")
            with ui.element("td").classes("number"):
                ui.label(
                    ""
                    if value is None
                    else f"{value:.6g}"
                    if isinstance(value, (int, float))
                    else str(value)
                )
            for key in ("unit", "description"):
                with ui.element("td"):
                    ui.label(q.get(key) or "").classes("est-soft")
            with ui.element("td"), ui.row().classes("gap-1 no-wrap items-center"):
                self._uses(q)

    # --- ticks --------------------------------------------------------------------------------

    def _uses(self, q: dict[str, Any]) -> None:
        name, role = q["name"], q["role"]
        if role in ("parameter", "constant"):
            if q.get("tunable"):
                _tick("tune", name, is_tuned(self.desk, name), lambda on: self._tune(q, on))
            else:
                why = q.get("why_not") or "It cannot be tuned"
                word = "structural" if q.get("structural") else "fixed"
                ui.label(word).classes("est-soft").tooltip(why)
            return
        if not self._cases():
            ui.label("add a case first").classes("est-soft")
            return
        if role == "input":
            _tick(
                "input",
                name,
                self._has("inputs", name),
                lambda on: self._turn_in_cases("inputs", name, on),
            )
            return
        _tick(
            "output",
            name,
            self._has("outputs", name),
            lambda on: self._turn_in_cases("outputs", name, on),
        )
        if role == "state":
            _tick(
                "free start",
                name,
                self._has("free_start", name),
                lambda on: self._turn_in_cases("free_start", name, on),
            )
        elif q.get("can_drive", True):
            _tick(
                "input",
                name,
                self._has("inputs", name),
                lambda on: self._turn_in_cases("inputs", name, on),
            )

    def _tune(self, q: dict[str, Any], on: bool) -> None:
        """Search a parameter, or leave it alone: what was said of it stays, switched off."""
        place = ("tune", q["name"])
        known = self.desk.value(place)
        if on and known is not None:
            self._write((*place, "active"), None)
        elif on:
            self._write(place, start_of(q))
        elif known == start_of(q):
            self._write(place, None)  # it said nothing that the model does not say
        else:
            self._write((*place, "active"), False)

    def _cases(self) -> list[int]:
        count = len(self.desk.entries(("case",)))
        return list(range(count)) if self.case == -1 else [self.case] if self.case < count else []

    def _has(self, key: str, name: str) -> bool:
        entries = [self.desk.value(("case", k, key), ()) for k in self._cases()]
        return bool(entries) and all(name in f for f in entries)

    def _turn_in_cases(self, key: str, name: str, on: bool) -> None:
        for k in self._cases():
            place = ("case", k, key)
            entries = self.desk.value(place)
            if key == "free_start":
                if isinstance(entries, dict) and on:
                    try_or_notify(partial(self.desk.bring_back, (*place, name), self._start(name)))
                elif isinstance(entries, dict):
                    try_or_notify(partial(self.desk.set_aside, (*place, name)))
                else:
                    names = [n for n in entries or [] if n != name] + ([name] if on else [])
                    self._write(place, names or None)
            elif on:
                column = name.rpartition(".")[2] if key == "outputs" else 0.0
                try_or_notify(partial(self.desk.bring_back, (*place, name), column))
                if self.desk.value((*place, name)) == column:
                    ui.notify(f"{name}: now choose its column on the page of the case")
            else:
                try_or_notify(partial(self.desk.set_aside, (*place, name)))

    def _start(self, name: str) -> float:
        q = next((q for q in self.quantities if q["name"] == name), {})
        value = q.get("value")
        return float(value) if isinstance(value, (int, float)) else 0.0

    def _write(self, place: tuple[str | int, ...], value: object) -> None:
        try:
            self.desk.set(place, value)
        except EstimicaError as error:
            notify_error(error)


def is_tuned(desk: StudySession, name: str) -> bool:
    """Whether a parameter is searched: it is a tuner that is not switched off."""
    entry = desk.value(("tune", name))
    return entry is not None and not (isinstance(entry, dict) and entry.get("active") is False)


def _tick(word: str, name: str, on: bool, write: Any) -> None:
    box = Tick(word, value=on, on_change=lambda e: write(e.value)).props("dense size=sm")
    box.props["aria-label"] = f"{word}: {name}"
