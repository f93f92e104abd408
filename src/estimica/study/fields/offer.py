"""Offer: what a form offers for a text of a study file, said where the text is defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

OfferKind = Literal["text", "column", "variable", "parameter", "path"]


@dataclass(frozen=True, slots=True)
class Offer:
    """Names to choose from: columns of the data, names of the model, files of the folder."""

    kind: OfferKind
    of: str = ""  # narrower: "input", "state", "tuner", "case", "criterion", "model", "data"


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
