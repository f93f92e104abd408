"""`estimica runs`: what has been stored of earlier commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimica.apps.cli.commands.run_tables import (
    about,
    as_list,
    comparison,
    comparison_object,
    estimates,
    run_object,
    summary_object,
)
from estimica.apps.cli.console import print_json, print_text, reported
from estimica.apps.cli.options import AsJson
from estimica.base.errors import StoreError
from estimica.base.view import text
from estimica.execute.runs.store import Store

LISTED = 20
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
    str, typer.Argument(metavar="RUN", help="A run's id, a unique part of it, or `last`.")
]
Runs = Annotated[
    list[str], typer.Argument(metavar="RUN...", help="Ids, unique parts of them, or `last`.")
]

runs_app = typer.Typer(
    help="List, show, compare and delete stored runs.", invoke_without_command=True
)


@runs_app.callback()
def runs(
    context: typer.Context,
    store: StorePath = None,
    limit: Limit = None,
    command: OfCommand = None,
    as_json: AsJson = False,
) -> None:
    """List, show, compare and delete stored runs; without a verb, list them."""
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
        found = opened.runs(limit, command)
        if as_json:
            rows = [summary_object(run) for run in found]
            print_json(
                {"command": "runs", "outcome": DONE, "store": str(opened.path), "runs": rows}
            )
        elif found:
            print_text(text(as_list(found)))
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
        found = opened.run(run)
        if as_json:
            print_json({"command": "runs", "outcome": DONE, "run": found.id, **run_object(found)})
            return
        print_text(text(about(found)))
        if table := estimates(found):
            print_text(text(table))


@runs_app.command("compare")
def compare_runs(
    context: typer.Context, runs: Runs, store: StorePath = None, as_json: AsJson = False
) -> None:
    """Show the estimates of several runs side by side."""
    opened, as_json = _chosen(context, store, as_json)
    with reported("runs", as_json):
        found = [opened.run(run) for run in runs]
        if as_json:
            rows = [comparison_object(run) for run in found]
            print_json({"command": "runs", "outcome": DONE, "runs": rows})
        else:
            print_text(text(comparison(found)))


@runs_app.command("delete")
def delete_runs(
    context: typer.Context,
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN...", help="Ids.")] = None,
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
