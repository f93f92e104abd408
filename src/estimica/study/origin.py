"""Origin: where the values of a study come from; ValueChange: one of them, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ValueChange:
    """A tuner, parameter, start value or disturbance of a case with another value."""

    kind: str  # tuner, parameter, start or disturbance
    name: str
    case: str  # of a start value or disturbance
    old: float | None  # None where the study left it to the model
    new: float
    unit: str = ""
    found: float = 0.0  # what the run has found; another one than `new` where bounds forbid it

    @property
    def label(self) -> str:
        """How it is called where all stand together."""
        if self.kind in ("tuner", "parameter"):
            return self.name
        return f"{self.kind} of {self.name} in {self.case}"

    @property
    def text(self) -> str:
        """What it was and what it is."""
        unit = f" {self.unit}" if self.unit and self.unit != "1" else ""
        before = "the model's value" if self.old is None else f"{self.old:.6g}"
        return f"{self.label}: {before} → {self.new:.6g}{unit}"

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        told: dict[str, object] = {"kind": self.kind, "name": self.name}
        if self.case:
            told["case"] = self.case
        return told | {"old": self.old, "new": self.new, "unit": self.unit}


@dataclass(frozen=True)
class Origin:
    """The run whose values a study has taken over."""

    run: str
    command: str
    study: str
    values: Mapping[str, float] = field(default_factory=dict)  # by the study's names
    units: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)  # those that are not tuners
    remarks: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """The run in words."""
        what = f"{self.command} of '{self.study}'"
        return f"run {self.run} ({what})" if self.run else f"the {what}"

    @property
    def text(self) -> str:
        """What a page says of it."""
        values = ", ".join(f"{n} = {v:.6g}" for n, v in self.values.items())
        words = f"The values are from {self.about}" + (f": {values}." if values else ".")
        held = ", ".join(self.held)
        if held:
            words += f" Held there: {held}."
        return " ".join([words, *(f"{r[:1].upper()}{r[1:]}." for r in self.remarks)])

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON, which a run that goes on from here reads again."""
        return {
            "run": self.run,
            "command": self.command,
            "study": self.study,
            "values": {
                n: {"value": v, "unit": self.units.get(n, "")} for n, v in self.values.items()
            },
            "remarks": list(self.remarks),
        }
