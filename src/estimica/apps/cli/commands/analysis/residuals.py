"""`estimica residuals`: what is left of the data says of the model that was fitted to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import reported, say
from estimica.apps.cli.delivery import Delivery, deliver, requested_outputs, require_outputs
from estimica.apps.cli.options import (
    AsJson,
    NoStore,
    Quiet,
    ReportPath,
    StorePath,
    StudyPath,
    Workers,
)
from estimica.apps.cli.session import (
    AnalysisProgressLine,
    begin_run,
    checked_study,
    finish_run,
    fitted,
    stored,
)
from estimica.base.view import text

if TYPE_CHECKING:
    from estimica.infer.covariance.run import Covariance
    from estimica.infer.residuals.run import ResidualAnalysis


def residuals(
    study: StudyPath,
    level: Annotated[
        float, typer.Option(help="Chance of any complaint about white Gaussian residuals.")
    ] = 0.05,
    covariance: Annotated[
        str | None,
        typer.Option(help="Standard errors as well, of this kind: model, pooled, sandwich or hac."),
    ] = None,
    report: ReportPath = None,
    workers: Workers = None,
    store: StorePath = None,
    no_store: NoStore = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a study and judge its residuals: colour, inputs, trend, shape, spread, outliers."""
    with reported("residuals", as_json):
        from estimica.infer.covariance.run import covariance as errors
        from estimica.infer.covariance.run import require_kind
        from estimica.infer.residuals.run import require_level
        from estimica.infer.residuals.run import residuals as analyse

        require_outputs(page=report)
        require_level(level)
        if covariance is not None:
            require_kind(covariance)
        asked = checked_study(study, "residuals", as_json)
        run = begin_run(
            "residuals",
            asked,
            study,
            store=store,
            no_store=no_store,
            resume=None,
            given={},
            settings={"level": level, "covariance": covariance},
        )
        with run.writer as writer, AnalysisProgressLine(quiet, writer=writer):
            estimate = fitted(asked, writer, workers)
            if not estimate.outcome.ok:
                say(f"warning: the fit ended early: {estimate.outcome.message}")
            found = analyse(estimate, level=level)
            known = None if covariance is None else errors(estimate, covariance)
            found = finish_run(found, writer)
        stored(writer)
    more = {} if known is None else {"covariance": known.to_dict()}
    delivery = Delivery(
        result=lambda: found.to_dict() | more,
        texts=lambda: _texts(found, known),
        outputs=requested_outputs((report, found.report)),
        run=found.run,
    )
    deliver(delivery, as_json=as_json, quiet=quiet)


def _texts(found: ResidualAnalysis, known: Covariance | None) -> Iterator[str]:
    yield text(found.table())
    yield f"\n{found.verdict[:1].upper()}{found.verdict[1:]}."
    several = len(found.outputs) > 1
    if several and not found.clean:
        for (case, _), verdict in found.verdicts.items():
            yield f"- {case}: {verdict}."
    if known is not None:
        yield text(known.table())
