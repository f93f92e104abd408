"""`estimica runs`: what has been stored of earlier commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from estimica.apps.cli.console import print_json, print_text, reported
from estimica.apps.cli.delivery import (
    Delivery,
    deliver,
    requested_outputs,
    require_output_folder,
    require_outputs,
)
from estimica.apps.cli.options import AsJson
from estimica.apps.run_differences import difference_table, differences
from estimica.apps.run_facts import (
    FIGURES,
    WORDS,
    cautions,
    facts,
    figures,
    outcome,
    unknowns,
)
from estimica.base.errors import StoreError
from estimica.base.view import Table, status_line, text, write, write_figures
from estimica.execute.runs.record import RunSummary, StoredRun
from estimica.execute.runs.store import Store
from estimica.report.text import printed, sparkline

if TYPE_CHECKING:
    from estimica.apps.run_pictures import RunPage

LISTED = 20  # unless told: a screen of a terminal
DONE = {"status": "done", "message": ""}

StorePath = Annotated[
    Path | None,
    typer.Option("--store", help="The store of runs, or the folder of a study; else this folder."),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, max=1_000_000, help="How many runs to list; 20 unless told."),
]
OfCommand = Annotated[
    str | None, typer.Option("--command", help="List runs of one command only, such as fit.")
]
Run = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id or name, a part of the id, or `last`.")
]
Runs = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Ids or names, parts of ids, or `last`.")
]

runs_app = typer.Typer(
    name="runs",
    help="List, show, name, compare and delete stored runs.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@runs_app.callback()
def runs(
    context: typer.Context,
    store: StorePath = None,
    limit: Limit = None,
    command: OfCommand = None,
    as_json: AsJson = False,
) -> None:
    """List, show, name, compare and delete stored runs; without a verb, list them."""
    context.obj = store, limit, command, as_json
    if context.invoked_subcommand is None:
        list_runs(context, store, limit, command, as_json)


@runs_app.command("list")
def list_runs(
    context: typer.Context,
    store: StorePath = None,
    limit: Limit = None,
    command: OfCommand = None,
    as_json: AsJson = False,
) -> None:
    """List the newest runs."""
    opened, as_json = _chosen(context, store, as_json)
    _, earlier_limit, earlier_command, _ = context.obj
    limit, command = limit or earlier_limit or LISTED, command or earlier_command
    with reported("runs", as_json):
        listed = opened.runs(limit, command)
        if as_json:
            rows = [summary_object(run) for run in listed]
            print_json(
                {"command": "runs", "outcome": DONE, "store": str(opened.path), "runs": rows}
            )
        elif listed:
            print_text(text(as_list(listed)))
        else:
            of = f" of '{command}'" if command else ""
            print_text(f"No runs{of} are stored in {opened.path} yet; `estimica fit` stores some.")


@runs_app.command("show")
def show_run(
    context: typer.Context, run: Run, store: StorePath = None, as_json: AsJson = False
) -> None:
    """Show one run: what was asked, how it went, what came out."""
    opened, as_json = _chosen(context, store, as_json)
    with reported("runs", as_json):
        stored = opened.run(run)
        if as_json:
            print_json({"command": "runs", "outcome": DONE, "run": stored.id, **run_object(stored)})
            return
        print_text(text(about(stored)))
        if table := estimates(stored):
            print_text(text(table))


@runs_app.command("rename")
def rename_run(
    context: typer.Context,
    run: Run,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is to be called.")],
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Give a run a name, by which lists, comparisons and reports call it."""
    opened, as_json = _chosen(context, store, as_json)
    with reported("runs", as_json):
        run_id = opened.id_of(run)
        kept = opened.rename(run_id, name)
        if as_json:
            print_json({"command": "runs", "outcome": DONE, "run": run_id, "label": kept})
        else:
            print_text(f"Run {run_id} is called '{kept}'.")


