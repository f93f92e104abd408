"""The text of a model's functions: start, slopes, outputs, checks, and what the stiff method needs.

All of them are straight code over `t` (time), `w` (states and living sensitivities), `c` (what
depends on the tuners only) and `u` (inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    n_constants: int
    n_checks: int
    jacobian: tuple[tuple[int, int], ...]  # (output, tuner) of the living derivatives of outputs
    operations: int  # of the longest function


class CallsNotWritten(Exception):
    """A function calls another one, for which there is no text."""


def model_text(e: TunedEquations, stiff: bool, sloped: bool) -> ModelText:
    """The functions of the explicit method, or of the stiff one; `sloped`: inputs have slopes."""
    entries = living_entries(e.f, e.x0, e.x, e.theta, full=stiff)
    S = ca.SX.sym("S", len(entries.living))
    writer = _Writer(e, ca.vertcat(e.x, S), entries.matrix(S))
    writer.start(entries)
    writer.add("slope_of_states", "k", [e.f])
    writer.add("slope", "k", [e.f, entries.picked(writer.tuned(e.f))])
    jacobian = writer.outputs()
    if e.checks.shape[0]:
        writer.add("checked", "k", [e.checks])
    if stiff:
        writer.stiff(entries, sloped)
    constants = writer.constants.text()
    return ModelText(
        "\n".join([constants, *writer.texts]), entries, len(writer.constants),
        int(e.checks.shape[0]), jacobian, writer.longest,
    )  # fmt: skip


class _Writer:
    """Collects the functions of one method."""

    def __init__(self, e: TunedEquations, w: ca.SX, S: ca.SX) -> None:
        self.e, self.w, self.S = e, w, S
        self.constants = RunConstants()
        self.texts: list[str] = []
        self.longest = 0

    def tuned(self, expression: ca.SX) -> ca.SX:
        """Its total derivative by the tuners."""
        if not (expression.shape[0] and self.e.theta.shape[0]):
            return ca.SX(expression.shape[0], self.e.theta.shape[0])
        symbols = ca.vertcat(self.e.x, self.e.theta)
        unit = ca.SX.eye(self.e.theta.shape[0])
        return ca.jtimes(expression, symbols, ca.densify(ca.vertcat(self.S, unit)))

    def start(self, entries: Entries) -> None:
        """w at the start; tuners in."""
        e = self.e
        rates = ca.jacobian(e.x0, e.theta) if e.theta.shape[0] else ca.SX(entries.nx, 0)
        column = ca.vertcat(ca.densify(e.x0), entries.picked(ca.densify(rates)))
        function = self._function("start", [e.theta], [column])
        self.texts.append(
            function_text(
                function,
                "const double *theta, double *w",
                [_element("theta")],
                [_element("w")],
                None,
            )  # fmt: skip
        )

    def add(
        self, name: str, result: str, columns: Sequence[ca.SX], more: dict[str, ca.SX] | None = None
    ) -> None:
        """A function at a point, with one vector as its result and perhaps more arguments."""
        e, further = self.e, more or {}
        function = self._function(
            name,
            [e.t, self.w, e.u, *further.values(), e.theta],
            [ca.densify(ca.vertcat(*columns))],
        )
        parameters = _POINT + "".join(
            f"const double *RESTRICT {n}, " if s.shape[0] != 1 or n != "step"
            else f"const double {n}, " for n, s in further.items()
        ) + f"double *RESTRICT {result}"  # fmt: skip
        arguments = [
            _plain("t"), _element("w"), _element("u"),
            *(_plain(n) if n == "step" else _element(n) for n in further), _element("theta"),
        ]  # fmt: skip
        self.texts.append(
            function_text(function, parameters, arguments, [_element(result)], self.constants)
        )

    def outputs(self) -> tuple[tuple[int, int], ...]:
        """y, then its living derivatives, output by output."""
        e = self.e
        rates = ca.sparsify(self.tuned(e.y))
        places = sorted(
            (int(o), int(j)) for o, j in zip(*rates.sparsity().get_triplet(), strict=True)
        )
        chosen = [rates[o, j] for o, j in places]
        self.add("outputs", "y", [ca.densify(e.y), *chosen])
        return tuple(places)

    def stiff(self, entries: Entries, sloped: bool) -> None:
        """The Jacobian by rows, what moves along time, and the derivative of F_x k + step F_t."""
        e = self.e
        udot = ca.SX.sym("rate", e.u.shape[0])
        symbols, direction = ca.vertcat(e.t, e.u), ca.vertcat(ca.SX(1), udot)
        if not sloped:
            symbols, direction = e.t, ca.SX(1)
        along = ca.densify(ca.jtimes(e.f, symbols, direction))
        further = {"rate": udot}
        self.add("jacobian", "a", [ca.vec(ca.densify(ca.jacobian(e.f, e.x)).T)])
        self.add("along_time", "a", [along], further)
        k, step = ca.SX.sym("k", entries.nx), ca.SX.sym("step")
        moved = ca.jtimes(e.f, e.x, k) + step * along
        second = entries.picked(self.tuned(moved))
        self.add("second", "a", [second], {**further, "k": k, "step": step})

    def _function(self, name: str, given: list[ca.SX], results: list[ca.SX]) -> ca.Function:
        function = ca.Function(name, given, results, {"cse": True})
        if calls(function):
            raise CallsNotWritten(name)
        self.longest = max(self.longest, function.n_instructions())
        return function


def _element(name: str) -> Callable[[int], str]:
    return lambda k: f"{name}[{k}]"


def _plain(name: str) -> Callable[[int], str]:
    return lambda k: name
