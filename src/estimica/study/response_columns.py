"""ResponseColumns: the columns of a measured frequency response, and how much it counts; with what
may and what may not stand in a case whose data are frequency responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import CaseError
from estimica.study.fields.kinds import (
    NUMBER,
    STRICT,
    TABLE,
    TEXT,
    ColumnName,
    Finite,
    InputName,
    Positive,
    display_name,
    field_error,
    kind_of,
    one_of_kinds,
    with_own_errors,
)
from estimica.study.fields.noise import Sigma

if TYPE_CHECKING:
    from estimica.study.case import Case

RESPONSE = "<response>"
RESPONSE_KEYS = ("real", "imag", "magnitude", "phase")
Noisy = Annotated[
    Annotated[ColumnName, Tag(TEXT)]
    | Annotated[Positive, Tag(NUMBER)]
    | Annotated[Sigma, Tag(TABLE)],
    one_of_kinds('a positive number, a column "…", or bounds { min, max }'),
]


@with_own_errors(CaseError, "C001", display_name("response"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class ResponseColumns:
    """A measured frequency response: real and imaginary part, or magnitude and phase."""

    real: Annotated[ColumnName | None, Field(description="The column of the real part.")] = None
    imag: Annotated[ColumnName | None, Field(description="The column of the imaginary part.")] = (
        None
    )
    magnitude: Annotated[ColumnName | None, Field(description="The column of the magnitude.")] = (
        None
    )
    phase: Annotated[ColumnName | None, Field(description="The column of the phase.")] = None
    magnitude_unit: Annotated[
        Literal["1", "dB"], Field(description="How the magnitude is written.")
    ] = "1"
    phase_unit: Annotated[Literal["deg", "rad"], Field(description="How the phase is written.")] = (
        "deg"
    )
    input: Annotated[
        InputName | None,
        Field(description="The input that was excited; not needed where there is only one."),
    ] = None
    weight: Annotated[Positive | None, Field(description="Multiplies the residual.")] = None
    sigma: Annotated[
        Noisy | None,
        Field(
            description="Known standard deviation of the real and of the imaginary part, a column "
            "of them, or bounds { min, max }."
        ),
    ] = None
    weighting: Annotated[
        str,
        Field(
            description="What each frequency counts: 'uniform', 'relative' (errors relative to the "
            "magnitude), or a column of factors."
        ),
    ] = "uniform"
    scale: Annotated[Finite | None, Field(description="Factor to the model's unit.")] = None
    imag_scale: Annotated[
        Finite | None, Field(description="Factor of the imaginary part; -1 for a column of -Im.")
    ] = None
    unit: Annotated[str | None, Field(description="Unit of the response.")] = None

    def __post_init__(self) -> None:
        cartesian, polar = (self.real, self.imag), (self.magnitude, self.phase)
        if any(cartesian) == any(polar):
            raise field_error("C040", "give either real and imag, or magnitude and phase")
        for missing, other in (RESPONSE_KEYS[:2], RESPONSE_KEYS[1::-1]):
            if any(cartesian) and getattr(self, missing) is None:
                raise field_error("C040", f"'{missing}' is missing beside {other}; name its column")
        for missing, other in (RESPONSE_KEYS[2:], RESPONSE_KEYS[:1:-1]):
            if any(polar) and getattr(self, missing) is None:
                raise field_error("C040", f"'{missing}' is missing beside {other}; name its column")
        if any(polar) and self.imag_scale is not None:
            raise field_error(
                "C040", "imag_scale is for real and imag; it has no meaning for a phase"
            )

    @property
    def columns(self) -> tuple[str, str]:
        """The two columns that make the complex numbers."""
        if self.real is not None and self.imag is not None:
            return self.real, self.imag
        return self.magnitude or "", self.phase or ""

    @property
    def text(self) -> str:
        """How the columns are named in tables."""
        return ", ".join(self.columns)


def kind_of_output(value: object) -> str:
    """The kind of an output: a table with a key of a response is one."""
    if isinstance(value, ResponseColumns):
        return RESPONSE
    if isinstance(value, dict) and any(k in value for k in RESPONSE_KEYS):
        return RESPONSE
    return kind_of(value)


def require_frequency(case: Case) -> None:
    """Refuse what has no meaning in a frequency response."""
    if case.frequency is not None and case.angular_frequency is not None:
        raise field_error("C041", "give frequency (Hz) or angular_frequency (rad/s), not both")
    timely = {"time": case.time, "time_scale": case.time_scale, "begin": case.begin}
    for key, given in timely.items():
        if given is not None:
            raise field_error("C042", f"{key} has no meaning in a frequency response; leave it out")
    if case.prefilter is not None:
        raise field_error(
            "C093",
            "a prefilter works on errors over time; in a frequency response choose the frequencies "
            "by a weighting, or leave rows out",
        )
    for name, column in case.inputs.items():
        if not isinstance(column, (int, float)):
            raise field_error(
                "C043",
                f"input '{name}': in a frequency response inputs are numbers, the operating "
                f"point; write {name} = 0.0",
            )
    for name, output in case.outputs.items():
        if not isinstance(output, (str, ResponseColumns)):
            raise field_error(
                "C044",
                f"output '{name}': a frequency response has two columns; write "
                f'{name} = {{ real = "…", imag = "…" }} or {{ magnitude = "…", phase = "…" }}',
            )
    if case.free_start and case.operating_point != "start":
        raise field_error(
            "C045",
            "the steady state does not depend on start values; leave free_start out, or write "
            'operating_point = "start"',
        )


def require_time(case: Case) -> None:
    """Refuse what has a meaning in a frequency response only."""
    responses = [n for n, o in case.outputs.items() if isinstance(o, ResponseColumns)]
    if responses:
        raise field_error(
            "C046",
            f"output '{responses[0]}' is a frequency response; say which column holds the "
            'frequency, as in frequency = "f" (Hz) or angular_frequency = "w" (rad/s)',
        )
    if case.operating_point is not None:
        raise field_error("C047", "operating_point needs a frequency response; leave it out")
