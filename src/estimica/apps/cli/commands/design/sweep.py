"""`estimica sweep`: the criteria of a design over grids, corners or samples of its parameters."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from estimica.apps.cli.arguments import assignments
from estimica.apps.cli.commands.design.assessment import Table, deliver_assessment, run_assessment
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BackendName,
    BeginWith,
    ExecutorName,
    NoStore,
    Quiet,
    ReportPath,
    Resume,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import Session, given_options
from estimica.base.errors import DesignError
from estimica.study.fields.counts import CURVES


def sweep(
    study: StudyPath,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FROM:TO[:COUNT], or NAME=VALUE,VALUE,…; in place of the table's."),
    ] = None,
    design: Annotated[
        str | None,
        typer.Option(help="grid, factorial, one-at-a-time, latin-hypercube or sobol."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="How many, of latin-hypercube and sobol.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the samples.")] = None,
    curves: Annotated[
        int | None,
        typer.Option(
            min=0, max=CURVES, help="Samples whose signals are drawn over time; 0 for none."
        ),
    ] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
    csv: Table = None,
    report: ReportPath = None,
    workers: Workers = None,
    backend: BackendName = None,
    executor: ExecutorName = "local",
    store: StorePath = None,
    no_store: NoStore = False,
    resume: Resume = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a design at many values of its parameters: which of them satisfy the demands?"""
    session = Session(
        "sweep",
        study,
        store,
        no_store=no_store,
        resume=resume,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
        backend=backend,
    )
    with session.reported():
        from estimica.optimise.assess.sweep import sweep as assess
        from estimica.study.tables.optimisation import sweep_table

        require_outputs(csv, page=report)
        checked = session.checked_study()
        given = given_options(
            vary=ranges(vary) if vary else None,
            design=design,
            samples=samples,
            seed=seed,
            curves=curves,
        )
        settings = asdict(sweep_table(session.own_table(checked), given))
        work = partial(assess, workers=workers, executor=executor, store=store)
        result = run_assessment(session, checked, settings, given, work)
    deliver_assessment(session, result, csv, report)


def ranges(texts: list[str]) -> dict[str, object]:
    """`NAME=FROM:TO[:COUNT]` and `NAME=VALUE,…` as the table `vary` has them."""
    varied: dict[str, object] = {}
    for name, text in assignments("--vary", texts).items():
        try:
            if ":" in text:
                low, high, *count = text.split(":")
                varied[name] = {"from": float(low), "to": float(high)}
                if count:
                    varied[name] = {"from": float(low), "to": float(high), "count": int(count[0])}
            else:
                varied[name] = [float(v) for v in text.split(",")]
        except ValueError:
            raise DesignError(
                "O078", f"--vary {name}={text}: write {name}=0:10:11, or {name}=1,2,5"
            ) from None
    return varied
