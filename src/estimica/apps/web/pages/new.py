"""New: a study from a model and data files of the folder, or from files sent to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.events import UploadEventArguments

from estimica.apps.web.files.folder import CODE, DATA, MODELS
from estimica.apps.web.parts.class_tree import ClassTree, models_in
from estimica.apps.web.parts.frame import frame, study_address, with_error_page
from estimica.apps.web.parts.markup import accepts
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.parts.trust import ask_first
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError, WebError
from estimica.simulate.load import is_formula_in_s_or_z
from estimica.study.file.trust import NamedCode, code_of, not_trusted

#: a click of the mouse meets the field for files itself, one of the keyboard does not
PICK = (
    "(e) => { if (e.target.type !== 'file') "
    "e.target.closest('.q-uploader').querySelector('input[type=file]').click(); }"
)


KINDS = {
    "file": "File",
    "class": "Class of a package or library",
    "transfer": "Transfer function",
    "formula": "Formula",
}
#: of models that are typed: what to write, and an example
ABOUT = {
    "transfer": (
        "A formula in s or z; its input is u, its output y, every other name a parameter",
        "K*exp(-T*s)/(1 + tau*s)",
    ),
    "formula": (
        "In Modelica syntax, a line for each output. Names that the data have as columns are "
        "inputs, the others are tuners",
        "y = b1*(1 - exp(-b2*x))",
    ),
}
#: an example of what a component of fluids needs
MODIFICATION = "redeclare package Medium = Modelica.Media.Water.StandardWater"


def register(workbench: Workbench) -> None:
    """Put the page in place."""

    @ui.page("/new")
    @with_error_page(workbench)
    def new() -> None:
        with frame(workbench, "New study"):
            ui.label("New study").classes("est-title")
            ui.label(
                "Choose the model and the files of measurements, if there are some: a design needs "
                "none. The columns are matched with the variables by their names and units, and "
                "likely tuners are proposed."
            ).classes("est-lead")
            Draft(workbench).show()


class Draft:
    """What was chosen so far."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        self.model: str | None = None
        self.class_ = ""
        self.kind = "file"
        self.text = ""  # of a transfer function or formula
        self.library = ""  # the class of a library
        self.modification = ""  # of a class, as (redeclare package Medium = …)
        self.data: list[str] = []
        self._proposed = ""  # name of the study, as long as nobody has typed one

    def show(self) -> None:
        """Model, data, name, and the button."""
        with ui.element("div").classes("w-full grid gap-4 grid-cols-1 md:grid-cols-2"):
            with ui.column().classes("est-card"):
                ui.label("1  Model").classes("est-h2")
                ui.toggle(KINDS, value=self.kind, on_change=lambda e: self._turn(e.value)).props(
                    "no-caps unelevated toggle-color=primary"
                )
                self._model()
            with ui.column().classes("est-card"):
                ui.label("2  Data").classes("est-h2")
                self._files()
                self._upload("Send data files", DATA, self._got_data, many=True)
        with ui.column().classes("est-card"):
            ui.label("3  Study").classes("est-h2")
            with ui.row().classes("items-start"):
                self.name_box = (
                    ui.input("Name of the study")
                    .props('outlined dense hint="The file NAME.toml is written beside the model"')
                    .classes("w-72")
                )
                self.button = ui.button(
                    "Propose a study", icon="auto_fix_high", on_click=self._make
                ).props("unelevated no-caps")
            self.state = ui.column().classes("gap-1 w-full")

    def _turn(self, kind: str) -> None:
        self.kind, self.text = kind, ""
        self._model.refresh()

    @ui.refreshable_method
    def _model(self) -> None:
        if self.kind == "file":
            self._models()
            self._upload("Send a model", MODELS, self._got_model)
        elif self.kind == "class":
            ui.label("Open packages until you see the model, and click on it.").classes("est-soft")
            with ui.element("div").classes("w-full est-tree-box"):
                ClassTree(self.workbench.folder, self._picked).show()
            box = ui.input(
                "Modification of the class, where it needs one",
                value=self.modification,
                placeholder=MODIFICATION,
                on_change=lambda e: setattr(self, "modification", (e.value or "").strip()),
            )
            box.props("outlined dense stack-label hide-bottom-space").classes("w-full")
            box.props["hint"] = "Media that are left open, sizes and switches"
        else:
            hint, example = ABOUT[self.kind]
            box = ui.textarea(
                KINDS[self.kind],
                placeholder=example,
                on_change=lambda e: setattr(self, "text", (e.value or "").strip()),
            )
            box.props("outlined dense autogrow").classes("w-full est-mono")
            box.props["hint"] = hint

    def _picked(self, source: str, class_: str) -> None:
        """A class of the tree: of a file of the folder, or of a library."""
        self.model, self.library = (source, "") if class_ else (None, source)
        self.class_ = class_
        self._name_it((class_ or source).rpartition(".")[2].lower())

    def _name_it(self, name: str) -> None:
        if not self.name_box.value or self.name_box.value == self._proposed:
            self.name_box.value = self._proposed = name

    @ui.refreshable_method
    def _models(self) -> None:
        names = [f.name for f in self.workbench.folder.models()]
        if not names:
            ui.label("There is no model in this folder: send one.").classes("est-soft")
            return
        box = _picker(names, "Model of the folder", self.model, self._chose)
        box.props("clearable")
        self._class()

    @ui.refreshable_method
    def _class(self) -> None:
        """Which class or function, where the file has several: picked, or typed."""

        def take(text: str | None) -> None:
            self.class_ = (text or "").strip()

        classes = self._classes()
        if len(classes) > 1:
            box: Any = ui.select(
                classes,
                value=self.class_ if self.class_ in classes else None,
                label=f"Class, one of {len(classes)}",
                with_input=True,
                clearable=True,
                on_change=lambda e: take(e.value),
            )
        elif self.model and self.model.endswith((".py", ".mop")):
            word = "Function" if self.model.endswith(".py") else "Optimization class, if several,"
            box = ui.input(f"{word} of the file", value=self.class_)
            box.on_value_change(lambda e: take(e.value))
        else:
            return
        box.props("outlined dense options-dense").classes("w-full")

    def _classes(self) -> list[str]:
        """Classes of the chosen file that a study can be about."""
        if not self.model or not self.model.endswith(".mo"):
            return []
        try:
            return models_in(self.workbench.folder.existing(self.model))
        except EstimicaError:
            return []

    @ui.refreshable_method
    def _files(self) -> None:
        names = [f.name for f in self.workbench.folder.data_files()]
        if not names:
            ui.label("There are no data files in this folder: send some.").classes("est-soft")
            return

        def chose(files: list[str] | None) -> None:
            self.data = list(files or [])

        box = _picker(names, "Data files, one for each case", self.data, chose, multiple=True)
        box.props("use-chips")

    def _chose(self, name: str | None) -> None:
        self.model, self.library, self.class_ = name, "", ""
        self._class.refresh()
        if name:
            self._name_it(name.rpartition("/")[2].rpartition(".")[0].lower())

    def _upload(self, label: str, kinds: tuple[str, ...], got: Any, many: bool = False) -> None:
        limit = self.workbench.settings.upload_limit
        box = ui.upload(
            multiple=many,
            auto_upload=True,
            max_file_size=limit,
            on_upload=got,
            on_rejected=lambda: ui.notify(
                f"Refused: at most {limit // 1_000_000} MB, and one of {', '.join(kinds)}",
                type="negative",
                multi_line=True,
            ),
        ).props("flat bordered")
        accepts(box, kinds)
        with (
            box.classes("est-upload w-full").add_slot("header"),
            ui.row().classes("w-full items-center no-wrap gap-3 est-upload-head"),
        ):
            button = ui.button(label, icon="upload_file").props("outline no-caps color=primary")
            button.on("click", js_handler=PICK)
            with button:
                ui.element("q-uploader-add-trigger")
            ui.label(f"or drop {'them' if many else 'it'} here").classes("est-soft")

    async def _save(self, event: UploadEventArguments) -> str | None:
        name = event.file.name
        try:
            content = await event.file.read()
            path = self.workbench.folder.save(name, content)
        except EstimicaError as error:
            notify_error(error)
            return None
        ui.notify(f"{name} is in the folder now", type="positive")
        if name.lower().endswith(CODE):
            ui.notify(f"{name} is code: it runs only after you agree.", type="warning")
        return self.workbench.folder.name_of(path)

    async def _got_model(self, event: UploadEventArguments) -> None:
        name = await self._save(event)
        if name:
            self._chose(name)
            self._models.refresh()

    async def _got_data(self, event: UploadEventArguments) -> None:
        name = await self._save(event)
        if name:
            self.data.append(name)
            self._files.refresh()

    async def _make(self) -> None:
        if not (self.text if self.kind in ABOUT else self.model or self.library):
            ui.notify("Choose a model first.", type="warning")
            return
        name = (self.name_box.value or "").strip().removesuffix(".toml")
        if not name:
            ui.notify("Give the study a name.", type="warning")
            return
        folder = (self.model or "").rpartition("/")[0] if self.kind not in ABOUT else ""
        study = f"{folder}/{name}.toml" if folder else f"{name}.toml"
        try:
            path = self.workbench.folder.at(study)
            source = self._source()
        except EstimicaError as error:
            self._say(in_page_words(error.message))
            return

        def look() -> tuple[NamedCode, ...]:
            if self.kind == "formula":
                return ()
            return not_trusted(code_of({"model": {"source": source}}, path.parent))

        page = ui.context.client

        def go() -> None:
            with page:
                ui.timer(0.01, lambda: self._propose(study, path, source), once=True)

        codes = await asyncio.to_thread(look)
        await ask_first(self.workbench, study, codes, look, go)

    def _source(self) -> str:
        """The model as a study names it; a Python file with its function."""
        if self.kind in ABOUT:
            if self.kind == "transfer" and not is_formula_in_s_or_z(self.text):
                raise WebError(
                    "G052",
                    f"'{self.text}' is not a transfer function in s or z; write one, as "
                    "K*exp(-T*s)/(1 + tau*s)",
                )
            return self.text
        if self.library:
            return self._modified(self.library)
        source = str(self.workbench.folder.existing(str(self.model)))
        if source.endswith(".py"):
            if not self.class_:
                raise WebError("G050", "name the function of the Python file that is the model")
            source = f"{source}:{self.class_}"
        return source

    def _modified(self, class_: str) -> str:
        """A class with the modification that was typed, with or without its brackets."""
        inner = self.modification if self.kind == "class" else ""
        if inner.startswith("(") and inner.endswith(")"):
            inner = inner[1:-1].strip()
        return f"{class_}({inner})" if inner else class_

    async def _propose(self, study: str, path: Path, source: str) -> None:
        self.button.disable()
        self._say("The model is loaded and the columns are matched …", busy=True)
        own = self.kind in ABOUT or bool(self.library) or ".py:" in source
        wanted = None if own or not self.class_ else self._modified(self.class_)
        try:
            data = [str(self.workbench.folder.existing(d)) for d in self.data]
            bench = self.workbench.benches.of(path)
            if self.kind == "formula":
                proposal = await bench.ask("propose_formula", formula=source, data=data)
            else:
                proposal = await bench.ask("propose", source=source, class_=wanted, data=data)
            if proposal.get("file"):  # of an Optimica problem: its model without the objective
                beside = self.workbench.folder.name_of(path.parent / str(proposal["file"]))
                self.workbench.folder.save(beside, str(proposal["modelica"]).encode())
            self.workbench.folder.save(study, str(proposal["text"]).encode())
            self.workbench.desks.pop(path, None)
            self.workbench.desk(study).notes = tuple(map(str, proposal.get("notes", ())))
            ui.navigate.to(study_address(study))
        except EstimicaError as error:
            self._say(in_page_words(error.message))
        finally:
            self.button.enable()

    def _say(self, text: str, *, busy: bool = False) -> None:
        self.state.clear()
        with self.state, ui.row().classes("items-center no-wrap"):
            if busy:
                ui.spinner(size="sm")
            ui.label(text).classes("est-soft" if busy else "est-bad").style("white-space: pre-wrap")


def _picker(
    names: list[str],
    label: str,
    value: Any,
    chose: Callable[[Any], None],
    *,
    multiple: bool = False,
) -> ui.select:
    """A choice among files of the folder that can be typed too."""
    box = ui.select(
        names,
        value=value,
        multiple=multiple,
        with_input=True,
        label=label,
        on_change=lambda e: chose(e.value),
    )
    return box.props("outlined dense options-dense").classes("w-full")
