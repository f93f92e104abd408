"""`estimica residuals`: what is left of the data says of the model that was fitted to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import say
from estimica.apps.cli.delivery import require_outputs
from estimica.apps.cli.options import (
    AsJson,
    BeginWith,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    UseRun,
    Workers,
)
from estimica.apps.cli.session import Session
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.infer.covariance.result import Covariance
    from estimica.infer.residuals.result import ResidualAnalysis


def residuals(
    study: StudyPath,
    level: Annotated[
        float, typer.Option(help="Chance of any complaint about white Gaussian residuals.")
    ] = 0.05,
    covariance: Annotated[
        str | None,
        typer.Option(help="Standard errors as well, of this kind: model, pooled, sandwich or hac."),
    ] = None,
    begin_with: BeginWith = None,
    use: UseRun = None,
    report: ReportPath = None,
    workers: Workers = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a study and judge its residuals: colour, inputs, trend, shape, spread, outliers."""
    session = Session(
        "residuals",
        study,
        store,
        no_store=no_store,
        quiet=quiet,
        as_json=as_json,
        fit=begin_with,
        use=use,
    )
    with session.reported():
        from estimica.infer.covariance.run import covariance as errors
        from estimica.infer.covariance.run import require_kind
        from estimica.infer.residuals.run import require_level
        from estimica.infer.residuals.run import residuals as analyse

        require_outputs(page=report)
        require_level(level)
        if covariance is not None:
            require_kind(covariance)
        checked = session.checked_study()
        settings = {"level": level, "covariance": covariance}
        with session.run(checked, settings) as run, run.progress():
            estimate = run.fit(checked, workers)
            if not estimate.outcome.ok:
                say(f"warning: the fit ended early: {estimate.outcome.message}")
            result = analyse(estimate, level=level)
            known = None if covariance is None else errors(estimate, covariance)
            result = run.finish(result)
    session.deliver(
        result,
        lambda: _texts(result, known),
        (report, result.report),
        more={} if known is None else {"covariance": known.to_dict()},
    )


def _texts(result: ResidualAnalysis, known: Covariance | None) -> Iterator[str]:
    yield text(result.table())
    yield f"\n{result.verdict[:1].upper()}{result.verdict[1:]}."
    several = len(result.outputs) > 1
    if several and not result.clean:
        for (case, _), verdict in result.verdicts.items():
            yield f"- {case}: {verdict}."
    if known is not None:
        yield text(known.table())
