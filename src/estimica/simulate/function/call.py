"""FunctionCall: a Python function y = f(u, t, p) over the stamps of one experiment.

Whatever the function raises or returns, a call gives an array (N, ny) or says in words why not.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from estimica.base.arrays import Indices, Vector
from estimica.base.errors import ModelError
from estimica.base.suggest import did_you_mean

Function = Callable[..., Any]
#: parameters as one array that also knows names, as a dict, or as an argument each
Style = Literal["array", "mapping", "arguments"]


class Values(np.ndarray[Any, np.dtype[np.float64]]):
    """Parameter values as an array, which also gives a value by its name: p[0] is p["K"]."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, values: Vector, names: Sequence[str]) -> Values:
        """Values with their names."""
        found = np.array(values, np.float64).view(cls)
        found.names = tuple(names)
        return found

    def __array_finalize__(self, other: object) -> None:
        self.names = getattr(other, "names", ())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"no parameter '{key}'{did_you_mean(key, self.names)}")
            return np.float64(super().__getitem__(self.names.index(key)))
        return super().__getitem__(key)


class Symbols(list[Any]):
    """The same for symbols, which do not stand in an array."""

    def __init__(self, values: Sequence[Any], names: Sequence[str]) -> None:
        super().__init__(values)
        self.names = tuple(names)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)


@dataclass(frozen=True)
class Signature:
    """How a function takes its parameters."""

    style: Style
    defaults: Mapping[str, float | None] = field(default_factory=dict)  # where they are arguments
    first: str = "u"  # what the function calls its input


def signature_of(function: Function, names: Sequence[str] | None) -> Signature:
    """The signature of a function, for parameters of these names where they are known."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of something built in
        return Signature("array")
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    arguments = [a for a in signature.parameters.values() if a.kind not in several]
    open_ended = any(a.kind is several[1] for a in signature.parameters.values())
    first, rest = (arguments[0].name if arguments else "u"), arguments[2:]
    if len(arguments) < 2 and not any(a.kind in several for a in signature.parameters.values()):
        raise ModelError(
            "M131",
            f"'{function_name(function)}' takes {len(arguments)} arguments; a model is a function "
            "f(u, t, p) of inputs, times and parameters",
        )
    one = rest[0] if len(rest) == 1 and rest[0].default is inspect.Parameter.empty else None
    if one is not None and (names is None or one.name not in names) and not open_ended:
        mapping = any(word in str(one.annotation) for word in ("dict", "Mapping"))
        return Signature("mapping" if mapping else "array", {}, first)
    defaults = {a.name: _default(a) for a in rest}
    if names is not None:
        _require_arguments(function, names, rest, open_ended)
    return Signature("arguments", defaults, first)


def _default(argument: inspect.Parameter) -> float | None:
    value = argument.default
    return float(value) if isinstance(value, (int, float)) else None


def _require_arguments(
    function: Function,
    names: Sequence[str],
    rest: Sequence[inspect.Parameter],
    open_ended: bool,
) -> None:
    known = [a.name for a in rest]
    for n in names:
        if n not in known and not open_ended:
            hint = did_you_mean(n, known) or f" (it takes {', '.join(known) or 'none'})"
            raise ModelError("M132", f"'{function_name(function)}' takes no parameter '{n}'{hint}")
    for a in rest:
        if a.name not in names and a.default is inspect.Parameter.empty:
            raise ModelError(
                "M133",
                f"'{function_name(function)}' needs '{a.name}'; give it in parameters=",
            )


def function_name(function: object) -> str:
    """What a function is called."""
    return str(getattr(function, "__name__", type(function).__name__))


@dataclass(frozen=True, eq=False)
class FunctionCall:
    """A function with its inputs and times; `rows` are the stamps that are asked for."""

    function: Function
    style: Style
    names: tuple[str, ...]  # of all parameters
    outputs: tuple[str, ...]
    inputs: Vector  # (N, nu)
    times: Vector  # (N,)
    rows: Indices
    shown: tuple[int, ...]  # the outputs that are asked for

    def returned(self, parameters: Any) -> Any:
        """What the function returns for numbers or symbols, as it is."""
        u = self.inputs[:, 0].copy() if self.inputs.shape[1] == 1 else self.inputs.copy()
        t = self.times.copy()
        if self.style == "array":
            return self.function(u, t, parameters)
        named = {n: parameters[k] for k, n in enumerate(self.names)}
        if self.style == "mapping":
            return self.function(u, t, named)
        return self.function(u, t, **named)

    def at(self, values: Vector) -> Vector | str:
        """Outputs (rows, shown), or what went wrong."""
        name = function_name(self.function)
        try:
            with np.errstate(all="ignore"), double_precision():
                found = self.returned(Values.of(values, self.names))
                numbers = self.columns(found)
        except Exception as error:  # the user's code may raise anything
            return f"{name} raised {type(error).__name__}: {error}"
        if isinstance(numbers, str):
            return f"{name} {numbers}"
        wanted = numbers[self.rows][:, self.shown]
        if np.isfinite(wanted).all():
            return wanted
        row, column = np.argwhere(~np.isfinite(wanted))[0]
        time = self.times[self.rows[row]]
        output = self.outputs[self.shown[column]]
        return f"{name} gave {wanted[row, column]} for '{output}' at time {time:g}"

    def columns(self, returned: Any) -> Vector | str:
        """What the function returned as (N, ny), or what is wrong with its shape."""
        N, ny = len(self.times), len(self.outputs)
        if (
            isinstance(returned, (tuple, list))
            and len(returned) == ny
            and np.ndim(returned[0]) == 1
        ):
            returned = np.column_stack([np.asarray(one) for one in returned])
        numbers = np.asarray(returned)
        if np.iscomplexobj(numbers) or numbers.dtype.kind not in "fiub":
            return f"returned {type(returned).__name__} of {numbers.dtype}, not real numbers"
        if ny == 1 and numbers.shape in ((N,), (N, 1)):
            return np.asarray(numbers, np.float64).reshape(N, 1)
        if numbers.shape == (N, ny):
            return np.asarray(numbers, np.float64)
        wanted = (N,) if ny == 1 else (N, ny)
        turned = "; transpose it" if numbers.shape == (ny, N) else ""
        return f"returned shape {numbers.shape}, not {wanted}{turned}"


def double_precision() -> AbstractContextManager[object]:
    """JAX computes in double precision inside; it is at work only where someone imported it."""
    jax = sys.modules.get("jax")
    if jax is None:
        return nullcontext()
    switch: Any = getattr(jax, "enable_x64", None)
    if switch is None:  # older versions have it in another place
        switch = jax.experimental.enable_x64
    found: AbstractContextManager[object] = switch(True)
    return found
