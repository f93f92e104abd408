"""The text of a model's functions: start, slopes, outputs, checks, and what the stiff method needs.

All of them are straight code over `t` (time), `w` (states and living sensitivities), `c` (what
depends on the tuners only) and `u` (inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from estimica.compiled.cuda.equations import TunedEquations
from estimica.compiled.cuda.function_text import RunConstants, calls, function_text
from estimica.compiled.cuda.sensitivity_pattern import Entries, living_entries

_POINT = "const double t, const double *RESTRICT w, const double *RESTRICT c, "
_POINT += "const double *RESTRICT u, "


@dataclass(frozen=True, eq=False)
class ModelText:
    """Functions of C and what there is of them."""

    text: str
    entries: Entries
    groups: tuple[tuple[int, int], ...]  # stretches of sensitivities with functions of their own
    n_constants: int
    n_checks: int
    jacobian: tuple[tuple[int, int], ...]  # (output, tuner) of the living derivatives of outputs
    operations: int  # of the longest function
    operations_of_groups: int  # of all groups' slopes

    @property
    def tuners_of_groups(self) -> list[list[int]]:
        """Whose sensitivities each group holds."""
        columns = self.entries.columns
        return [[j for j, a, _ in columns if begin <= a < end] for begin, end in self.groups]


class CallsNotWritten(Exception):
    """A function calls another one, for which there is no text."""


def explicit_text(e: TunedEquations, together: int, group: int, most: int) -> ModelText:
    """The functions of the explicit method.

    Where states and sensitivities are more than `together`, these are done in groups of `group`,
    unless the slopes of all groups have more than `most` operations: each group computes anew what
    it needs of the states.
    """
    entries = living_entries(e.f, e.x0, e.x, e.theta, full=False)
    if entries.size > together:
        text = _explicit(e, entries, entries.groups(group))
        if text.operations_of_groups <= most:
            return text
    return _explicit(e, entries, ())


def _explicit(
    e: TunedEquations, entries: Entries, groups: tuple[tuple[int, int], ...]
) -> ModelText:
    writer = _Writer(e, entries)
    writer.start()
    writer.add("slope_of_states", "k", e.f)
    places = writer.places()
    if groups:
        writer.add("outputs_of_states", "y", e.y)
        for number, (begin, end) in enumerate(groups):
            writer.group(number, begin, end, places)
    else:
        writer.both()
        writer.outputs(places)
    return writer.finished(groups, places)


def stiff_text(e: TunedEquations, sloped: bool) -> ModelText:
    """The functions of the stiff method; `sloped`: inputs have slopes."""
    entries = living_entries(e.f, e.x0, e.x, e.theta, full=True)
    writer = _Writer(e, entries)
    writer.start()
    writer.add("slope_of_states", "k", e.f)
    writer.both()
    places = writer.places()
    writer.outputs(places)
    writer.stiff(sloped)
    return writer.finished((), places)


class _Writer:
    """Collects the functions of one method."""

    def __init__(self, e: TunedEquations, entries: Entries) -> None:
        self.e, self.entries = e, entries
        self.symbols = ca.SX.sym("S", len(entries.living))
        self.S = entries.matrix(self.symbols)
        self.constants = RunConstants()
        self.texts: list[str] = []
        self.longest = self.grouped = 0

    def tuned(self, expression: ca.SX) -> ca.SX:
        """Its total derivative by the tuners."""
        m = self.entries.m
        if not (expression.shape[0] and m):
            return ca.SX(expression.shape[0], m)
        symbols = ca.vertcat(self.e.x, self.e.theta)
        return ca.jtimes(expression, symbols, ca.densify(ca.vertcat(self.S, ca.SX.eye(m))))

    def start(self) -> None:
        """w at the start; tuners in."""
        e, entries = self.e, self.entries
        rates = ca.jacobian(e.x0, e.theta) if entries.m else ca.SX(entries.nx, 0)
        column = ca.vertcat(ca.densify(e.x0), entries.picked(ca.densify(rates)))
        function = self._function("start", [e.theta], column)
        arguments, results = [_element("theta")], _element("w")
        parameters = "const double *theta, double *w"
        self.texts.append(function_text(function, parameters, arguments, [results], None))

    def both(self) -> None:
        """The slopes of states and sensitivities."""
        slopes = self.entries.picked(self.tuned(self.e.f))
        self.add("slope", "k", ca.vertcat(self.e.f, slopes))

    def places(self) -> tuple[tuple[int, int], ...]:
        """(output, tuner) of the derivatives of outputs that can differ from zero."""
        rates = ca.sparsify(self.tuned(self.e.y))
        pairs = zip(*rates.sparsity().get_triplet(), strict=True)
        return tuple(sorted((int(o), int(j)) for o, j in pairs))

    def outputs(self, places: Sequence[tuple[int, int]]) -> None:
        """y, then its living derivatives, output by output."""
        rates = self.tuned(self.e.y)
        self.add("outputs", "y", ca.vertcat(self.e.y, *(rates[o, j] for o, j in places)))

    def group(self, number: int, begin: int, end: int, places: Sequence[tuple[int, int]]) -> None:
        """Slopes of one group of sensitivities, and the derivatives of outputs by its tuners."""
        e, first = self.e, self.entries.nx
        members = self.entries.living[begin - first : end - first]
        own = self.symbols[begin - first : end - first]
        slopes, rates = self.tuned(e.f), self.tuned(e.y)
        chosen = ca.vertcat(*(slopes[i, j] for i, j in members))
        self.add(f"slope_of_group{number}", "k", chosen, {"s": own})
        tuners = {j for _, j in members}
        kept = [(k, o, j) for k, (o, j) in enumerate(places) if j in tuners]
        targets = [int(e.y.shape[0]) + k for k, _, _ in kept]
        column = ca.vertcat(*(rates[o, j] for _, o, j in kept), ca.SX(0, 1))
        self.add(f"outputs_of_group{number}", "y", column, {"s": own}, targets)

    def stiff(self, sloped: bool) -> None:
        """The Jacobian by rows, what moves along time, and the derivative of F_x k + step F_t."""
        e, entries = self.e, self.entries
        udot = ca.SX.sym("rate", e.u.shape[0])
        symbols, direction = ca.vertcat(e.t, e.u), ca.vertcat(ca.SX(1), udot)
        if not sloped:
            symbols, direction = e.t, ca.SX(1)
        along = ca.densify(ca.jtimes(e.f, symbols, direction))
        further = {"rate": udot}
        self.add("jacobian", "a", ca.vec(ca.densify(ca.jacobian(e.f, e.x)).T))
        self.add("along_time", "a", along, further)
        k, step = ca.SX.sym("k", entries.nx), ca.SX.sym("step")
        moved = ca.jtimes(e.f, e.x, k) + step * along
        self.add(
            "second", "a", entries.picked(self.tuned(moved)), {**further, "k": k, "step": step}
        )

    def add(
        self,
        name: str,
        result: str,
        column: ca.SX,
        further: Mapping[str, ca.SX] | None = None,
        targets: Sequence[int] | None = None,
    ) -> None:
        """A function at a point with one vector as its result, perhaps at given places of it.

        Of `further` arguments `s`, a group of sensitivities, stands for those in w.
        """
        e, more = self.e, dict(further or {})
        w = e.x if "s" in more else ca.vertcat(e.x, self.symbols)
        given = [e.t, w, e.u, *more.values(), e.theta]
        function = self._function(name, given, ca.densify(column))
        types = {n: "const double " if n == "step" else "const double *RESTRICT " for n in more}
        parameters = _POINT + "".join(f"{types[n]}{n}, " for n in more)
        arguments = [
            _plain("t"), _element("w"), _element("u"),
            *(_plain(n) if n == "step" else _element(n) for n in more), _element("theta"),
        ]  # fmt: skip
        results = _element(result, targets)
        parameters += f"double *RESTRICT {result}"
        text = function_text(function, parameters, arguments, [results], self.constants)
        self.texts.append(text)

    def finished(
        self, groups: tuple[tuple[int, int], ...], places: tuple[tuple[int, int], ...]
    ) -> ModelText:
        """All of them, with the checks, behind what they share."""
        checks = int(self.e.checks.shape[0])
        if checks:
            self.add("checked", "k", self.e.checks)
        text = "\n".join([self.constants.text(), *self.texts])
        n = len(self.constants)
        sizes = (self.longest, self.grouped)
        return ModelText(text, self.entries, groups, n, checks, places, *sizes)

    def _function(self, name: str, given: list[ca.SX], result: ca.SX) -> ca.Function:
        function = ca.Function(name, given, [result], {"cse": True})
        if calls(function):
            raise CallsNotWritten(name)
        self.longest = max(self.longest, function.n_instructions())
        if name.startswith("slope_of_group"):
            self.grouped += function.n_instructions()
        return function


def _element(name: str, places: Sequence[int] | None = None) -> Callable[[int], str]:
    return lambda k: f"{name}[{k if places is None else places[k]}]"


def _plain(name: str) -> Callable[[int], str]:
    return lambda k: name
