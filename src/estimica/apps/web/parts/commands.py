"""Commands: one click to run each of them on a study."""

from __future__ import annotations

from nicegui import ui

from estimica.apps.web.parts.runs import submit
from estimica.apps.web.parts.trust import when_trusted
from estimica.apps.web.session.study import StudySession
from estimica.apps.web.session.workbench import Workbench

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
DESIGNING = (
    ("optimise", "Optimise", "trending_down", "Find the best design"),
    ("sweep", "Sweep", "grid_on", "Criteria over a grid of tuners"),
    ("montecarlo", "Monte Carlo", "scatter_plot", "Criteria under scattered parameters"),
)
EXPERIMENT = (
    ("design-input", "Design the input", "insights", "The experiment that tells the tuners best"),
)
POINTS = (("backcalculate", "Back-calculate", "undo", "Compute the unknown at every point"),)


def commands(workbench: Workbench, desk: StudySession) -> None:
    """The buttons of the commands that fit this study."""
    tables = desk.tables
    offered = [*FITTING]
    if "criterion" in tables:
        has_data = any(c.get("data") for c in desk.entries(("case",)))
        offered = [*DESIGNING, *(FITTING if has_data else ())]
    elif "backcalculate" in tables:
        offered = [*POINTS, *(FITTING if tables.get("tune") else ())]
    if "input_design" in tables:
        offered += EXPERIMENT
    with ui.row().classes("gap-2 items-center"):
        for k, (command, word, icon, about) in enumerate(offered):
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
            f"First fix what is wrong with the study: {desk.problems[0].message}",
            type="warning",
            multi_line=True,
        )
        return
    await when_trusted(workbench, desk, lambda: submit(workbench, command, desk.name, options))
