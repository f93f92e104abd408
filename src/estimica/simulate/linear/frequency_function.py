"""FrequencyFunction: any expression in s as a model that is known over frequencies only.

For what no finite set of linear equations does: diffusion (Warburg elements), constant phase
elements, lines, several delays, and transfers that grow with s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model, ModelResponse, OperatingPoint
from estimica.flat import expression as ex
from estimica.flat.calculus import tangent
from estimica.flat.expression import Expression
from estimica.simulate.frequency_run import FrequencyRun, checked_frequencies
from estimica.simulate.linear.text import SHIFT, VARIABLE
from estimica.source.formula import parse_formula

Numbers = Mapping[str, float]

#: analytic functions: their derivatives hold for complex numbers too
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "pow": np.power,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
}
_S = ex.name(VARIABLE)


def frequency_function(
    expression: str,
    *,
    parameters: Numbers | None = None,
    input: str = "u",
    output: str = "y",
    name: str = "frequency function",
) -> FrequencyFunction:
    """A model G(s) of one input and output that is known over frequencies only.

    `expression` is a text in s, as "R + Z0*tanh(sqrt(s*T))/sqrt(s*T)"; its other names are
    parameters, `parameters` their values where no other is given.
    """
    return FrequencyFunction(expression, dict(parameters or {}), input, output, name)


class FrequencyFunction(Model):
    """G(jω; θ) with exact derivatives; built by `frequency_function`."""

    def __init__(
        self, text: str, parameters: Numbers, input: str, output: str, name: str, why: str = ""
    ) -> None:
        formula = parse_formula(text, "frequency function")
        if SHIFT in formula.names:
            raise ModelError(
                "M189",
                f"frequency function '{text}' holds z, which is never a parameter; rename it, or "
                "write a model in discrete time as transfer_function('b/(z - a)', sample_time=0.1)",
            )
        self.text, self.name, self.description = text, name, text
        self.why = why  # it is not a linear system
        self.input_name, self.output_name = input, output
        self.parameter_names = tuple(n for n in formula.names if n != VARIABLE)
        self.values = _values(self.parameter_names, parameters, text)
        self.expression = formula.expression
        _require_analytic(formula.expression, text)
        for one in (input, output):
            if one in self.parameter_names or input == output:
                raise ModelError(
                    "M153",
                    f"the name '{one}' is used twice; rename the input, the output or the "
                    "parameter",
                )

    @property
    def precision(self) -> float:
        """Responses and derivatives are exact to rounding."""
        return 1e-12

    def quantities(self) -> list[Quantity]:
        """The output, the input and the parameters."""
        return [
            Quantity(self.output_name, description=self.text, role="algebraic"),
            Quantity(self.input_name, 0.0, role="input"),
            *(
                Quantity(n, self.values.get(n), role="parameter", tunable=True)
                for n in self.parameter_names
            ),
        ]

    def output_names(self) -> tuple[str, ...]:
        """The name of the output."""
        return (self.output_name,)

    def respond(self, experiment: Experiment) -> NoReturn:
        """Refused: there is none over time."""
        reason = f": {self.why}" if self.why else ""
        raise ModelError(
            "M154",
            f"'{self.text}' is known over frequencies only{reason}; give the case a frequency, or "
            "approximate it by a ratio of polynomials in s",
        )

    def frequency_experiment(
        self,
        omega: Sequence[float] | Vector,
        inputs: Mapping[str, float] | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        transfers: Sequence[tuple[str, str]],
        wrt: Sequence[str] = (),
        operating_point: OperatingPoint = "steady",
    ) -> ModelResponse:
        """G(jω) at fixed frequencies; the same at every operating point."""
        for output, input_ in transfers:
            self._require(output, (self.output_name,), "output")
            self._require(input_, (self.input_name,), "input")
        for n in inputs or {}:
            self._require(n, (self.input_name,), "input")
        for n in start or {}:
            self._require(n, (), "state")
        tuners = tuple(wrt)
        for n in (*tuners, *(parameters or {})):
            self._require(n, self.parameter_names, "parameter")
        known = {**self.values, **{n: float(v) for n, v in (parameters or {}).items()}}
        missing = [n for n in self.parameter_names if n not in known and n not in tuners]
        if missing:
            raise ModelError(
                "M155",
                f"parameter '{missing[0]}' of '{self.name}' has no value; give it with "
                f"parameters={{'{missing[0]}': ...}}",
            )
        found = checked_frequencies(omega)
        return _Response(self.expression, found, known, tuners, len(transfers))

    def frequency_response(
        self, omega: Sequence[float] | Vector, parameters: Numbers | None = None
    ) -> Complex:
        """G(jω) at angular frequencies in rad/s."""
        pair = [(self.output_name, self.input_name)]
        run = self.frequency_experiment(omega, None, parameters, transfers=pair).at()
        if not run.ok:
            raise ModelError("M156", f"'{self.text}': {run.text}")
        return np.asarray(run.Y[:, 0] + 1j * run.Y[:, 1])

    def _require(self, name: str, names: Sequence[str], what: str) -> None:
        if name not in names:
            hint = did_you_mean(name, names) or f" ({what}s: {', '.join(names) or 'none'})"
            raise ModelError("M157", f"'{self.name}' has no {what} '{name}'{hint}")

    def __reduce__(self) -> tuple[object, ...]:
        given = (self.text, self.values, self.input_name, self.output_name, self.name, self.why)
        return FrequencyFunction, given

    def __repr__(self) -> str:
        return f"<Frequency function {self.name}: {self.text}>"


class _Response:
    """The expression and its derivatives at fixed frequencies."""

    def __init__(
        self, root: Expression, omega: Vector, known: Numbers, tuners: tuple[str, ...], count: int
    ) -> None:
        self._known, self._names, self._count = dict(known), tuners, count
        self._omega = omega
        self._roots = [root]
        for name in tuners:
            leaf = ex.name(name)
            self._roots += tangent([root], _direction(leaf))
        self._nodes = list(ex.walk(*self._roots))

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up; NaN where they have none."""
        return np.array([self._known.get(n, np.nan) for n in self._names])

    @property
    def times(self) -> Vector:
        """The angular frequencies in rad/s."""
        return self._omega

    def at(self, theta: Vector | None = None) -> FrequencyRun:
        """Re and Im at tuner values `theta`; what is not finite is told."""
        values = self.tuners if theta is None else np.asarray(theta, np.float64)
        known = {**self._known, **dict(zip(self._names, map(float, values), strict=True))}
        with np.errstate(all="ignore"):
            response = self._evaluated(known)
        G = np.repeat(response[:, :1], self._count, axis=1)
        dG = np.repeat(response[:, None, 1:], self._count, axis=1)
        run = FrequencyRun.of(self._omega, G, dG)
        if run.ok:
            return run
        bad = float(self._omega[np.flatnonzero(~np.isfinite(response).all(axis=1))[0]])
        listed = ", ".join(f"{n} = {v:g}" for n, v in known.items())
        text = f"{run.text} at {bad:g} rad/s, with {listed}"
        return FrequencyRun.failed(self._omega, self._count, len(values), text)

    def _evaluated(self, known: Numbers) -> Complex:
        s = 1j * self._omega
        memo: dict[Expression, Any] = {}
        for e in self._nodes:
            if e.op == "const":
                memo[e] = np.complex128(e.value)
            elif e is _S:
                memo[e] = s
            elif e.op == "name":
                memo[e] = np.complex128(known[e.target])
            else:
                memo[e] = _OPERATIONS[e.op](*(memo[a] for a in e.operands))
        columns = [np.broadcast_to(memo[r], s.shape) for r in self._roots]
        return np.asarray(np.stack(columns, axis=1), np.complex128)


def _direction(leaf: Expression) -> Callable[[Expression], Expression]:
    return lambda other: ex.ONE if other is leaf else ex.ZERO


def _require_analytic(root: Expression, text: str) -> None:
    for e in ex.walk(root):
        if e.op not in _OPERATIONS and e.op not in ("const", "name"):
            known = ", ".join(n for n in _OPERATIONS if n not in ("add", "sub", "mul", "div"))
            raise ModelError(
                "M158",
                f"frequency function '{text}': {e.op}(...) has no meaning for complex numbers; "
                f"there are +, -, *, /, ^, {known.replace('neg, pow, ', '')}",
            )


def _values(names: Sequence[str], given: Numbers, text: str) -> dict[str, float]:
    for n in given:
        if n not in names:
            hint = did_you_mean(n, names) or f" (parameters: {', '.join(names) or 'none'})"
            raise ModelError("M159", f"parameters: '{n}' is not in '{text}'{hint}")
    return {n: float(v) for n, v in given.items()}
