"""NumericFunction: a Python function of numbers that a model calls, with its slopes.

A model names it by a text, its twin, which says all of it but the program itself: programs are
made known by `know_codes` in each process. A call that fails gives NaN, as every function of a
model does; how it failed is kept for the thread, until the next run begins.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from estimica.base.code.load import load_function
from estimica.base.code.reference import CodeRefusedError
from estimica.base.code.trusted import TrustedCode
from estimica.base.errors import EstimicaError

Part = Literal["value", "slopes"]
Numbers = Sequence[float]

#: what twins begin with that are functions of Python
PREFIX = "python "
#: step of differences in units of the argument, with five points of fourth order: curvature leaves
#: 1e-16 of a smooth function, rounding 1e-12, and the noise of an iteration grows by 1e4 only
WIDTH = 1e-4
#: arguments smaller than this count as so large for the step
SMALLEST_SIZE = 1e-2
#: how far slopes that are given may be from differences; differences are better than that even for
#: functions that are iterated to six digits
DISAGREEMENT = 1e-2
#: results that are kept: values, slopes and differences are asked for at the same few points
MOST_KEPT = 512


@dataclass(frozen=True)
class NumericCode:
    """The program of a function of a model, and that of its slopes where one is given."""

    value: TrustedCode
    derivatives: TrustedCode | None = None

    @property
    def codes(self) -> tuple[TrustedCode, ...]:
        """All its programs."""
        return (self.value,) if self.derivatives is None else (self.value, self.derivatives)

    @property
    def content(self) -> tuple[str, ...]:
        """Changes whenever one of the programs does."""
        return tuple(_key(code) for code in self.codes)

    @property
    def spelt(self) -> tuple[str, ...]:
        """The programs as the user names them."""
        return tuple(f"{code.spelt}:{code.function}" for code in self.codes)


@dataclass(frozen=True)
class Argument:
    """A text that is known; or a number, or an array of numbers of some shape."""

    name: str
    text: str | None = None
    shape: tuple[int, ...] = ()
    real: bool = True  # whole numbers and truth values have no slopes

    @property
    def size(self) -> int:
        """How many numbers it is."""
        return 0 if self.text is not None else math.prod(self.shape)


@dataclass(frozen=True)
class NumericFunction:
    """A function of a model for arguments of one kind."""

    name: str  # of the function in the model
    code: str
    derivatives: str  # "" where slopes are found by differences
    arguments: tuple[Argument, ...]
    outputs: int

    @property
    def size(self) -> int:
        """How many numbers it is given."""
        return sum(a.size for a in self.arguments)

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The numbers, by their places, by which there are slopes."""
        real = [a.real for a in self.arguments for _ in range(a.size)]
        return tuple(k for k, moves in enumerate(real) if moves)

    def twin(self, part: Part) -> str:
        """The text by which a model names its values or its slopes (output by output)."""
        arguments = [[a.name, a.text, list(a.shape), a.real] for a in self.arguments]
        content = [part, self.name, self.code, self.derivatives, arguments, self.outputs]
        return PREFIX + json.dumps(content)


class _CallFailedError(Exception):
    """How a call failed, in words."""


class _Failures(threading.local):
    """How the last call failed that did so in this thread."""

    text = ""


_failures = _Failures()
_codes: dict[str, TrustedCode] = {}


def _key(code: TrustedCode) -> str:
    """Programs of two folders are two, since they may read what lies beside them."""
    folder = hashlib.sha256(os.fsencode(code.folder)).hexdigest()
    return f"{code.sha256}:{folder}:{code.function}"


def numeric_function(
    name: str, code: NumericCode, arguments: Iterable[Argument], outputs: int
) -> NumericFunction:
    """The function `name` of a model by its program."""
    know_codes(code.codes)
    slopes = _key(code.derivatives) if code.derivatives is not None else ""
    return NumericFunction(name, _key(code.value), slopes, tuple(arguments), outputs)


def know_codes(codes: Iterable[TrustedCode]) -> None:
    """Make programs known to this process; they run when they are first called."""
    _codes.update((_key(code), code) for code in codes)


def forget_failure() -> None:
    """A run begins."""
    _failures.text = ""


def failed_call() -> str:
    """How the last call failed since `forget_failure`; "" where none has."""
    return _failures.text


@cache
def numeric_twin(twin: str) -> NumericTwin:
    """What a twin computes, ready to be called; errors of the user's where it cannot be."""
    part, name, code, derivatives, arguments, outputs = json.loads(twin.removeprefix(PREFIX))
    known = tuple(Argument(n, text, tuple(shape), real) for n, text, shape, real in arguments)
    return NumericTwin(NumericFunction(name, code, derivatives, known, outputs), part)


