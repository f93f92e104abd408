"""Prefilter: a linear filter on the error of an output, which says at which frequencies it counts.

For a linear model filtering input and output is the same as filtering the error; for any other
model the error is what is filtered.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.study.fields.kinds import (
    HERTZ,
    STRICT,
    WHOLE,
    Positive,
    display_name,
    field_error,
    with_own_errors,
)

#: order of a Butterworth filter: 48 dB an octave; more only rings longer and loses more samples
MOST = 8
KINDS = ("band", "lowpass", "highpass", "transfer")


@with_own_errors(CaseError, "C080", display_name("prefilter"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class Prefilter:
    """A Butterworth filter by its corner frequencies in Hz, or a transfer function."""

    band: Annotated[
        tuple[Positive, Positive] | None,
        HERTZ,
        Field(description="What passes, from … to, in Hz (Butterworth)."),
    ] = None
    lowpass: Annotated[
        Positive | None, HERTZ, Field(description="What is below passes, in Hz.")
    ] = None
    highpass: Annotated[
        Positive | None, HERTZ, Field(description="What is above passes, in Hz.")
    ] = None
    order: Annotated[
        int, Field(ge=1, le=MOST, description="Order of the Butterworth filter."), WHOLE
    ] = 2
    transfer: Annotated[
        Any,
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        Field(description='A transfer function in s with numbers, as "1/(1 + 10*s)".'),
    ] = None

    def __post_init__(self) -> None:
        given = [k for k in KINDS if getattr(self, k) is not None]
        if len(given) != 1:
            what = f"{' and '.join(given)} are given" if given else "nothing is given"
            raise field_error("C081", f"{what}; write one of band, lowpass, highpass or transfer")
        if self.band is not None and self.band[0] >= self.band[1]:
            low, high = self.band
            raise field_error("C082", f"band [{low:g}, {high:g}] does not go upwards; swap the two")

    @property
    def corners(self) -> tuple[float, ...]:
        """The corner frequencies in Hz; none of a transfer function."""
        if self.band is not None:
            return self.band
        return tuple(f for f in (self.lowpass, self.highpass) if f is not None)

    @property
    def text(self) -> str:
        """The filter in words."""
        if self.band is not None:
            return f"band {self.band[0]:g} … {self.band[1]:g} Hz, order {self.order}"
        for kind, corner in (("lowpass", self.lowpass), ("highpass", self.highpass)):
            if corner is not None:
                return f"{kind} {corner:g} Hz, order {self.order}"
        if isinstance(self.transfer, str):
            return self.transfer
        return " ".join(str(self.transfer).split())


def _written_out(given: object) -> object:
    """A text or a python-control object alone is the transfer function."""
    if given is None or isinstance(given, (Prefilter, dict)):
        return given
    if isinstance(given, str) or _is_control(given):
        return {"transfer": given}
    raise field_error(
        "C083",
        "write a table { band = [from, to] }, { lowpass = f } or { highpass = f } with Hz, or a "
        'text in s as "1/(1 + 10*s)"',
    )


def _is_control(given: object) -> bool:
    from estimica.simulate.linear.constructors import is_state_space, is_transfer_function

    return is_state_space(given) or is_transfer_function(given)


#: a prefilter as it is written: a table, or a text in s
PrefilterField = Annotated[
    Prefilter | None,
    BeforeValidator(_written_out, json_schema_input_type=Prefilter | str | None),
    Field(
        description="Filter on the error: { band = [from, to] }, { lowpass = f } or "
        '{ highpass = f } in Hz with an order, or a text in s as "1/(1 + 10*s)".'
    ),
]
