"""Tables of a release: the candidates of a step, and all steps in brief."""

from __future__ import annotations

import math

from estimica.base.view import Rounded, Table
from estimica.infer.release.result import Candidate, Release, Step
from estimica.infer.release.search import alike

#: the smallest risk that is told as a number
TINY = 5e-4


def step_table(step: Step) -> Table:
    """The candidates of one step with cost, cost reduction and risk."""
    n = len(step.candidates)
    several = ("risk of the best",) if n > 1 else ()
    columns = (
        "released",
        "p",
        "cost",
        "cost reduction",
        "risk",
        *several,
        "AIC",
        "AICc",
        "BIC",
        "verdict",
    )
    rows = []
    for k, c in enumerate(step.candidates):
        risks = (risk(c.risk), *((risk(c.risk_multiple),) if several else ()))
        rows.append(
            (
                c.name,
                c.freedom,
                number(c.cost),
                number(c.cost_reduction),
                *risks,
                number(c.aic),
                number(c.aicc),
                number(c.bic),
                verdict(step, k),
            )
        )
    free = ", ".join(step.free) or "nothing"
    title = f"Step {step.number}: null model with {free} free, cost {number(step.cost)}"
    note = f"risk of the best: 1 − (1 − risk)^{n}, for the best of {n}" if several else ""
    return Table(columns, tuple(rows), title, note)


def verdict(step: Step, k: int) -> str:
    """What became of a candidate, in a few words."""
    c = step.candidates[k]
    if k == step.chosen:
        return "released" if k == step.proposed else "released, as chosen"
    if not math.isfinite(c.cost):
        return "failed"
    if c.advice:
        return "not determined by these data"
    if not c.acceptable:
        return "gains too little" if step.criterion == "oe" else "risk too high"
    if step.choice is None:
        return "worth releasing"
    near = alike(step.criterion, step.cost)
    same = abs(c.cost_reduction - step.choice.cost_reduction) <= near
    return "gains as much" if same else "gains less"


def overview(release: Release) -> Table:
    """A row for each step."""
    rows: list[tuple[object, ...]] = []
    if release.steps:
        first = release.steps[0]
        rows.append((0, "(null model)", number(first.cost), None, None, number(first.aic), ""))
    for step in release.steps:
        c = step.choice or _nearest(step)
        if c is None:
            continue
        name = c.name if step.choice else f"none; nearest: {c.name}"
        said = "released" if step.choice else verdict(step, step.candidates.index(c))
        rows.append(
            (
                step.number,
                name,
                number(c.cost),
                number(c.cost_reduction),
                risk(c.risk_multiple),
                number(c.aic),
                said,
            )
        )
    columns = ("step", "released", "cost", "cost reduction", "risk", "AIC", "verdict")
    title = (
        f"{release.study.name}: release by {release.criterion}, {release.n_samples} samples, "
        f"risk at most {release.settings.risk:g}"
    )
    return Table(
        columns, tuple(rows), title, f"{release.outcome.status}: {release.outcome.message}"
    )


def number(value: float) -> float | None:
    """A cost: three decimals where it is of the size of a likelihood, else six digits."""
    if not math.isfinite(value):
        return None
    if value == 0 or 0.5 <= abs(value) < 1e7 or (abs(value) < 1e-6):
        return Rounded(value + 0.0, 3)
    return float(f"{value:.6g}")


def risk(value: float) -> float | str:
    """A risk with two or three decimals."""
    return "< 0.001" if value < TINY else Rounded(value, 2 if value >= 0.1 else 3)


def _nearest(step: Step) -> Candidate | None:
    done = [c for c in step.candidates if math.isfinite(c.cost)]
    return min(done, key=lambda c: c.risk, default=None)
