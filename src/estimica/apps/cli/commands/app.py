"""The commands and what they share: help, version."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from estimica.apps.cli.commands.directory import ENTRIES, LoadedCommands
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
    """The commands, also by their aliases; wrong arguments are told in JSON where it is wanted.

    Each is loaded when it is called; a list of them shows their lines alone.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = LoadedCommands()  # type: ignore[assignment]  # it takes no others

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What a list shows of a command; the command itself comes from `resolve_command`."""
        entry = ENTRIES.get(cmd_name)
        return None if entry is None else TyperCommand(cmd_name, help=entry.line)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a name or an alias; where there is none, names that are close."""
        name, *rest = args
        try:
            found, command, rest = super().resolve_command(ctx, [ALIASES.get(name, name), *rest])
        except WrongUsage:
            if name.startswith("-"):
                raise  # an option in the place of the command
            hint = did_you_mean(name, [*self.commands, *ALIASES])
            raise WrongUsage(f"there is no command '{name}'{hint}", ctx) from None
        return found, command and self.commands[str(found)], rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except WrongUsage as error:
            if "--json" in sys.argv:
                from estimica.apps.cli.console import print_json

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


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

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