class NumericTwin:
    """Numbers to numbers; NaN where a call fails."""

    def __init__(self, function: NumericFunction, part: Part) -> None:
        self.function, self.part = function, part
        self.given = function.size
        self.results = function.outputs * (len(function.moving) if part == "slopes" else 1)
        self._value = _Called(function, function.code)
        self._slopes = _Called(function, function.derivatives) if function.derivatives else None
        self._compared = False
        self._kept: dict[tuple[float, ...], list[float]] = {}

    def __call__(self, numbers: Numbers) -> list[float]:
        """The values, or the slopes output by output; a call never raises."""
        point = tuple(numbers)
        if not all(map(math.isfinite, point)):
            return [math.nan] * self.results  # a step that went too far, which is given up anyway
        known = self._kept.get(point)
        if known is None:
            try:
                known = self._computed(point)
            except _CallFailedError as failure:
                _failures.text = str(failure)
                return [math.nan] * self.results
            except BaseException as failure:  # nothing may pass through machine code
                _failures.text = f"'{self.function.name}' was stopped by {type(failure).__name__}"
                return [math.nan] * self.results
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[point] = known
        return known

    def _computed(self, point: tuple[float, ...]) -> list[float]:
        if self.part == "value":
            return self._value(point, self.results)
        if self._slopes is None:
            return self._differences(point)
        given = self._slopes(point, self.results)
        if not self._compared:
            self._compare(point, given)
            self._compared = True
        return given

    def _compare(self, point: tuple[float, ...], given: list[float]) -> None:
        """Slopes that are wrong are found where they are first asked for."""
        try:
            found = self._differences(point)
        except _CallFailedError:
            return
        columns = len(self.function.moving)
        for k, (g, f) in enumerate(zip(given, found, strict=True)):
            size = max(abs(g), abs(f))
            if abs(g - f) > DISAGREEMENT * size and size * self._width(point, k % columns) > 1e-12:
                slopes = self._slopes
                assert slopes is not None
                raise _CallFailedError(
                    f"the derivative of {self._value.told(point)} by "
                    f"'{self._number_name(self.function.moving[k % columns])}' is {g:.6g} by "
                    f"{slopes.spelt} and {f:.6g} by differences; correct {slopes.spelt}"
                )

    def _number_name(self, place: int) -> str:
        names = [a.name for a in self.function.arguments for _ in range(a.size)]
        return names[place]

    def _width(self, point: tuple[float, ...], column: int) -> float:
        return WIDTH * max(abs(point[self.function.moving[column]]), SMALLEST_SIZE)

    def _differences(self, point: tuple[float, ...]) -> list[float]:
        columns = [self._slope(point, j) for j in range(len(self.function.moving))]
        return [float(c[k]) for k in range(self.function.outputs) for c in columns]

    def _slope(self, point: tuple[float, ...], column: int) -> Any:
        """By five points; at the edge of where the function has values, by three on one side."""
        place, h = self.function.moving[column], self._width(point, column)

        def at(steps: int) -> Any:
            moved = (*point[:place], point[place] + steps * h, *point[place + 1 :])
            return np.array(self._value(moved, self.function.outputs))

        try:
            return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
        except _CallFailedError:
            middle = at(0)
        try:
            return (-3 * middle + 4 * at(1) - at(2)) / (2 * h)
        except _CallFailedError:
            return (3 * middle - 4 * at(-1) + at(-2)) / (2 * h)


class _Called:
    """A program that is called with the arguments of a function."""

    def __init__(self, function: NumericFunction, key: str) -> None:
        self._function, self._key = function, key

    @property
    def _code(self) -> TrustedCode | None:
        return _codes.get(self._key)

    @cached_property
    def _call(self) -> Callable[..., Any]:
        if self._code is None:
            raise _CallFailedError(f"the program of '{self._function.name}' is not known here")
        try:
            return load_function(self._code).call
        except (CodeRefusedError, EstimicaError) as error:
            raise _CallFailedError(f"'{self._function.name}': {error}") from None

    @property
    def spelt(self) -> str:
        """As the user names it."""
        code = self._code
        return f"{code.spelt}:{code.function}" if code is not None else "unknown"

    def told(self, point: tuple[float, ...]) -> str:
        """The call in words."""
        values = self._arguments(point)
        pairs = zip(self._function.arguments, values, strict=True)
        given = ", ".join(f"{a.name} = {_told(v)}" for a, v in pairs)
        return f"'{self._function.name}' ({self.spelt}) with {given}"

    def __call__(self, point: tuple[float, ...], count: int) -> list[float]:
        try:
            result = self._call(*self._arguments(point))
            numbers = [float(x) for x in np.asarray(result, dtype=float).ravel()]
        except _CallFailedError:
            raise
        except Exception as error:  # the user's code may raise anything
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise _CallFailedError(f"{self.told(point)} raised {said}") from None
        if len(numbers) != count:
            raise _CallFailedError(
                f"{self.told(point)} returned {len(numbers)} numbers, where {count} are needed"
            )
        for number in numbers:
            if not math.isfinite(number):
                raise _CallFailedError(f"{self.told(point)} returned {number}")
        return numbers

    def _arguments(self, point: tuple[float, ...]) -> list[Any]:
        values: list[Any] = []
        place = 0
        for a in self._function.arguments:
            if a.text is not None:
                values.append(a.text)
                continue
            numbers = point[place : place + a.size]
            place += a.size
            values.append(np.array(numbers).reshape(a.shape) if a.shape else numbers[0])
        return values


def _told(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.10g}" if isinstance(value, float) else str(value)
