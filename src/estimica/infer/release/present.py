"""The page of a release: every step with its table and plots, and the fit at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from estimica.base.view import Bars, Curves, Page, Section, Table
from estimica.execute.reproduction import ANSWER, with_reproduction
from estimica.infer.release.pictures import picture
from estimica.infer.release.result import Release, Step
from estimica.infer.release.tables import overview, step_table
from estimica.study.summary import study_summary

_ABOUT = (
    "In each step the null model, what has been found so far, is compared with candidates in which "
    "something more is free. The risk is the probability that a candidate gains as much as it does "
    "although the null model is true; with several candidates the best of them looks good more "
    "easily, which the risk of the best accounts for."
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
    for step in release.steps:
        yield Section(f"Step {step.number}", _words(step), tuple(_step(release, step)))
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


def _step(release: Release, step: Step) -> Iterator[Curves | Table | Bars]:
    yield replace(step_table(step), title="")
    if step.choice is not None:
        for kind in ("fit", "residuals"):
            yield picture(release, kind, step.number)


def _end(release: Release) -> Iterator[Table]:
    yield replace(release.fit.table(), title="", note="")
    yield replace(release.fit.quality(), title="")
