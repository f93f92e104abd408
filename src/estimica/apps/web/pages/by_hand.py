"""ManualTuning: sliders for the tuners redraw the curves at once; two span the criterion map."""

from __future__ import annotations

import math
from typing import Any

from nicegui import ui

from estimica.apps.web.parts.figure import Figure
from estimica.apps.web.parts.form import parsed_field
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.parts.runs import run
from estimica.apps.web.parts.suggestions import quantities
from estimica.apps.web.parts.trust import trust_card
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError

STEPS = 400  # positions of a slider: about one a pixel
DECADES = 1.0  # to either side of a start value without bounds; chosen: start values are as good


async def show(workbench: Workbench, desk: StudySession, rest: str) -> None:
    """Sliders on the left, curves on the right."""
    ui.label("Fit by hand").classes("est-title")
    ui.label(
        "Move the tuners and watch the model against the data. A fit of 100 % is perfect, one of "
        "0 % no better than a constant."
    ).classes("est-lead")
    if await trust_card(workbench, desk):
        return
    tuners = {n: t for n, t in desk.table(("tune",)).items() if _active(t)}
    if not tuners:
        ui.label("The study has no tuners yet.").classes("est-card est-empty")
        return
    known = {q["name"]: q for q in await quantities(desk)}
    ManualTuning(workbench, desk, tuners, known).show()


def _active(tuner: object) -> bool:
    return not (isinstance(tuner, dict) and tuner.get("active") is False)


class ManualTuning:
    """The values on the sliders and what the model does with them."""

    def __init__(
        self,
        workbench: Workbench,
        desk: StudySession,
        tuners: dict[str, Any],
        known: dict[str, Any],
    ) -> None:
        self.workbench, self.desk = workbench, desk
        self.scales = {n: Scale.of(t, known.get(n, {})) for n, t in tuners.items()}
        self.values = {n: s.start for n, s in self.scales.items()}
        self.units = {n: known.get(n, {}).get("unit") or "" for n in tuners}
        self.numbers: dict[str, ui.input] = {}
        self.sliders: dict[str, ui.slider] = {}
        self.asked = 0
        self.viewer = str(ui.context.client.id)

    def show(self) -> None:
        """Sliders, numbers, curves."""
        with ui.element("div").classes("est-hand").props("data-unsaved"):
            with ui.column().classes("est-card est-hand-sliders"):
                for name in self.scales:
                    self._slider(name)
                with ui.row():
                    ui.button("To the study", icon="save", on_click=self._keep).props(
                        "unelevated no-caps"
                    ).tooltip("Makes these the start values")
                    ui.button("Back", icon="restart_alt", on_click=self._back).props(
                        "flat no-caps color=primary"
                    )
                    ui.button("Fit", icon="play_arrow", on_click=self._fit).props(
                        "outline no-caps color=primary"
                    ).tooltip("Makes these the start values and fits from them")
                if len(self.scales) > 1:
                    self._map()
            with ui.column().classes("est-card est-hand-curves"):
                self.verdict = ui.column().classes("gap-0 w-full")
                self.figure = Figure(label="Measured and simulated")
        ui.timer(0.05, self._draw, once=True)

    def _slider(self, name: str) -> None:
        scale = self.scales[name]
        unit = f" [{self.units[name]}]" if self.units[name] else ""
        with ui.row().classes("w-full items-center no-wrap"):
            ui.label(f"{name}{unit}").classes("est-mono ellipsis grow")
            box = (
                ui.input(value=f"{self.values[name]:.6g}")
                .props("dense outlined inputmode=decimal hide-bottom-space")
                .classes("w-28")
            )
            box.props["aria-label"] = name
        slider = ui.slider(
            min=0,
            max=STEPS,
            step=1,
            value=scale.position(self.values[name]),
            on_change=lambda e: self._slid(name, e.value),
        ).props("throttle=60")
        slider.props["aria-label"] = f"Slider of {name}"
        self.numbers[name], self.sliders[name] = box, slider
        box.on("blur", lambda: self._typed(name)).on("keydown.enter", lambda: self._typed(name))

    def _slid(self, name: str, position: float) -> None:
        if round(self.scales[name].position(self.values[name])) == round(position):
            return
        self.values[name] = self.scales[name].at(position)
        self.numbers[name].value = f"{self.values[name]:.6g}"
        ui.timer(0.01, self._draw, once=True)

    def _typed(self, name: str) -> None:
        box = self.numbers[name]
        try:
            value = parsed_field((box.value or "").strip())
        except ValueError as error:
            box.props["error"], box.props["error-message"] = True, str(error)
            box.update()
            return
        box.props["error"] = False
        box.update()
        if isinstance(value, (int, float)) and float(value) != self.values[name]:
            self.values[name] = float(value)
            self.sliders[name].value = self.scales[name].position(float(value))
            ui.timer(0.01, self._draw, once=True)

    async def _draw(self) -> None:
        self.asked += 1
        mine = self.asked
        try:
            answer = await self.desk.ask("by_hand", key=self.viewer, values=dict(self.values))
        except EstimicaError as error:
            if mine == self.asked and error.code != SUPERSEDED:
                self._say([(in_page_words(error.message), "est-bad")])
            return
        if mine != self.asked:
            return
        if answer.get("failure"):
            why = in_page_words(str(answer["failure"]))
            self._say([(f"The model cannot be simulated there: {why}", "est-bad")])
        else:
            lines = [(f"cost {answer['cost']:.6g}", "est-h2")]
            for case, outputs in answer["fit_percent"].items():
                met = ", ".join(f"{o} {v:.4g} %" for o, v in outputs.items() if v is not None)
                lines.append((f"{case}: fit {met}", "est-soft"))
            self._say(lines)
        if answer.get("figure"):
            self.figure.show(answer["figure"])

    def _say(self, lines: list[tuple[str, str]]) -> None:
        self.verdict.clear()
        with self.verdict:
            for text, look in lines:
                ui.label(text).classes(look)

    def _keep(self) -> bool:
        try:
            for name, value in self.values.items():
                if value != self.scales[name].start:
                    self.desk.set(("tune", name, "start"), float(f"{value:.9g}"))
            ui.notify("The start values of the study are these now", type="positive")
            return True
        except EstimicaError as error:
            notify_error(error)
            return False

    async def _fit(self) -> None:
        if self._keep():
            await run(self.workbench, self.desk, "fit")

    def _back(self) -> None:
        for name, scale in self.scales.items():
            self.values[name] = scale.start
            self.numbers[name].value = f"{scale.start:.6g}"
            self.sliders[name].value = scale.position(scale.start)
        ui.timer(0.01, self._draw, once=True)

    def _map(self) -> None:
        """Two tuners, and the valley of the criterion over them."""
        names = list(self.scales)
        ui.separator()
        ui.label("Criterion map").classes("est-h2")
        ui.label("Choose two tuners to see the valley of the criterion over them.").classes(
            "est-soft"
        )
        with ui.element("div").classes("w-full grid gap-2 grid-cols-2"):
            first = ui.select(names, value=names[0], label="Across").props(
                "outlined dense options-dense"
            )
            second = ui.select(names, value=names[1], label="Upwards").props(
                "outlined dense options-dense"
            )
        ui.button(
            "Draw the map",
            icon="grid_on",
            on_click=lambda: self._draw_map(str(first.value), str(second.value)),
        ).props("outline no-caps color=primary")
        ui.button(
            "Draw the curve of the first",
            icon="show_chart",
            on_click=lambda: run(self.workbench, self.desk, "map", [str(first.value)]),
        ).props("outline no-caps color=primary")

    async def _draw_map(self, first: str, second: str) -> None:
        if first == second:
            ui.notify("Choose two different tuners.")
            return
        await run(self.workbench, self.desk, "map", [first, second])


