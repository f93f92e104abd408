"""transfer_function and state_space: linear models from texts, numbers or python-control."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from estimica.base.errors import ModelError
from estimica.compiled.model.interface import Model
from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.modelica_text import write_expression
from estimica.simulate.linear.frequency_function import FrequencyFunction
from estimica.simulate.linear.model import Initial, LinearModel
from estimica.simulate.linear.sampled import checked_step
from estimica.simulate.linear.system import LinearSystem, Matrix, observer_form
from estimica.simulate.linear.text import (
    SHIFT,
    VARIABLE,
    Rational,
    causal,
    coefficient,
    from_coefficients,
    polynomial_text,
    read_transfer_function,
    readable,
    variable_of,
)
from estimica.source.formula import parse_formula

Numbers = Mapping[str, float]
Entry = str | float


def transfer_function(
    system: object,
    denominator: Sequence[Entry] | None = None,
    *,
    delay: Entry = 0.0,
    sample_time: float | None = None,
    parameters: Numbers | None = None,
    input: str = "u",
    output: str = "y",
    initial: Initial = "rest",
    name: str = "transfer function",
) -> LinearModel:
    """A model of one input and output from its transfer function.

    `system` is a text in s, as "K*exp(-T*s)/(1 + tau*s)", whose other names are parameters; the
    coefficients of the numerator in falling powers of s, with those of the `denominator`; or a
    TransferFunction of python-control, whose coefficients b0, b1, …, a0, a1, … become parameters.
    `delay` comes on top of one in the text. `parameters` are their values where no other is given.
    With a `sample_time` in seconds it is a model in discrete time: a text in z, as "b/(z - a)",
    or coefficients in falling powers of z; `delay` is then a number of samples, as z^-n in a text.
    `initial` says what was before the run: all was zero (`rest`), or the input had for long the
    value that it begins with (`steady`).
    """
    values: dict[str, float] = {}
    order: list[str] = []
    sample_time = None if sample_time is None else checked_step(sample_time)
    if isinstance(system, str) and denominator is None:
        rational = read_transfer_function(system)
        order = list(parse_formula(readable(system)).names)
        _require_sampling(system, sample_time)
    elif denominator is not None:
        rational = from_coefficients(system, denominator, 0.0)  # type: ignore[arg-type]
    elif is_transfer_function(system):
        rational, values = rational_of(system)
        sample_time = _sampling_of(system, sample_time)
    else:
        raise ModelError(
            "M126",
            f"{system!r} is not a transfer function; give a text as 'K/(1 + tau*s)', coefficients, "
            "or "
            "a TransferFunction of python-control",
        )
    late = ex.add(rational.delay, coefficient(delay, "delay"))
    if sample_time is not None:
        _require_samples(coefficient(delay, "delay"), delay)
        rational = causal(Rational(rational.numerator, rational.denominator, late))
        late = rational.delay
    realised = observer_form(rational)
    realised = LinearSystem(realised.A, realised.B, realised.C, realised.D, (late,))
    return LinearModel(
        realised,
        names={
            "inputs": [input],
            "outputs": [output],
            "states": [f"x{k + 1}" for k in range(len(realised.A))],
            "parameters": order,
        },
        parameters={**values, **(parameters or {})},
        initial=initial,
        name=name,
        description=_described(rational.numerator, rational.denominator, late, sample_time),
        sample_time=sample_time,
        text=system if isinstance(system, str) else "",
    )


def model_of_text(
    text: str, parameters: Numbers | None = None, sample_time: float | None = None
) -> Model:
    """The model of a text in s: over time and frequencies, or over frequencies only.

    The latter where the text is not a ratio of polynomials with a delay. A text in z is a model in
    discrete time, with its sample time.
    """
    if variable_of(text) == SHIFT or sample_time is not None:
        return transfer_function(text, parameters=parameters, sample_time=sample_time)
    try:
        return transfer_function(text, parameters=parameters)
    except ModelError as error:
        if error.code not in ("M103", "M104"):
            raise
        given = dict(parameters or {})
        return FrequencyFunction(text, given, "u", "y", "transfer function", error.message)


def state_space(
    A: Any,
    B: Sequence[Sequence[Entry]] | None = None,
    C: Sequence[Sequence[Entry]] | None = None,
    D: Sequence[Sequence[Entry]] | None = None,
    *,
    delay: Entry | Sequence[Entry] = 0.0,
    sample_time: float | None = None,
    parameters: Numbers | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    states: Sequence[str] | None = None,
    initial: Initial = "rest",
    name: str = "state space",
) -> LinearModel:
    """x' = A x + B u(t - delay), y = C x + D u(t - delay), with formulas or numbers as entries.

    `A` alone may be a StateSpace of python-control; its entries that are not zero become parameters
    `A[1,1]`, `B[1,1]`, …. `delay` is one for all inputs or one for each. Signals are called u1, u2,
    …, y1, … and x1, … (u and y where there is one). For `parameters` and `initial` see
    `transfer_function`. With a `sample_time` in seconds it is x[k+1] = A x[k] + B u[k - delay],
    y[k] = C x[k] + D u[k - delay].
    """
    values: dict[str, float] = {}
    if is_state_space(A):
        system, values = system_of(A)
        sample_time = _sampling_of(A, sample_time)
    elif B is None or C is None:
        raise ModelError("M127", "state_space needs A, B and C, or a StateSpace of python-control")
    else:
        system = _from_matrices(A, B, C, D)
    n, nu, ny = system.sizes
    late = [delay] * nu if isinstance(delay, (str, int, float)) else list(delay)
    if len(late) != nu:
        raise ModelError("M128", f"{len(late)} delays for {nu} inputs; give one, or one for each")
    delays = tuple(coefficient(d, "delay") for d in late)
    if sample_time is not None:
        for expression, given in zip(delays, late, strict=True):
            _require_samples(expression, given)
    return LinearModel(
        LinearSystem(system.A, system.B, system.C, system.D, delays),
        names={
            "inputs": _given(inputs, "u", nu),
            "outputs": _given(outputs, "y", ny),
            "states": [f"x{k + 1}" for k in range(n)] if states is None else list(states),
            "parameters": [],
        },
        parameters={**values, **(parameters or {})},
        initial=initial,
        name=name,
        description=f"{_LAWS[sample_time is not None]} with {n} states",
        sample_time=sample_time,
    )


_LAWS = ("x' = A x + B u, y = C x + D u", "x[k+1] = A x[k] + B u[k], y[k] = C x[k] + D u[k]")


def _require_sampling(text: str, sample_time: float | None) -> None:
    """Whether a text in z has a sample time, and one in s none."""
    names = parse_formula(readable(text)).names
    if SHIFT in names and sample_time is None:
        raise ModelError(
            "M181",
            f"'{text}' is a model in discrete time, which needs its sample time in seconds: "
            "sample_time=0.1, and in a study file sample_time = 0.1 in [model]",
        )
    if VARIABLE in names and sample_time is not None:
        raise ModelError(
            "M182",
            f"sample_time {sample_time!r}: '{text}' is in s, a model in continuous time; leave it "
            "out, or write the model in z",
        )


def _require_samples(late: Expression, given: object) -> None:
    """Whether the delay of a model in discrete time is a whole number of samples."""
    if late.op != "const" or late.value != int(late.value) or late.value < 0:
        raise ModelError(
            "M183",
            f"delay {given!r}: a model in discrete time is late by a whole number of samples, "
            "which cannot be a parameter; give 0, 1, 2, …",
        )


def _sampling_of(given: Any, sample_time: float | None) -> float | None:
    """The sample time of a system of python-control, or the one said beside it."""
    if not given.isdtime(strict=True):
        if sample_time is not None:
            raise ModelError(
                "M182",
                f"sample_time {sample_time!r}: the system is one in continuous time; leave it out, "
                "or sample it before",
            )
        return None
    if given.dt is True:
        if sample_time is None:
            raise ModelError(
                "M181", "the system is sampled, but dt does not say how often; give sample_time"
            )
        return sample_time
    if sample_time is not None and sample_time != given.dt:
        raise ModelError(
            "M184", f"sample_time {sample_time!r} is not that of the system, dt = {given.dt}"
        )
    return float(given.dt)


def _from_matrices(A: Any, B: Any, C: Any, D: Any) -> LinearSystem:
    a, b, c = _matrix("A", A), _matrix("B", B), _matrix("C", C)
    n, ny = len(a), len(c)
    nu = len(b[0]) if b else 0
    d = _matrix("D", D) if D is not None else ((ex.ZERO,) * nu,) * ny
    shapes = {"A": (a, (n, n)), "B": (b, (n, nu)), "C": (c, (ny, n)), "D": (d, (ny, nu))}
    for letter, (found, shape) in shapes.items():
        rows = len(found)
        if rows != shape[0] or any(len(row) != shape[1] for row in found):
            columns = sorted({len(row) for row in found})
            raise ModelError(
                "M129",
                f"{letter} must have {shape[0]} rows of {shape[1]} entries, not {rows} rows of "
                f"{' or '.join(map(str, columns)) or '0'}",
            )
    return LinearSystem(a, b, c, d, (ex.ZERO,) * nu)


def _matrix(letter: str, given: Any) -> Matrix:
    """Rows of formulas or numbers; one entry stands for a matrix of one."""
    rows = [[given]] if isinstance(given, (str, int, float)) else list(given)
    matrix: list[tuple[Expression, ...]] = []
    for i, row in enumerate(rows, start=1):
        if isinstance(row, (str, int, float)):
            raise ModelError("M130", f"{letter}: {row!r} is not a row; write [[...], [...]]")
        matrix.append(
            tuple(coefficient(e, f"{letter}[{i},{k}]") for k, e in enumerate(row, start=1))
        )
    return tuple(matrix)


def _given(names: Sequence[str] | None, letter: str, count: int) -> list[str]:
    if names is not None:
        return [names] if isinstance(names, str) else list(names)
    return [letter] if count == 1 else [f"{letter}{k + 1}" for k in range(count)]


def _described(
    above: tuple[Expression, ...],
    below: tuple[Expression, ...],
    late: Expression,
    sample_time: float | None,
) -> str:
    variable = VARIABLE if sample_time is None else SHIFT
    text = f"({polynomial_text(above, variable)})/({polynomial_text(below, variable)})"
    if sample_time is not None:
        delay = f"z^-{late.value:g}*" if late is not ex.ZERO else ""
        return f"{delay}{text}, every {sample_time:g} s"
    if late is ex.ZERO:
        return text
    return f"exp(-({write_expression(late, spell=str)})*s)*{text}"


# ----------------------------------------------------------------
# Linear systems of the python-control library, with every coefficient a parameter.


Values = dict[str, float]


def control_library() -> Any:
    """The library where it is in use; whoever holds one of its objects has imported it."""
    return sys.modules.get("control")


def is_transfer_function(given: object) -> bool:
    """Whether `given` is a TransferFunction of python-control."""
    control = control_library()
    return control is not None and isinstance(given, control.TransferFunction)


def is_state_space(given: object) -> bool:
    """Whether `given` is a StateSpace of python-control."""
    control = control_library()
    return control is not None and isinstance(given, control.StateSpace)


def rational_of(given: Any) -> tuple[Rational, Values]:
    """A transfer function whose coefficients b0, b1, …, a0, a1, … are parameters; a[n] is 1."""
    if (given.noutputs, given.ninputs) != (1, 1):
        raise ModelError(
            "M114",
            f"a transfer function of {given.ninputs} inputs and {given.noutputs} outputs; convert "
            "it with control.ss and give that to state_space",
        )
    above, below = (np.trim_zeros(np.asarray(p[0][0], float), "f") for p in (given.num, given.den))
    above = above if len(above) else np.zeros(1)
    values: Values = {}
    numerator = _named("b", above / below[0], values)
    denominator = _named("a", below / below[0], values, monic=True)
    return Rational(numerator, denominator), values


def system_of(given: Any) -> tuple[LinearSystem, Values]:
    """A state-space system whose entries A[1,1], A[1,2], … are parameters, those that are not 0."""
    values: Values = {}
    A, B, C, D = (
        _entries(letter, np.asarray(getattr(given, letter), float), values) for letter in "ABCD"
    )
    return LinearSystem(A, B, C, D, (ex.ZERO,) * given.ninputs), values


def _named(
    letter: str, falling: Any, values: Values, *, monic: bool = False
) -> tuple[Expression, ...]:
    coefficients = []
    for power, value in enumerate(falling[::-1]):
        if value == 0 or (monic and power == len(falling) - 1):
            coefficients.append(ex.const(float(value)))
        else:
            values[f"{letter}{power}"] = float(value)
            coefficients.append(ex.name(f"{letter}{power}"))
    return tuple(coefficients)


def _entries(letter: str, numbers: Any, values: Values) -> Matrix:
    rows = []
    for i, row in enumerate(numbers, start=1):
        entries = []
        for k, value in enumerate(row, start=1):
            name = f"{letter}[{i},{k}]"
            entries.append(ex.name(name) if value else ex.ZERO)
            if value:
                values[name] = float(value)
        rows.append(tuple(entries))
    return tuple(rows)
