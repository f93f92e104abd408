"""How a release shows itself: tables and pictures of its steps, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from estimica.base.errors import InferError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.view import Bar, Bars, Curves, Page, Rounded, Section, Table
from estimica.estimate.fit.pictures import picture as fit_picture
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.release.course import as_objects, course_tables
from estimica.infer.release.result import Candidate, Release, SearchEnd, Step
from estimica.infer.release.search import alike

_ABOUT = (
    "In each step the null model, what has been found so far, is compared with candidates in which "
    "something more is free. The risk is the probability that a candidate gains as much as it does "
    "although the null model is true; with several candidates the best of them looks good more "
    "easily, which the risk of the best accounts for."
)


_COURSE = (
    "Where everything stood at the start and after each step that released something: what is "
    "held, what is free, and the noise variances."
)


def page(release: Release) -> Page:
    """Everything about a release on one page."""
    lead = (
        f"Model {release.study.model.name}, {len(release.steps)} steps, {release.n_samples} "
        f"samples, criterion {release.criterion}; {release.seconds:.2g} s."
    )
    told = Page(f"Release: {release.study.name}", tuple(_sections(release)), lead)
    first = (study_summary(release.study, "release"), Section(ANSWER, _answer(release)))
    return with_reproduction(
        told, "release", release.study, first=first, seed=release.seed, run=release.run
    )


def _answer(release: Release) -> str:
    said = str(release.outcome.status).capitalize()
    words = [f"{said}: {release.outcome.message}."]
    if release.released:
        words.append(f"Worth freeing, in this order: {', '.join(release.released)}.")
    else:
        words.append("Nothing is worth freeing: the model as it is explains the data as well.")
    if release.held:
        words.append(f"Not worth it: {', '.join(release.held)} stay as they are.")
    return " ".join(words)


def _sections(release: Release) -> Iterator[Section]:
    text = "\n\n".join([_ABOUT, *_advice(release)])
    shown: list[Curves | Table | Bars] = [replace(overview(release), title="", note="")]
    if release.steps:
        shown.append(replace(picture(release), title=""))
    yield Section("Steps", text, tuple(shown))
    along = tuple(replace(t, title="") for t in course_tables(release))
    if along:
        yield Section("Values after each step", _COURSE, along)
    for step in release.steps:
        yield Section(f"Step {step.number}", _words(step), tuple(_step_items(release, step)))
    yield Section(
        "Estimates", "Of what was released; everything else is held.", tuple(_end(release))
    )


def _advice(release: Release) -> list[str]:
    return [a[:1].upper() + a[1:] + "." for a in release.advice]


def _words(step: Step) -> str:
    free = ", ".join(step.free) or "nothing"
    text = f"Free in the null model: {free}."
    if step.choice is None:
        return f"{text} No candidate is worth releasing."
    return f"{text} Released: {step.choice.name}."


def _step_items(release: Release, step: Step) -> Iterator[Curves | Table | Bars]:
    yield replace(step_table(step), title="")
    if step.choice is not None:
        for kind in ("fit", "residuals"):
            yield picture(release, kind, step.number)


def _end(release: Release) -> Iterator[Table]:
    yield replace(release.fit.table(), title="", note="")
    yield replace(release.fit.quality(), title="")


# --- tables --------------------------------------------------------------------------------------


#: the smallest risk that is told as a number
TINY = 5e-4


def tables(release: Release) -> tuple[Table, ...]:
    """All there is to read: the steps, and the fit at their end."""
    return overview(release), *course_tables(release), release.fit.table()


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
    laws = dict.fromkeys(f"risk of noise: {c.law}" for c in step.candidates if c.law)
    return Table(columns, tuple(rows), title, "\n".join(filter(None, [note, *laws])))


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


# --- pictures ------------------------------------------------------------------------------------


KINDS = ("reductions", "fit", "residuals")
WIDE = 50  # ratio of cost reductions from which on their axis is logarithmic; chosen by eye


def picture(release: Release, kind: str = "reductions", step: int | None = None) -> Curves | Bars:
    """What there is to see of one kind, of one step or, for reductions, of all."""
    if kind not in KINDS:
        raise InferError(
            "I111", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    if kind == "reductions":
        chosen = release.steps if step is None else (_step_number(release, step),)
        groups = tuple((f"step {s.number}", _bars(s)) for s in chosen)
        title = f"{release.study.name}: cost reductions"
        return Bars(groups, "cost reduction", title, log=_wide(chosen))
    number = len(release.steps) if step is None else step
    made = fit_picture(release.fit if step is None else release.model(number), kind)
    return replace(made, title=f"{release.study.name} after step {number}: {_said(kind)}")


def _said(kind: str) -> str:
    return "measured and simulated" if kind == "fit" else "residuals"


def _step_number(release: Release, number: int) -> Step:
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


# --- as JSON -------------------------------------------------------------------------------------


def as_object(release: Release) -> dict[str, object]:
    """Everything about a release but its trajectories; what is not finite is None."""
    found = {
        "command": "release",
        "run": release.run,
        "study": release.study.name,
        "outcome": {"status": str(release.outcome.status), "message": release.outcome.message},
        "criterion": release.criterion,
        "cost": release.fit.cost,
        "risk": release.settings.risk,
        "seed": release.seed,
        "n_samples": release.n_samples,
        "steps": [_step_object(s) for s in release.steps],
        "course": as_objects(release),
        "released": list(release.released),
        "held": list(release.held),
        "advice": list(release.advice),
        "fit": release.fit.to_dict(),
        "seconds": release.seconds,
    }
    plain = finite(found)
    assert isinstance(plain, dict)
    return plain


def _step_object(step: Step) -> dict[str, object]:
    return {
        "number": step.number,
        "null": {
            "free": list(step.free),
            "cost": step.cost,
            "aic": step.aic,
            "aicc": step.aicc,
            "bic": step.bic,
            "values": dict(step.values),
            "noise": dict(step.noise),
        },
        "candidates": [_candidate(c) for c in step.candidates],
        "proposed": _name(step, step.proposed),
        "chosen": _name(step, step.chosen),
    }


def _name(step: Step, k: int | None) -> list[str] | None:
    return None if k is None else list(step.candidates[k].released)


def _candidate(c: Candidate) -> dict[str, object]:
    return {
        "released": list(c.released),
        "freedom": c.freedom,
        "cost": c.cost,
        "cost_reduction": c.cost_reduction,
        "risk": c.risk,
        "risk_multiple": c.risk_multiple,
        "aic": c.aic,
        "aicc": c.aicc,
        "bic": c.bic,
        "acceptable": c.acceptable,
        "outcome": {"status": c.outcome.status, "message": c.outcome.message},
        "values": dict(c.values),
        "noise": dict(c.noise),
        "starts": [_start(s) for s in c.starts],
        "advice": list(c.advice),
        "law": c.law,
    }


def _start(s: SearchEnd) -> dict[str, object]:
    return {"cost": s.cost, "status": s.status, "message": s.message}
