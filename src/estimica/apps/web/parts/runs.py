"""Runs: the list of jobs that wait or run, and of the stored runs, kept up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nicegui import ui

from estimica.apps.web.files.recent_runs import (
    FolderRun,
    compare_address,
    folder_of,
    lasting,
    recent_runs,
    run_address,
    when,
)
from estimica.apps.web.jobs.job import Job
from estimica.apps.web.parts.notifications import notify_error
from estimica.apps.web.parts.run_name import RunName
from estimica.apps.web.parts.ticks import Tick
from estimica.apps.web.parts.trust import when_trusted
from estimica.apps.web.session.page_words import in_page_words
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench
from estimica.base.errors import EstimicaError

SHOWN = 25  # runs; chosen: a screen
NUMBERS = ("cost", "took")


def runs_table(workbench: Workbench, studies: list[str], *, name: str = "") -> None:
    """Jobs and runs beside these studies; with a name, only those of that study.

    Ticked runs can be compared.
    """
    ticked: dict[tuple[str, str], bool] = {}
    paths = [workbench.folder.at(study) for study in studies]
    shown = {"runs": SHOWN}

    def more() -> None:
        shown["runs"] += SHOWN
        table.refresh()

    typed = {"name": False}  # whether somebody writes a name in the list

    def typing(on: bool) -> None:
        typed["name"] = on

    @ui.refreshable
    def table() -> None:
        waiting = [
            j for j in workbench.jobs.jobs() if j.state in ("queued", "running") and not j.run
        ]
        waiting = [j for j in waiting if not name or j.study in paths]
        recent = recent_runs(workbench.folder, studies)
        for trouble in recent.troubles:
            ui.label(in_page_words(trouble)).classes("est-bad").style("overflow-wrap: anywhere")
        runs = [r for r in recent.runs if not name or r.run.name == name]
        if not runs and not waiting:
            ui.label("Nothing has been run yet.").classes("est-empty")
            return
        with ui.element("div").classes("est-wide"), ui.element("table").classes("est"):
            with ui.element("thead"), ui.element("tr"):
                for word in ("", "name", "began", "study", "command", "state", "cost", "took", ""):
                    with ui.element("th").classes("number" if word in NUMBERS else ""):
                        ui.label(word)
            with ui.element("tbody"):
                for job in waiting:
                    _job_line(workbench, job)
                for run in runs[: shown["runs"]]:
                    _run_line(workbench, run, ticked, typing)
        if len(runs) > shown["runs"]:
            ui.button(
                f"Show {min(len(runs) - shown['runs'], SHOWN)} older runs", on_click=more
            ).props("flat no-caps dense color=primary")

    def content() -> tuple[list[object], list[object], object]:
        recent = recent_runs(workbench.folder, studies)
        return (
            [(j.id, j.state, j.run) for j in workbench.jobs.jobs()],
            [(r.run.id, r.run.label, r.run.status, r.run.iterations) for r in recent.runs],
            recent.troubles,
        )

    # before the table is drawn: what comes in between is another content. Drawn anew without need,
    # the table would lose a click that is on its way
    known = [content()]

    def look() -> None:
        """Draw the list anew only when something in it is another."""
        now = content()
        if now != known[0] and not typed["name"]:
            known[0] = now
            table.refresh()
            button.set_visibility(len(now[1]) > 1)

    def compare() -> None:
        chosen = [key for key, on in ticked.items() if on]
        if len(chosen) < 2:
            ui.notify("Tick at least two runs to compare them.")
            return
        ui.navigate.to(compare_address(chosen))

    table()
    button = ui.button("Compare ticked runs", icon="compare_arrows", on_click=compare)
    button.props("flat no-caps dense color=primary")
    button.set_visibility(len(known[0][1]) > 1)
    ui.timer(1.5, look)


def _cells(*texts: str, numbers: tuple[int, ...] = ()) -> None:
    for k, text in enumerate(texts):
        with ui.element("td").classes("number" if k in numbers else "whole"):
            ui.label(text)


def _job_line(workbench: Workbench, job: Job) -> None:
    with ui.element("tr"):
        _cells("", "", when(job.submitted), job.study.stem, job.command)
        with ui.element("td"):
            ui.label(str(job.state)).classes(f"est-status {job.state}")
        _cells("", "")
        with ui.element("td"):
            _cancel(workbench, job)


def _run_line(
    workbench: Workbench,
    found: FolderRun,
    ticked: dict[tuple[str, str], bool],
    typing: Callable[[bool], None],
) -> None:
    run, key = found.run, (found.folder, found.run.id)
    with ui.element("tr"):
        with ui.element("td"):
            box = Tick(
                value=ticked.get(key, False), on_change=lambda e: ticked.__setitem__(key, e.value)
            )
            box.props("dense").props["aria-label"] = f"Compare {run.title}, run {run.id}"
        with ui.element("td"):
            RunName(workbench, found.folder, run, linked=True, typing=typing).show()
        with ui.element("td").classes("whole"):
            ui.link(when(run.started), run_address(found.folder, run.id)).tooltip(run.id)
        _cells(run.name, run.command)
        with ui.element("td"):
            ui.label(str(run.status)).classes(f"est-status {run.status}").tooltip(
                in_page_words(run.message)
            )
        _cells("" if run.cost is None else f"{run.cost:.6g}", lasting(run.seconds), numbers=(0, 1))
        with ui.element("td"):
            job = workbench.jobs.job_of(run.id)
            if job and not job.state.ended:
                _cancel(workbench, job)


def _cancel(workbench: Workbench, job: Job) -> None:
    def stop() -> None:
        try:
            workbench.jobs.cancel(job.id)
        except EstimicaError as error:
            notify_error(error)

    button = ui.button("Stop", icon="stop", on_click=stop)
    button.props("flat dense no-caps color=negative size=sm")
    button.props["aria-label"] = f"Stop {job.command} of {job.study.stem}"
    button.tooltip("Ends it in order; the best so far is kept")


#: what a button says that the command would ask for: of future inputs the last values are known
SAID = {"forecast": ["--hold", "last"]}


async def submit(
    workbench: Workbench, command: str, study: str, options: list[str] | None = None
) -> None:
    """Run a command on a study and go to where it is watched."""
    chosen = [*(options or []), *SAID.get(command, [])]
    try:
        # beside the event loop: the code of a study is looked at, and a model may be large
        job = await asyncio.to_thread(workbench.jobs.submit, command, study, chosen)
    except EstimicaError as error:
        notify_error(error)
        return
    waiting = ui.notification(
        f"{command} begins …", spinner=True, timeout=None, multi_line=True, close_button="Close"
    )

    def go() -> None:
        now = workbench.jobs.job(job.id)
        if now.run:
            timer.cancel()
            ui.navigate.to(run_address(folder_of(study), now.run))
        elif now.state.ended:
            timer.cancel()
            waiting.dismiss()
            failed = now.state != "done"
            lost = f". Its result is lost: {in_page_words(now.trouble)}" if now.trouble else ""
            ui.notify(
                f"{command}: {in_page_words(now.message) or now.state}{lost}",
                type="negative" if failed else "warning" if now.trouble else "positive",
                timeout=0,
                close_button="Close",
                multi_line=True,
            )
        elif now.state == "queued":
            waiting.message = f"{command} waits for another run to end …"
        elif now.trouble:
            waiting.message = f"{command} runs unseen: {in_page_words(now.trouble)}"
        else:
            waiting.message = f"{command} begins …"

    timer = ui.timer(0.25, go)


#: commands of a fit: their button, icon, and what they answer
FITTING = (
    ("fit", "Fit", "play_arrow", "Find the tuners from the data"),
    ("release", "Release", "lock_open", "Which further parameters the data ask for"),
    ("bootstrap", "Bootstrap", "casino", "Intervals from repeated synthetic data"),
    ("profile", "Profile", "show_chart", "How the cost rises around each estimate"),
    ("sample", "Posterior", "bubble_chart", "How probable values are, given data and priors"),
    ("identifiability", "Identifiability", "fingerprint", "Which tuners the data can tell apart"),
    ("residuals", "Residuals", "ssid_chart", "Whether what is left looks like noise"),
    ("crossvalidate", "Cross-validate", "fact_check", "How well cases predict one another"),
)
#: of a study that predicts: noise in the states is what it is about
PREDICTING = (
    ("find-noise", "Find noise", "blur_on", "Which state's equation is incomplete"),
    ("states", "States", "timeline", "What the data tell of the states and their equations"),
    ("predict", "Predict", "double_arrow", "How well values are told from those before"),
    ("forecast", "Forecast", "update", "How it goes on after the data"),
)
FOLLOWING = (("monitor", "Monitor", "sensors", "Estimates and changes while data arrive"),)
DESIGNING = (
    ("optimise", "Optimise", "trending_down", "Find the best design"),
    ("sweep", "Sweep", "grid_on", "Criteria over a grid of tuners"),
    ("montecarlo", "Monte Carlo", "scatter_plot", "Criteria under scattered parameters"),
)
EXPERIMENT = (
    ("design-input", "Design the input", "insights", "The experiment that tells the tuners best"),
)
POINTS = (("backcalculate", "Back-calculate", "undo", "Compute the unknown at every point"),)


Offered = tuple[str, str, str, str]  # command, button, icon, what it answers


def offered_commands(desk: StudySession) -> list[Offered]:
    """The commands that fit a study, that which is begun with first."""
    tables = desk.tables
    offered = [*FITTING]
    if "criterion" in tables:
        has_data = any(c.get("data") for c in desk.entries(("case",)))
        offered = [*DESIGNING, *(FITTING if has_data else ())]
    elif "backcalculate" in tables:
        offered = [*POINTS, *(FITTING if tables.get("tune") else ())]
    if "process_noise" in tables:
        offered += [*PREDICTING, *FOLLOWING]
    if "input_design" in tables:
        offered += EXPERIMENT
    return offered


#: pages whose settings another command reads than one of their name
READ_BY = {"input_design": "design-input"}


def command_of(page: str) -> Offered | tuple[()]:
    """The command that reads the settings of a page; none where several do."""
    wanted = READ_BY.get(page, page)
    known = (*FITTING, *PREDICTING, *FOLLOWING, *DESIGNING, *EXPERIMENT, *POINTS)
    return next((c for c in known if c[0] == wanted), ())


def run_button(workbench: Workbench, desk: StudySession, page: str = "") -> None:
    """Run what the settings of a page are for; where they are for all commands, the first one."""
    first = offered_commands(desk)[0][0]
    chosen = command_of(page) or command_of(first)
    assert chosen, "every study has a first command"
    command, word, icon, about = chosen
    button = ui.button(
        f"Run {word}" if command != first else word,
        icon=icon,
        on_click=lambda: run(workbench, desk, command),
    )
    button.props("no-caps unelevated").tooltip(about).props["aria-label"] = f"Run {word}"


def commands(workbench: Workbench, desk: StudySession) -> None:
    """The buttons of the commands that fit this study."""
    with ui.row().classes("gap-2 items-center"):
        for k, (command, word, icon, about) in enumerate(offered_commands(desk)):
            button = ui.button(
                word, icon=icon, on_click=lambda c=command: run(workbench, desk, c)
            ).props("no-caps unelevated" if k == 0 else "no-caps outline color=primary")
            button.tooltip(about)


async def run(
    workbench: Workbench, desk: StudySession, command: str, options: list[str] | None = None
) -> None:
    """Run a command, after asking where the study would run foreign code."""
    if desk.problems:
        ui.notify(
            f"First fix what is wrong with the study: {in_page_words(desk.problems[0].message)}",
            type="warning",
            multi_line=True,
        )
        return
    await when_trusted(workbench, desk, lambda: submit(workbench, command, desk.name, options))
