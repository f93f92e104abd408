"""Which commands there are: where each is defined, and the line that the list of them says of it.

A command is imported when it is asked for, so that the list, and each command, waits for no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
import typer.main


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: the function of that name in a module beside this one, its first line, and whether
    it asks before it runs code that its study names."""

    place: str
    line: str
    asks: bool = False

    @property
    def function(self) -> Any:
        """The function that is called, or the group of commands below it."""
        module, name = self.place.split(":")
        return getattr(import_module(f"estimica.apps.cli.commands.{module}"), name)

    def loaded(self, name: str) -> Any:
        """The command itself, as the library that parses arguments has it."""
        command = self.function
        if isinstance(command, typer.Typer):
            return typer.main.get_command(command)
        if self.asks:
            from estimica.apps.cli.consent import with_consent

            command = with_consent(command)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(command)
        return typer.main.get_command(alone)


#: in the order of the list
ENTRIES = {
    "backcalculate": Entry(
        "analysis.backcalculate:backcalculate",
        "Leave a relation out, let data drive the rest, and see what it hides and which law it is.",
        asks=True,
    ),
    "bootstrap": Entry(
        "analysis.bootstrap:bootstrap",
        "Repeat the fit of a study on simulated data and see how the estimates scatter.",
        asks=True,
    ),
    "check": Entry(
        "study.check:check",
        "Tell everything that is wrong with a study, before any long work.",
        asks=True,
    ),
    "crossvalidate": Entry(
        "analysis.crossvalidate:crossvalidate",
        "Leave out cases or stretches of time in turn, fit without them, and predict them.",
        asks=True,
    ),
    "demo": Entry(
        "demo:demo",
        "Fit a drum boiler to noisy data whose truth is known and write a page about it.",
    ),
    "design-input": Entry(
        "experiment.design_input:design_input",
        "Find the input that would tell most about the tuners, before the experiment is made.",
        asks=True,
    ),
    "export": Entry(
        "study.export:export",
        "Write a study with an ODE model as a PEtab problem: SBML, tables and a YAML file.",
        asks=True,
    ),
    "find-noise": Entry(
        "analysis.find_noise:find_noise",
        "Find the state whose equation is incomplete: noise in it helps most.",
        asks=True,
    ),
    "first-guess": Entry(
        "experiment.first_guess:first_guess",
        "Read gain, time constant and delay off a step response or a Bode plot, as with a ruler.",
    ),
    "fit": Entry(
        "analysis.fit:fit",
        "Find the tuners of a study from its data and say how far to trust them.",
        asks=True,
    ),
    "forecast": Entry(
        "filtering.forecast:forecast",
        "Fit a study with noise in its states and say how it goes on after the data.",
        asks=True,
    ),
    "frequency-response": Entry(
        "experiment.frequency_response:frequency_response",
        "Estimate a frequency response with its uncertainty from a record over time.",
    ),
    "identifiability": Entry(
        "analysis.identifiability:identifiability",
        "Fit, and say which unknowns the data determine, which no data would, and what would help.",
        asks=True,
    ),
    "inspect": Entry("study.inspect:inspect", "Show the parameters and variables of a model."),
    "map": Entry(
        "analysis.map:map_",
        "Compute the cost over one or two tuners; valleys show what the data do not tell apart.",
        asks=True,
    ),
    "monitor": Entry(
        "analysis.monitor:monitor",
        "Follow data as they arrive: estimates that move with them, and alarms where things "
        "change.",
        asks=True,
    ),
    "montecarlo": Entry(
        "design.montecarlo:montecarlo",
        "Draw the parameters of a design: quantiles of its criteria, and how often all is well.",
        asks=True,
    ),
    "new": Entry(
        "study.new:new", "Write a commented study file from a model and the columns of its data."
    ),
    "optimise": Entry(
        "design.optimise:optimise",
        "Find the tuners that make the criteria of a study small, all demands at once.",
        asks=True,
    ),
    "predict": Entry(
        "filtering.predict:predict",
        "Fit a study with noise in its states and predict values from those some samples before.",
        asks=True,
    ),
    "profile": Entry(
        "analysis.profile:profile",
        "Hold each unknown at values around its estimate, fit the others, and see the cost rise.",
        asks=True,
    ),
    "release": Entry(
        "analysis.release:release",
        "Find which unknowns are worth freeing, by likelihood-ratio tests.",
        asks=True,
    ),
    "report": Entry(
        "report:report",
        "Write one document about the stored runs of a study: HTML, Markdown, figures.",
    ),
    "residuals": Entry(
        "analysis.residuals:residuals",
        "Fit a study and judge its residuals: colour, inputs, trend, shape, spread, outliers.",
        asks=True,
    ),
    "sample": Entry(
        "analysis.sample:sample",
        "Draw from the posterior of a study: how probable values are, given data and priors.",
        asks=True,
    ),
    "schema": Entry("study.schema:schema", "Print the JSON Schema of study files."),
    "sensitivity-system": Entry(
        "experiment.sensitivity_system:sensitivity_system",
        "Write a model together with its sensitivity equations as a Modelica class.",
    ),
    "serve": Entry("serve:serve", "Set up, watch and read studies in the browser."),
    "signal": Entry("experiment.signal:signal", "Write or draw a signal to excite a process with."),
    "simulate": Entry(
        "experiment.simulate:simulate",
        "Simulate a model and show, draw or write its outputs and their sensitivities.",
    ),
    "states": Entry(
        "filtering.states:states",
        "Fit a study with noise in its states: filtered and smoothed states, what equations lack.",
        asks=True,
    ),
    "sweep": Entry(
        "design.sweep:sweep",
        "Simulate a design at many values of its parameters: which of them satisfy the demands?",
        asks=True,
    ),
    "trust": Entry(
        "study.trust:trust",
        "List the code that a study would run, and agree to it; nothing of it runs here.",
    ),
    "use": Entry(
        "study.use:use",
        "Make the values that a run has found the starts and values of a study.",
        asks=True,
    ),
    "runs": Entry("runs:runs_app", "List, show, name, compare and delete stored runs."),
}


class LoadedCommands(Mapping[str, Any]):
    """The commands by their names, each imported when it is asked for first."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = ENTRIES[name].loaded(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(ENTRIES)

    def __len__(self) -> int:
        return len(ENTRIES)
