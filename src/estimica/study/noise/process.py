"""Process noise: what the equations of a model leave out, as noise in its states; the filter that
criterion "prediction" sees the data through; and the tuners that only such noise speaks of."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

from estimica.base.errors import EstimicaError, StudyError
from estimica.base.quantities import Quantity
from estimica.source.formula import parse_formula
from estimica.study.case import Case, OutputColumn
from estimica.study.fields.kinds import (
    NUMBER,
    REAL,
    STRICT,
    TABLE,
    TEXT,
    StateName,
    display_name,
    one_of_kinds,
    with_own_errors,
)
from estimica.study.fields.noise import Sigma
from estimica.study.tuner import Tuner

PREDICTION = "prediction"

Level = Annotated[
    Annotated[float, Field(ge=0), REAL, Tag(NUMBER)] | Annotated[str, Tag(TEXT)],
    one_of_kinds('a number, or a formula "…" of tuners, parameters and inputs'),
]
Spread = Annotated[
    Annotated[Literal["stationary"], Tag(TEXT)] | Annotated[dict[StateName, Level], Tag(TABLE)],
    one_of_kinds('"stationary", or a table { state = standard deviation }'),
]


@with_own_errors(StudyError, "Q002", display_name("filter"))
@dataclass(frozen=True, config=STRICT, kw_only=True)
class Filter:
    """The `[filter]` table."""

    kind: Annotated[
        Literal["extended", "unscented"],
        Field(
            description="How uncertainty passes the equations: linearised at the mean, or by a few "
            "points around it, where that is too crude."
        ),
    ] = "extended"
    start_spread: Annotated[
        Spread,
        Field(
            description="Standard deviations of the states where a case begins: a table "
            '{ state = number or formula }, or "stationary": as they are after a long time at the '
            "first inputs. States that are not named are known there, or found with free_start."
        ),
    ] = Field(default_factory=dict)

    @property
    def spreads(self) -> dict[str, float | str]:
        """Standard deviations of start values, by state."""
        return {} if isinstance(self.start_spread, str) else dict(self.start_spread)


def sigma_name(output: str, sigma: Sigma | None = None) -> str:
    """The tuner that is the noise level of an output, where nobody has said what it is."""
    shared = sigma.shared if sigma is not None else None
    return f"sigma_{shared or output}"


def output_sigma(output: str, column: OutputColumn) -> float | str:
    """The standard deviation of measuring an output: a number, or a formula."""
    sigma = column.sigma
    if isinstance(sigma, Sigma):
        return 1.0 if sigma.column is not None else sigma_name(output, sigma)
    return sigma_name(output) if sigma is None else sigma


def names_in_levels(levels: Iterable[float | str]) -> frozenset[str]:
    """All names in formulas that can be read."""
    names: set[str] = set()
    for level in levels:
        if isinstance(level, str):
            try:
                names |= set(parse_formula(level, "process noise").names)
            except EstimicaError:  # told where the study is checked
                continue
    return frozenset(names)


def noise_tuners_of(
    process_noise: Mapping[str, float | str],
    chosen: Filter,
    cases: Iterable[Case],
    quantities: Iterable[Quantity],
) -> dict[str, Tuner]:
    """A tuner for every name that only the noise speaks of, also those that a study has."""
    known = {q.name: q.unit for q in quantities}
    wanted = {**_of_outputs(cases, known), **_of_states(process_noise, chosen, known)}
    return {n: t for n, t in wanted.items() if n not in known}


def with_noise_tuners(
    tuners: tuple[Tuner, ...], wanted: Mapping[str, Tuner], told: Collection[str]
) -> tuple[Tuner, ...]:
    """The tuners, and those of the noise that are not among them and that the data have `told`.

    Noise spans decades: its tuners are on a logarithmic scale unless they say otherwise.
    """
    own = [
        replace(t, scale="log", unit=t.unit or wanted[t.name].unit)
        if t.name in wanted and t.scale == "auto" and not t.drives and _is_positive(t)
        else t
        for t in tuners
    ]
    there = {t.name for t in tuners}
    found = (t for n, t in wanted.items() if n not in there and n in told)
    return (*own, *found)


def _is_positive(tuner: Tuner) -> bool:
    return (tuner.start is None or tuner.start > 0) and tuner.max > 0


def _of_states(
    process_noise: Mapping[str, float | str], chosen: Filter, units: Mapping[str, str]
) -> dict[str, Tuner]:
    tuners: dict[str, Tuner] = {}
    for levels, what, root in (
        (process_noise, "noise in state", "/√s"),
        (chosen.spreads, "spread of", ""),
    ):
        for state, level in levels.items():
            unit = difference_unit(units.get(state, ""))
            for name in sorted(names_in_levels([level])):
                # of a formula only the whole is known to be in this unit
                own = f"{unit or '1'}{root}" if level == name and unit + root else ""
                tuner = Tuner(name, scale="log", description=f"{what} {state}", unit=own)
                tuners.setdefault(name, tuner)
    return tuners


def difference_unit(unit: str) -> str:
    """The unit of differences and standard deviations of a quantity."""
    return "K" if unit == "degC" else unit


def _of_outputs(cases: Iterable[Case], units: Mapping[str, str]) -> dict[str, Tuner]:
    tuners: dict[str, Tuner] = {}
    for case in cases:
        for output, column in case.columns_of_outputs.items():
            for tuner in _of_output(output, column, difference_unit(units.get(output, ""))):
                tuners.setdefault(tuner.name, tuner)
    return tuners


def _of_output(output: str, column: OutputColumn, unit: str) -> Iterator[Tuner]:
    sigma = column.sigma
    what = f"noise of measuring {output}"
    if isinstance(sigma, str):
        columns = {"time", output}
        for name in sorted(names_in_levels([sigma]) - columns):
            yield Tuner(name, scale="log", description=what, unit=unit if sigma == name else "")
    elif sigma is None or (isinstance(sigma, Sigma) and sigma.column is None):
        low, high = (0.0, math.inf) if sigma is None else (sigma.min, sigma.max)
        name = sigma_name(output, sigma)
        yield Tuner(name, min=low, max=high, scale="log", description=what, unit=unit)