SUPERSEDED = "G063"  # another question came before the answer


class Scale:
    """The way between a slider's position and a value: even, or in decades."""

    def __init__(self, start: float, low: float, high: float, log: bool) -> None:
        self.start, self.low, self.high, self.log = start, low, high, log

    @staticmethod
    def of(tuner: object, quantity: dict[str, Any]) -> Scale:
        """From bounds where there are any; otherwise a stretch around the start value."""
        full = tuner if isinstance(tuner, dict) else {"start": tuner}
        start = _number(full.get("start"), _number(quantity.get("value"), 1.0))
        low, high = _number(full.get("min"), -math.inf), _number(full.get("max"), math.inf)
        log = full.get("scale") == "log"
        if log and start > 0:
            low = low if low > 0 else start / 10**DECADES
            high = high if math.isfinite(high) else start * 10**DECADES
        else:
            log = False
            reach = 2 * abs(start) or 1.0
            low = low if math.isfinite(low) else start - reach
            high = high if math.isfinite(high) else start + reach
        return Scale(min(max(start, low), high), low, high, log)

    def at(self, position: float) -> float:
        """The value at a position."""
        share = position / STEPS
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)

    def position(self, value: float) -> float:
        """The position of a value, at the end where it is outside."""
        if not self.low < self.high:  # bounds that leave no room: a message tells so
            return 0.0
        if self.log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(max(share, 0.0), 1.0) * STEPS


def _number(value: object, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return float(value)
