"""How a search for noise shows itself: tables and bars of its steps, a page, JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from estimica.base.errors import InferError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import listed, short
from estimica.base.view import Bar, Bars, Curves, Page, Section, Table
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.find_noise.result import NoiseSearch
from estimica.infer.release.present import number, risk
from estimica.infer.release.present import picture as release_picture
from estimica.infer.release.result import Candidate, Step

_ABOUT = (
    "In each step the model so far is compared with models that have noise in one more state, each "
    "fitted anew. What noise gains in −2 log L tells how much the data ask for it. The risk is the "
    "probability that data without that noise gain as much; half of them gain nothing, since a "
    "variance is not below zero, and the risk takes that into account. With several states the "
    "best of them looks good more easily, which the risk of the best accounts for."
)


def verdict(search: NoiseSearch) -> str:
    """What came out, in plain words."""
    steps = search.release.steps
    if not search.found:
        best = _nearest(steps[0]) if steps else None
        near = ""
        if best is not None and best.cost_reduction > 0:
            near = f"; most gains that in {_state(search, best)}, with a risk of {best.risk:.2g}"
        return f"noise in no state helps: the equations explain these data as well without{near}"
    words: list[str] = []
    for step in steps:
        if step.choice is None:
            continue
        state, gain = _state(search, step.choice), step.choice.cost_reduction
        if not words:
            words.append(
                f"noise in {state} helps most: it gains {gain:.4g} in −2 log L, so its equation is "
                "incomplete"
            )
        else:
            words.append(f"then noise in {state} helps as well: it gains {gain:.4g}")
    last = steps[-1]
    if last.choice is None and len(steps) > 1:
        words.append("no other helps then")
    return "; ".join(words)


def _state(search: NoiseSearch, candidate: Candidate) -> str:
    return search.states[candidate.released[0]]


def _nearest(step: Step) -> Candidate | None:
    done = [c for c in step.candidates if math.isfinite(c.cost)]
    return max(done, key=lambda c: c.cost_reduction, default=None)


# --- tables --------------------------------------------------------------------------------------


def tables(search: NoiseSearch) -> tuple[Table, ...]:
    """A table for each step, what gains most first, and the fit at their end."""
    return (*(step_table(search, s) for s in search.release.steps), search.fit.table())


def step_table(search: NoiseSearch, step: Step) -> Table:
    """The states that were tried, what gains most first."""
    several = len(step.candidates) > 1
    columns = ("noise in", "level", "unit", "gain in −2 log L", "risk")
    columns += (*(("risk of the best",) if several else ()), "AIC", "verdict")
    units = {u.name: u.unit for u in search.release.objective.unknowns.items}
    rows = []
    for k in ranked(step):
        c = step.candidates[k]
        name = c.released[0]
        level = c.values.get(name, math.nan)
        gains = c.cost_reduction > 0 and c.risk < 1
        rows.append(
            (
                search.states[name],
                short(level) if gains and math.isfinite(level) else None,
                units.get(name, ""),
                number(max(c.cost_reduction, 0.0)),
                risk(c.risk),
                *((risk(c.risk_multiple),) if several else ()),
                number(c.aic),
                _verdict(step, k),
            )
        )
    kept = [search.states[n] for n in search.release.released[: step.number - 1]]
    kept = [*search.given_noise, *kept]
    so_far = f"noise in {listed(kept)}" if kept else "no noise in the states"
    title = f"Step {step.number}: beside {so_far}, −2 log L − N log 2π = {number(step.cost)}"
    laws = dict.fromkeys(f"risk: {c.law}" for c in step.candidates if c.law)
    n = len(step.candidates)
    best = [f"risk of the best: 1 − (1 − risk)^{n}, for the best of {n}"] if several else []
    return Table(columns, tuple(rows), title, "\n".join([*laws, *best]))


def ranked(step: Step) -> list[int]:
    """The candidates by what they gain."""
    gains = [c.cost_reduction if math.isfinite(c.cost) else -math.inf for c in step.candidates]
    return sorted(range(len(gains)), key=lambda k: -gains[k])


def _verdict(step: Step, k: int) -> str:
    c = step.candidates[k]
    if not math.isfinite(c.cost):
        return "failed"
    if k == step.chosen:
        return "helps most" if k == step.proposed else "kept, as chosen"
    if c.acceptable:
        return "helps, but less" if step.choice else "helps"
    return "does not help"


# --- page and pictures ---------------------------------------------------------------------------


def page(search: NoiseSearch) -> Page:
    """Everything about the search on one page."""
    release = search.release
    tried, steps = len(search.states), len(release.steps)
    lead = (
        f"Model {search.study.model.name}, {tried} {'state' if tried == 1 else 'states'} tried in "
        f"{steps} {'step' if steps == 1 else 'steps'}, {release.n_samples} samples; "
        f"{release.seconds:.2g} s."
    )
    told = Page(f"Noise in the states: {search.study.name}", tuple(_sections(search)), lead)
    first = (study_summary(search.study, "find-noise"), Section(ANSWER, _answer(search)))
    return with_reproduction(
        told, "find-noise", search.study, first=first, seed=release.seed, run=search.run
    )


def _answer(search: NoiseSearch) -> str:
    said = search.outcome.message
    words = [f"{said[:1].upper()}{said[1:]}."]
    if search.found:
        lines = "\n".join(f"{n} = {_toml(v)}" for n, v in search.process_noise.items())
        words.append(
            "What it lacks is a flow, a mode or an input that these data show and it does not "
            "have: look at what is left of that state over time, and at what it goes with. To keep "
            f'the noise, write criterion = "prediction" and in [process_noise]: '
            f"{lines.replace(chr(10), ', ')}."
        )
    return "\n\n".join(words)


def _toml(level: float | str) -> str:
    return f'"{level}"' if isinstance(level, str) else f"{level:g}"


def _sections(search: NoiseSearch) -> Iterator[Section]:
    shown: list[Curves | Table | Bars] = []
    if search.release.steps:
        shown.append(replace(picture(search), title=""))
    yield Section("Steps", _ABOUT, tuple(shown))
    for step in search.release.steps:
        table = step_table(search, step)
        yield Section(f"Step {step.number}", table.title, (replace(table, title=""),))
    fit = search.fit
    yield Section(
        "Estimates",
        "Of the model with the noise that was kept.",
        (replace(fit.table(), title="", note=""), replace(fit.quality(), title="")),
    )


KINDS = ("gains", "fit", "residuals")


def picture(search: NoiseSearch, kind: str = "gains", step: int | None = None) -> Curves | Bars:
    """What there is to see of one kind, of one step or, for gains, of all."""
    if kind not in KINDS:
        raise InferError(
            "I111", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    if kind != "gains":
        return release_picture(search.release, kind, step)
    drawn = release_picture(search.release, "reductions", step)
    assert isinstance(drawn, Bars)
    groups = tuple((name, _named(search, bars)) for name, bars in drawn.groups)
    title = f"{search.study.name}: what noise in each state gains"
    return replace(drawn, groups=groups, label="gain in −2 log L", title=title)


def _named(search: NoiseSearch, bars: Sequence[Bar]) -> tuple[Bar, ...]:
    return tuple(replace(b, name=search.states.get(b.name, b.name)) for b in bars)


# --- as JSON -------------------------------------------------------------------------------------


def as_object(search: NoiseSearch) -> dict[str, object]:
    """Everything about the search but its trajectories; what is not finite is None."""
    release = search.release
    told = {
        "command": "find-noise",
        "run": search.run,
        "study": search.study.name,
        "outcome": {"status": str(search.outcome.status), "message": search.outcome.message},
        "criterion": release.criterion,
        "cost": release.fit.cost,
        "risk": release.settings.risk,
        "seed": release.seed,
        "n_samples": release.n_samples,
        "steps": [_step(search, s) for s in release.steps],
        "found": list(search.found),
        "process_noise": search.process_noise,
        "fit": release.fit.to_dict(),
        "seconds": release.seconds,
    }
    plain = finite(told)
    assert isinstance(plain, dict)
    return plain


def _step(search: NoiseSearch, step: Step) -> dict[str, object]:
    return {
        "number": step.number,
        "cost": step.cost,
        "candidates": [
            {
                "state": _state(search, c),
                "tuner": c.released[0],
                "level": c.values.get(c.released[0]),
                "gain": c.cost_reduction,
                "risk": c.risk,
                "risk_multiple": c.risk_multiple,
                "aic": c.aic,
                "bic": c.bic,
                "law": c.law,
                "verdict": _verdict(step, k),
            }
            for k in ranked(step)
            for c in (step.candidates[k],)
        ],
        "chosen": None if step.choice is None else _state(search, step.choice),
    }
