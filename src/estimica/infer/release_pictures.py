"""Pictures of a release: bars of the cost reductions, and the model after a step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from estimica.base.errors import InferError
from estimica.base.show import Curve, Curves, Panel
from estimica.base.suggest import did_you_mean
from estimica.estimate.pictures import picture as fit_picture
from estimica.infer.release_result import Release, Step

KINDS = ("reductions", "fit", "residuals")
HALF = 0.35  # width of a bar
CHOSEN, OTHER = 1, 7  # of the palette


def picture(release: Release, kind: str = "reductions", step: int | None = None) -> Curves:
    """The curves of one kind, of one step or, for reductions, of all."""
    if kind not in KINDS:
        raise InferError(
            "I111", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    if kind == "reductions":
        chosen = release.steps if step is None else (_step(release, step),)
        panels = tuple(_bars(s) for s in chosen if s.candidates)
        title = f"{release.study.name}: cost reductions"
        return Curves(panels, title, "candidate", 200, whole=True)
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


def _bars(step: Step) -> Panel:
    """A bar for each candidate, drawn as its outline from zero."""
    curves = []
    for k, c in enumerate(step.candidates):
        height = c.cost_reduction if math.isfinite(c.cost_reduction) else 0.0
        x, y = k + 1 + HALF * np.array([-1, -1, 1, 1.0]), height * np.array([0, 1, 1, 0.0])
        about = f"risk {c.risk:.3g}, of the best {c.risk_multiple:.3g}"
        colour = CHOSEN if k == step.chosen else OTHER
        curves.append(Curve(c.name, x, y, "", about, colour=colour))
    return Panel("cost reduction", tuple(curves), group=f"Step {step.number}")
