"""What `sweep` and `montecarlo` share: options, the way of a run, what is printed at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.console import say
from estimica.apps.cli.delivery import requested_outputs
from estimica.apps.cli.session import (
    ActiveRun,
    AnalysisProgressLine,
    deliver_result,
    finish_run,
    stored,
)
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.optimise.assess.result import Assessment
    from estimica.optimise.assess.run import Progress

Table = Annotated[
    Path | None,
    typer.Option("--csv", help="Write every sample to this CSV file, or Parquet by its ending."),
]


def given_of(options: Mapping[str, object]) -> dict[str, Any]:
    """Options that stand on the command line."""
    return {n: v for n, v in options.items() if v is not None}


def as_stored(value: object) -> object:
    """A setting as it comes back from the store, to be compared with it."""
    from estimica.execute.runs.payload import from_text, to_text

    return from_text(to_text(value))


def run_assessment(run: ActiveRun, quiet: bool, work: Callable[..., Assessment]) -> Assessment:
    """The result of a run, with its progress told and its end noted."""
    with run.writer as writer, AnalysisProgressLine(quiet, "preparing …", writer) as line:

        def tell(p: Progress) -> None:
            failed = f", {p.failed} failed" if p.failed else ""
            line.tell(f"{p.done} of {p.count} samples{failed}", p.done / p.count)

        found: Assessment = finish_run(work(progress=tell, run=writer), writer)
    stored(run.writer)
    return found


def deliver_assessment(
    found: Assessment, csv: Path | None, report: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Print the result and write its files; samples that failed are told on stderr."""
    from estimica.optimise.assess.present import sensitivity_table

    parts = [text(found.table())]
    if found.sensitivity is not None:
        parts.append(text(sensitivity_table(found)))
    if found.failures:
        first = found.failures[0]
        where = f"case '{first.case}': " if first.case else ""
        say(
            f"warning: {len(found.failures)} samples failed, the first is {first.number}: "
            f"{where}{first.message}"
        )
    files = requested_outputs((csv, found.write), (report, found.report))
    deliver_result(found, ["\n".join(parts)], files, as_json=as_json, quiet=quiet)
