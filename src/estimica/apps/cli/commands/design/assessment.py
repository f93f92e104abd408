"""What `sweep` and `montecarlo` share: an option, the way of a run, what is printed at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimica.apps.cli.console import say
from estimica.apps.cli.session import Session
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.optimise.assess.result import Assessment
    from estimica.study.study import Study

Table = Annotated[
    Path | None,
    typer.Option("--csv", help="Write every sample to this CSV file, or Parquet by its ending."),
]


def run_assessment(
    session: Session,
    study: Study,
    settings: Mapping[str, Any],
    given: Iterable[str],
    assess: Callable[..., Assessment],
) -> Assessment:
    """The result of a run, with its progress told and its end noted."""
    with session.run(study, settings, given) as run, run.progress("preparing …") as line:
        tell = line.counting("samples")
        settings = {**run.settings, "start": run.start}
        return run.finish(assess(study, **settings, progress=tell, run=run.writer))


def deliver_assessment(
    session: Session, result: Assessment, csv: Path | None, report: Path | None
) -> None:
    """Print the result and write its files; samples that failed are told on stderr."""
    if result.failures:
        first = result.failures[0]
        where = f"case '{first.case}': " if first.case else ""
        say(
            f"warning: {len(result.failures)} samples failed, the first is {first.number}: "
            f"{where}{first.message}"
        )
    session.deliver(
        result, lambda: ["\n".join(_texts(result))], (csv, result.write), (report, result.report)
    )


def _texts(result: Assessment) -> Iterator[str]:
    from estimica.optimise.assess.present import sensitivity_table

    yield text(result.table())
    if result.sensitivity is not None:
        yield text(sensitivity_table(result))