@runs_app.command("compare")
def compare_runs(
    context: typer.Context,
    runs: Runs,
    report: Annotated[
        Path | None,
        typer.Option(help="Write table, criteria and overlaid curves to this page, .html or .md."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Write the pictures into this folder.")
    ] = None,
    format: Annotated[str, typer.Option(help="Of the pictures: svg, png or pdf.")] = "svg",
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Show several runs side by side: values, their differences, criteria, curves overlaid."""
    opened, as_json = _chosen(context, store, as_json)
    with reported("runs", as_json):
        from estimica.apps.run_pictures import comparison_page, run_page
        from estimica.report.matplotlib.files import require_format

        require_outputs(page=report)
        require_output_folder(figures)
        if figures:
            require_format(format)
        stored = [opened.run(run) for run in runs]
        pages = [run_page(opened, run) for run in stored]
        table = comparison(stored)
        tables = [t for t in (table, difference_table(stored)) if t is not None]
        page = comparison_page(pages, tables)
    deliver(
        Delivery(
            result=lambda: compared_object(pages),
            texts=lambda: [text(t) for t in tables],
            outputs=requested_outputs(
                (figures, lambda folder: write_figures(page, folder, format)),
                (report, lambda path: write(page, path)),
            ),
        ),
        as_json=as_json,
        quiet=False,
    )


@runs_app.command("delete")
def delete_runs(
    context: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="RUN...", help="Ids or names.")
    ] = None,
    older_than: Annotated[
        float | None, typer.Option("--older-than", min=0, help="All that began so many DAYS ago.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StorePath = None,
    as_json: AsJson = False,
) -> None:
    """Delete runs that are not running."""
    opened, as_json = _chosen(context, store, as_json)
    with reported("runs", as_json):
        if not runs and older_than is None:
            raise StoreError("B016", "say which runs to delete: RUN..., or --older-than DAYS")
        named = [opened.id_of(run) for run in runs or []]  # damaged ones too
        old = [] if older_than is None else opened.older_than(older_than)
        ids = list(dict.fromkeys(named + old))
        if ids and not yes:
            if as_json:
                raise StoreError("B015", f"{_count(ids)} would be deleted; add --yes to do it")
            if not typer.confirm(f"Delete {_count(ids)} ({', '.join(ids)})?", err=True):
                ids = []
        deleted = opened.delete(ids)
        if as_json:
            print_json({"command": "runs", "outcome": DONE, "deleted": deleted})
        else:
            print_text(f"Deleted {_count(deleted)}.")


def _chosen(context: typer.Context, store: Path | None, as_json: bool) -> tuple[Store, bool]:
    """The options stand before the verb or after it."""
    earlier, _, _, earlier_json = context.obj
    return Store.of(Path(), store or earlier), as_json or earlier_json


def _count(ids: list[str]) -> str:
    return "1 run" if len(ids) == 1 else f"{len(ids) or 'no'} runs"


#: members of a result that say the same in fewer numbers than all samples
SHARED = (
    "outcome", "method", "tuners", "criteria", "aggregate", "design", "probability_satisfied",
    "quantiles", "quantiles_at_least", "front", "knee", "verdict",
)  # fmt: skip
#: commands whose results are estimates with standard errors or intervals
ESTIMATING = ("fit", "bootstrap", "profile", "crossvalidate", "release", "find-noise", "sample")
LONG = ("values", "at_least")  # lists with a member for each sample


def as_list(runs: Sequence[RunSummary]) -> Table:
    """One row for each run."""
    columns = ("run", "name", "command", "study", "status", "cost", "steps", "started", "took")
    rows = tuple(
        (
            *(r.id, r.label, r.command, r.name, str(r.status), r.cost, r.iterations or None),
            *(_moment(r.started), _duration(r.seconds)),
        )
        for r in runs
    )
    return Table(columns, rows)


def summary_object(run: RunSummary) -> dict[str, object]:
    """A run of a list as JSON; `name` is that of the study. Times: ISO 8601, offset from UTC."""
    return {
        "run": run.id,
        "label": run.label,
        "command": run.command,
        "name": run.name,
        "status": str(run.status),
        "message": run.message,
        "cost": run.cost,
        "iterations": run.iterations,
        "started": _iso(run.started),
        "ended": None if run.ended is None else _iso(run.ended),
        "seconds": run.seconds,
    }


def run_object(run: StoredRun) -> dict[str, object]:
    """A run with all that is stored of it as JSON."""
    return {
        "stored": summary_object(run.summary),
        "study": run.study,
        "settings": run.settings,
        "environment": run.environment,
        "result": run.result,
        "iterations": [
            {"number": i.number, "cost": i.cost, "time": _iso(i.at), **i.payload}
            for i in run.iterations
        ],
        "checkpoints": run.checkpoints,
    }


def about(run: StoredRun) -> Table:
    """What was asked of a run, with what, and how it ended."""
    summary = run.summary
    took = _duration(summary.seconds)
    rows: list[tuple[object, object]] = [
        (
            "status",
            status_line(summary.status, summary.message) if summary.message else summary.status,
        ),
        ("started", _moment(summary.started) + (f", took {took}" if took else "")),
    ]
    if summary.label:
        rows.insert(0, ("name", summary.label))
    rows += [(WORDS.get(n, n), run.result[n]) for n in FIGURES if n in run.result]
    costs = np.array([i.cost for i in run.iterations])
    if len(costs):
        course = f"{len(costs)}, cost {printed(costs[0])} → {printed(costs[-1])}"
        rows.append(("iterations", f"{course}  {sparkline(costs)}"))
    if run.checkpoints:
        rows.append(("checkpoints", len(run.checkpoints)))
    rows += [(name, _short(value)) for name, value in run.settings.items() if value is not None]
    line = run.environment.get("command_line")
    if isinstance(line, list):
        rows.append(("command line", " ".join(map(str, line))))
    versions = ("estimica", "python", "casadi", "numba")
    known = [f"{n} {run.environment[n]}" for n in versions if run.environment.get(n)]
    rows.append(("made with", ", ".join(known)))
    cells = tuple((name, printed(value)) for name, value in rows)
    return Table(("", ""), cells, title=f"{summary.command} of {summary.name}, run {run.id}")


def estimates(run: StoredRun) -> Table | None:
    """The parameters and start values that a run found, or what else it did."""
    estimated = dict(unknowns(run.result))
    if run.summary.command not in ESTIMATING:
        rows_of_facts = tuple(facts(run).items())
        return Table(("", "found"), rows_of_facts, title="Found") if rows_of_facts else None
    if not estimated:
        return None
    rows = tuple(
        (name, e.get("value"), e.get("stderr"), *_interval(e), e.get("at_bound"), _unit(e))
        for name, e in estimated.items()
    )
    columns = ("unknown", "value", "std. error", "95 % from", "to", "at bound", "unit")
    return Table(columns, rows, title="Estimates")


def comparison(runs: Sequence[StoredRun]) -> Table:
    """What the runs found, one column for each: unknowns, criteria, cost and what chooses."""
    rows = [
        ("run", *(run.id for run in runs)),
        ("command", *(run.summary.command for run in runs)),
        ("study", *(run.summary.name for run in runs)),
        ("status", *(str(run.status) for run in runs)),
        ("outcome", *(outcome(run) for run in runs)),
        ("criterion", *(_word(run.result.get("criterion")) for run in runs)),
    ]
    for kind, names in ((facts, {}), (figures, WORDS)):
        columns_of_runs = [kind(run) for run in runs]
        for name in dict.fromkeys(n for one in columns_of_runs for n in one):
            rows.append((names.get(name, name), *(one.get(name, "") for one in columns_of_runs)))
    return Table(
        ("", *(run.summary.title for run in runs)),
        tuple(row for row in rows if any(row[1:])),
        title="Runs side by side (value ± standard error)",
        note="; ".join(cautions(runs)),
    )


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def comparison_object(run: StoredRun) -> dict[str, object]:
    """What is compared of a run, as JSON."""
    return {
        **summary_object(run.summary),
        **{name: run.result.get(name) for name in ("criterion", *FIGURES)},
        "parameters": run.result.get("parameters", {}),
        "start_values": run.result.get("start_values", {}),
        **{key: _without_samples(run.result[key]) for key in SHARED if key in run.result},
        "facts": facts(run),
    }


def compared_object(pages: Sequence[RunPage]) -> dict[str, object]:
    """All that is compared, as JSON; `curves` are the panels in which the runs are overlaid."""
    from estimica.apps.run_pictures import curves_object, difference_curves, overlaid_curves

    return {
        "command": "runs",
        "outcome": DONE,
        "runs": [comparison_object(one.run) for one in pages],
        "differences": [
            {
                "run": one.run.id,
                "from": pages[0].run.id,
                "values": {n: d.to_dict() for n, d in differences(one.run, pages[0].run).items()},
            }
            for one in pages[1:]
        ],
        "cautions": cautions([one.run for one in pages]),
        "curves": curves_object(overlaid_curves(pages)),
        "difference_curves": curves_object(difference_curves(pages)),
    }


def _without_samples(value: object) -> object:
    """A member of a result without what it has of every sample."""
    if not isinstance(value, Mapping):
        return value
    return {
        k: _without_samples(v)
        for k, v in value.items()
        if not (k in LONG and isinstance(v, Sequence) and not isinstance(v, str))
    }


def _unit(estimate: Mapping[str, Any]) -> object:
    unit = estimate.get("unit")
    return None if unit == "1" else unit


def _interval(estimate: Mapping[str, Any]) -> tuple[object, object]:
    match estimate.get("ci95"):
        case [low, high]:
            return low, high
    return None, None


def _short(value: object) -> str:
    text = printed(value)
    return text if len(text) <= 200 else text[:197] + "..."


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
