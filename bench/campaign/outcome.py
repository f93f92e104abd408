"""Outcome: what became of one class, and the file that keeps those of a campaign."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

#: verdicts, the best first
VERDICTS = (
    "agrees",
    "missing signals",  # what could be compared agrees
    "deviates",
    "stops",
    "refused",
    "traceback",
    "crash",
    "memory limit",
    "time limit",
    "runs",  # without a reference, asked for all the same
    "no reference",
)
#: verdicts about classes that cannot be judged
UNJUDGED = ("runs", "no reference")


@dataclass(frozen=True)
class Outcome:
    """What became of one class; what was not reached is None or empty."""

    name: str
    verdict: str
    code: str = ""  # of the message
    message: str = ""
    stage: str = ""  # load, run or compare: where it ended
    load_seconds: float | None = None  # by the clock, without the imports of the package
    load_cpu: float | None = None
    run_seconds: float | None = None  # compilation to machine code included
    run_cpu: float | None = None
    variables: int | None = None
    equations: int | None = None
    states: int | None = None
    events: int | None = None
    stopped_at: float | None = None  # time of the model
    compared: int = 0  # signals
    worst: Mapping[str, Any] = field(default_factory=dict)  # a Distance
    deviating: tuple[str, ...] = ()  # the furthest first, with share of the tolerance
    late: tuple[str, ...] = ()  # agree with jumps further off than an interval of the table
    missing: tuple[str, ...] = ()  # signals of the reference that the model does not have
    not_compared: tuple[str, ...] = ()  # derivatives that are not computed
    notes: tuple[str, ...] = ()
    megabytes: float | None = None

    @property
    def judged(self) -> bool:
        """Whether there was something to compare it with."""
        return self.verdict not in UNJUDGED

    @staticmethod
    def of(kept: Mapping[str, Any]) -> Outcome:
        """From a file; what it has besides is left."""
        known = {f.name for f in fields(Outcome)}
        values: dict[str, Any] = {}
        values |= {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items() if k in known}
        return Outcome(**values)


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """All outcomes of a file, by class."""
    kept = json.loads(path.read_text(encoding="utf-8"))["outcomes"]
    return {o["name"]: Outcome.of(o) for o in kept}


def write_outcomes(path: Path, outcomes: Mapping[str, Outcome], about: Mapping[str, Any]) -> None:
    """Write all outcomes, so that a file is either the old or the new one."""
    listed = [asdict(outcomes[n]) for n in sorted(outcomes)]
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps({"about": about, "outcomes": listed}, indent=1), encoding="utf-8")
    draft.replace(path)
