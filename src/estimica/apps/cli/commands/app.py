"""The commands and what they share: help, version."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from estimica.apps.cli.commands.analysis.backcalculate import backcalculate
from estimica.apps.cli.commands.analysis.bootstrap import bootstrap
from estimica.apps.cli.commands.analysis.crossvalidate import crossvalidate
from estimica.apps.cli.commands.analysis.find_noise import find_noise
from estimica.apps.cli.commands.analysis.fit import fit
from estimica.apps.cli.commands.analysis.identifiability import identifiability
from estimica.apps.cli.commands.analysis.map import map_
from estimica.apps.cli.commands.analysis.monitor import monitor
from estimica.apps.cli.commands.analysis.profile import profile
from estimica.apps.cli.commands.analysis.release import release
from estimica.apps.cli.commands.analysis.residuals import residuals
from estimica.apps.cli.commands.analysis.sample import sample
from estimica.apps.cli.commands.demo import demo
from estimica.apps.cli.commands.design.montecarlo import montecarlo
from estimica.apps.cli.commands.design.optimise import optimise
from estimica.apps.cli.commands.design.sweep import sweep
from estimica.apps.cli.commands.experiment.design_input import design_input
from estimica.apps.cli.commands.experiment.first_guess import first_guess
from estimica.apps.cli.commands.experiment.frequency_response import frequency_response
from estimica.apps.cli.commands.experiment.sensitivity_system import sensitivity_system
from estimica.apps.cli.commands.experiment.signal import signal
from estimica.apps.cli.commands.experiment.simulate import simulate
from estimica.apps.cli.commands.filtering.forecast import forecast
from estimica.apps.cli.commands.filtering.predict import predict
from estimica.apps.cli.commands.filtering.states import states
from estimica.apps.cli.commands.report import report
from estimica.apps.cli.commands.runs import runs_app
from estimica.apps.cli.commands.serve import serve
from estimica.apps.cli.commands.study.check import check
from estimica.apps.cli.commands.study.export import export
from estimica.apps.cli.commands.study.inspect import inspect
from estimica.apps.cli.commands.study.new import new
from estimica.apps.cli.commands.study.schema import schema
from estimica.apps.cli.commands.study.trust import trust
from estimica.apps.cli.commands.study.use import use
from estimica.apps.cli.consent import with_consent
from estimica.apps.cli.console import print_json
from estimica.base.suggest import did_you_mean

#: other words for commands, as other tools and other spellings have them
ALIASES = {
    "calibrate": "fit",
    "cross-validate": "crossvalidate",
    "monte-carlo": "montecarlo",
    "optimize": "optimise",
    "smooth": "states",
}
#: of the library that parses arguments, whose name typer does not export
WrongUsage: type[Exception] = typer.BadParameter.__bases__[0]


class Commands(TyperGroup):
    """The commands, also by their aliases; wrong arguments are told in JSON where it is wanted."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a name or an alias; where there is none, names that are close."""
        name, *rest = args
        try:
            return super().resolve_command(ctx, [ALIASES.get(name, name), *rest])
        except WrongUsage:
            if name.startswith("-"):
                raise  # an option in the place of the command
            hint = did_you_mean(name, [*self.commands, *ALIASES])
            raise WrongUsage(f"there is no command '{name}'{hint}", ctx) from None

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except WrongUsage as error:
            if "--json" in sys.argv:
                message = str(error)[:300]  # it may quote whatever was typed
                outcome = {"status": "wrong input", "code": "M055", "message": message}
                print_json({"command": ctx.invoked_subcommand, "outcome": outcome})
            raise


app = typer.Typer(
    name="estimica",
    cls=Commands,
    help="Calibrate physical models: find their parameters from measurements, with confidence.",
    epilog=f"Also understood: {', '.join(f'{a} (= {c})' for a, c in ALIASES.items())}.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(with_consent(backcalculate))
app.command()(with_consent(bootstrap))
app.command()(with_consent(check))
app.command()(with_consent(crossvalidate))
app.command()(demo)
app.command("design-input")(with_consent(design_input))
app.command()(with_consent(export))
app.command("find-noise")(with_consent(find_noise))
app.command("first-guess")(first_guess)
app.command()(with_consent(fit))
app.command()(with_consent(forecast))
app.command("frequency-response")(frequency_response)
app.command()(with_consent(identifiability))
app.command()(inspect)
app.command("map")(with_consent(map_))
app.command()(with_consent(monitor))
app.command()(with_consent(montecarlo))
app.command()(new)
app.command()(with_consent(optimise))
app.command()(with_consent(predict))
app.command()(with_consent(profile))
app.command()(with_consent(release))
app.command()(report)
app.command()(with_consent(residuals))
app.add_typer(runs_app, name="runs")
app.command()(with_consent(sample))
app.command()(schema)
app.command("sensitivity-system")(sensitivity_system)
app.command()(serve)
app.command()(signal)
app.command()(simulate)
app.command()(with_consent(states))
app.command()(with_consent(sweep))
app.command()(trust)
app.command()(with_consent(use))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"estimica {version('estimica')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Calibrate physical models: find their parameters from measurements, with confidence."""
