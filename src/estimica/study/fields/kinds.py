"""What the parts of a study share: kinds of fields, how strictly they are read, complaints, what a
form offers for a text, and settings of a command: those of its table, and over them the given ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from numbers import Integral
from typing import Annotated, Any, Literal, SupportsFloat, TypeVar

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from estimica.base import magnitude
from estimica.base.errors import EstimicaError
from estimica.base.problems import Problem, raise_all
from estimica.study.fields.messages import short_value, validation_messages

#: unknown keys are errors, values are not bent into another kind
STRICT = ConfigDict(
    extra="forbid", arbitrary_types_allowed=True, validate_by_name=True, validate_by_alias=True
)

T = TypeVar("T")
MOST = 2**63 - 1  # whole numbers as the store, NumPy and the engine know them


def field_error(code: str, message: str) -> ValueError:
    """An error about one value; whoever reads the value adds its place."""
    return PydanticCustomError(code, message)


def _real(value: object) -> float:
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            raise field_error("kind", f"{short_value(value)} is not a number") from None
        raise field_error("kind", f"{short_value(value)} is a text; write {value} without quotes")
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise field_error("kind", f"{short_value(value)} is not a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise field_error("kind", f"{short_value(value)} is not a number") from None
    except OverflowError:
        raise field_error("kind", f"{short_value(value)} is too large") from None
    if math.isnan(number):
        raise field_error("kind", "nan is not a number")
    return number


def finite(value: object) -> float:
    """A finite number that can be computed with, or a complaint."""
    number = _bound(value)
    if math.isinf(number):
        raise field_error("kind", f"{number} is not finite")
    return number


def _bound(value: object) -> float:
    """A number that can be computed with, or none at all: infinite."""
    number = _real(value)
    trouble = "" if math.isinf(number) else magnitude.magnitude_problem(number)
    if trouble:
        raise field_error("kind", f"{number:g} {trouble}")
    return number


def _whole(value: object) -> int:
    if isinstance(value, Integral) and not isinstance(value, bool):
        whole = int(value)
    else:
        number = _real(value)
        if not number.is_integer():
            raise field_error("kind", f"{number:g} is not a whole number")
        whole = int(number)
    if abs(whole) > MOST:
        raise field_error("kind", f"{short_value(whole)} is too large; at most {MOST:g}")
    return whole


# a marker stands behind the limits of its field, so that these appear in the schema
REAL = BeforeValidator(_real)
WHOLE = BeforeValidator(_whole)

Number = Annotated[float, BeforeValidator(_bound)]  # may be infinite: a bound
Finite = Annotated[float, BeforeValidator(finite)]
Positive = Annotated[float, Field(gt=0), BeforeValidator(finite)]
Truth = Annotated[bool, Field(strict=True)]

#: the kinds that one key may take; the marks never meet a user's own name
TEXT, NUMBER, TRUTH, LIST, TABLE = "<text>", "<number>", "<truth>", "<list>", "<table>"


def kind_of(value: object) -> str:
    """Which of the kinds a value is."""
    if isinstance(value, str):
        return TEXT
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, SupportsFloat):
        return NUMBER
    return LIST if isinstance(value, (list, tuple, set, frozenset)) else TABLE


def one_of_kinds(expected: str) -> Discriminator:
    """Choose among kinds by what is written; `expected` says what may stand there."""
    return Discriminator(
        kind_of, custom_error_type="kind", custom_error_message=f"write {expected}"
    )


def with_own_errors(
    kind: type[EstimicaError], code: str, name: Callable[[dict[str, Any]], str]
) -> Callable[[type[T]], type[T]]:
    """Make a dataclass that is built in a program complain in our words.

    `name` says what it is called, from its arguments; `code` is used where a field is of the wrong
    kind.
    """

    def decorated(cls: type[T]) -> type[T]:
        original = cls.__init__

        @wraps(original)
        def __init__(self: T, *args: Any, **kwargs: Any) -> None:
            try:
                original(self, *args, **kwargs)
            except ValidationError as error:
                messages = validation_messages(error, cls)
                given = dict(zip(cls.__dataclass_fields__, args, strict=False)) | kwargs  # type: ignore[attr-defined]
                text = "; ".join(c.text for c in messages)
                raise kind(messages[0].code or code, f"{name(given)}: {text}") from None

        cls.__init__ = __init__  # type: ignore[method-assign, assignment]
        return cls

    return decorated


def display_name(word: str, key: str = "name") -> Callable[[dict[str, Any]], str]:
    """`tuner 'T_D'`, or the word alone where there is no name."""
    return lambda given: f"{word} '{given[key]}'" if isinstance(given.get(key), str) else word


OfferKind = Literal["text", "column", "variable", "parameter", "path"]


@dataclass(frozen=True, slots=True)
class Offer:
    """Names to choose from: columns of the data, names of the model, files of the folder."""

    kind: OfferKind
    of: str = ""  # narrower: "input", "state", "tuner", "case", "criterion", "model", "data",
    # "equation"


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit that a number is in, whatever the model is."""

    symbol: str


ColumnName = Annotated[str, Offer("column")]
VariableName = Annotated[str, Offer("variable")]
InputName = Annotated[str, Offer("variable", "input")]
OutputName = Annotated[str, Offer("variable", "output")]
StateName = Annotated[str, Offer("variable", "state")]
ParameterName = Annotated[str, Offer("parameter")]
TunerName = Annotated[str, Offer("text", "tuner")]
CaseName = Annotated[str, Offer("text", "case")]
CriterionName = Annotated[str, Offer("text", "criterion")]
SECONDS, HERTZ = Unit("s"), Unit("Hz")


def settings(kind: type[T], where: str, tables: Sequence[Mapping[str, Any]]) -> T:
    """The settings of one or more tables, later ones before earlier ones; all mistakes at once."""
    merged: dict[str, Any] = {}
    for table in tables:
        merged |= table
    try:
        return TypeAdapter(kind).validate_python(merged)
    except ValidationError as error:
        raise_all(
            [Problem(c.code or "Q002", where, c.text) for c in validation_messages(error, kind)]
        )
        raise
