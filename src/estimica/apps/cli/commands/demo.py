"""`estimica demo`: a drum boiler fitted to noisy data; a table and a page."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from estimica.apps.cli.console import reported, say
from estimica.apps.cli.delivery import (
    Delivery,
    deliver,
    requested_outputs,
    require_output_folder,
    require_outputs,
)
from estimica.apps.cli.demo.boiler import TRUTH, VARIANCES, write_demo
from estimica.apps.cli.options import AsJson
from estimica.base.view import Table, text
from estimica.study.fields.counts import SEED

if TYPE_CHECKING:
    from estimica.estimate.fit.result import Fit


def demo(
    report: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("report.html"),
    files: Annotated[
        Path | None, typer.Option(help="A folder in which to leave model, data and study.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=SEED, help="Seed of inputs and noise.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Fit a drum boiler to noisy data whose truth is known and write a page about it."""
    with reported("demo", as_json):
        require_outputs(page=report)
        require_output_folder(files)
        say("Loading the drum boiler and making its data ...")
        if files is None:
            with TemporaryDirectory() as folder:
                result = _fitted(Path(folder), seed)
        else:
            result = _fitted(files, seed)
    truth = {"parameters": TRUTH, "noise": VARIANCES}
    more = {"command": "demo", "truth": truth, "report": str(report)}
    texts = [text(comparison(result)), f"\nTables and plots: open {report} in a browser."]
    if files is not None:
        texts.append(f"Go on with: estimica fit {files / 'boiler.toml'}")
    delivery = Delivery(
        lambda: result.to_dict() | more, lambda: texts, requested_outputs((report, result.report))
    )
    deliver(delivery, as_json=as_json, quiet=False)


def _fitted(folder: Path, seed: int) -> Fit:
    from estimica.estimate.run.fit import fit
    from estimica.study.file.read import read_study

    result = fit(read_study(write_demo(folder, seed)))
    say(f"Fitted {result.n_free} unknowns to {result.n_samples} samples in {result.seconds:.2f} s.")
    return result


def comparison(result: Fit) -> Table:
    """Truth beside estimates, the variances of the noise among them."""
    from estimica.base.text import rounded, short
    from estimica.estimate.fit.present import estimates

    rows: list[tuple[object, ...]] = []
    for k, row in enumerate(estimates(result).rows):
        name, value, error, low, high, unit = row[:6]
        start = result.unknowns.items[k].start
        rows.append((name, start, TRUTH[str(name)], value, error, low, high, unit))
    for name, noise in result.noise.items():
        n = len(result.cases[0][name].time)
        error = noise.variance * (2 / n) ** 0.5  # of the mean of squares of white noise
        value = rounded(noise.variance, error)
        rows.append(
            (f"variance of {name}", None, VARIANCES[name], value, short(error), None, None, "")
        )
    columns = ("parameter", "start", "truth", "estimate", "std. error", "95 % from", "to", "unit")
    title = f"Drum boiler, maximum likelihood: cost {result.cost:.7g}"
    return Table(columns, tuple(rows), title, f"{result.outcome.status}: {result.outcome.message}")
