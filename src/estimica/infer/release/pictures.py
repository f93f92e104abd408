"""Pictures of a release: bars of the cost reductions, and the model after a step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.base.view import Bar, Bars, Curves
from estimica.estimate.fit.pictures import picture as fit_picture
from estimica.infer.release.result import Release, Step

KINDS = ("reductions", "fit", "residuals")
WIDE = 50  # ratio of cost reductions from which on their axis is logarithmic


def picture(release: Release, kind: str = "reductions", step: int | None = None) -> Curves | Bars:
    """What there is to see of one kind, of one step or, for reductions, of all."""
    if kind not in KINDS:
        raise InferError(
            "I111", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    if kind == "reductions":
        chosen = release.steps if step is None else (_step(release, step),)
        groups = tuple((f"step {s.number}", _bars(s)) for s in chosen)
        title = f"{release.study.name}: cost reductions"
        return Bars(groups, "cost reduction", title, log=_wide(chosen))
    number = len(release.steps) if step is None else step
    made = fit_picture(release.fit if step is None else release.model(number), kind)
    return replace(made, title=f"{release.study.name} after step {number}: {_said(kind)}")


def _said(kind: str) -> str:
    return "measured and simulated" if kind == "fit" else "residuals"


def _step(release: Release, number: int) -> Step:
    if not 1 <= number <= len(release.steps):
        raise InferError(
            "I110", f"there is no step {number}: the release has {len(release.steps)} steps"
        )
    return release.steps[number - 1]


def _bars(step: Step) -> tuple[Bar, ...]:
    return tuple(
        Bar(
            c.name,
            c.cost_reduction if math.isfinite(c.cost_reduction) else 0.0,
            f"risk {c.risk:.3g}, of the best {c.risk_multiple:.3g}",
            k == step.chosen,
        )
        for k, c in enumerate(step.candidates)
    )


def _wide(steps: Sequence[Step]) -> bool:
    gains = [c.cost_reduction for s in steps for c in s.candidates if c.acceptable]
    return len(gains) > 1 and max(gains) > WIDE * min(gains)
