"""What noise in the states means, in words."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.text import listed
from estimica.infer.states.result import Companion, NoiseEvidence

CERTAIN = 3.0  # standard errors from zero (chosen: well beyond chance, at a bound too)
DOUBT = 2.0
CHANCE = 0.05  # of a correlation by accident
MOST_TOLD = 3

MEANING = {
    "input": "the model does not say rightly what this input does to {state}",
    "column": "it may be an input that the model lacks",
    "state": "the equation may depend on it in another way than the model says",
}


def verdict(evidence: Sequence[NoiseEvidence], companions: Sequence[Companion]) -> str:
    """Which equation is incomplete, and what goes with what it lacks; a paragraph for each."""
    sure = [e for e in evidence if e.ratio > CERTAIN]
    words = [_equations(evidence, sure)]
    for e in sure or [e for e in evidence if e.is_given]:
        words.append(_companions(e.state, [c for c in companions if c.state == e.state]))
    return "\n\n".join(w for w in words if w)


def _equations(evidence: Sequence[NoiseEvidence], sure: Sequence[NoiseEvidence]) -> str:
    if not evidence:
        return "No state has noise: the study says that the equations hold as they are."
    rest = [e.state for e in evidence if e.at_bound or e.ratio < DOUBT]
    doubt = [e.state for e in evidence if DOUBT <= e.ratio <= CERTAIN]
    given = [e.state for e in evidence if e.is_given]
    words = []
    if sure:
        first = sure[0]
        words.append(
            f"The equation of {first.state} is incomplete: its noise, {first.value:.3g} "
            f"{first.unit}, is {first.ratio:.3g} standard errors from zero."
        )
        if len(sure) > 1:
            more = [f"{e.state} ({e.value:.3g} {e.unit}, {e.ratio:.3g})" for e in sure[1:]]
            words.append(f"So {'is that' if len(more) == 1 else 'are those'} of {listed(more)}.")
    elif not given and not doubt:
        words.append("The equations explain the data: noise in no state is told from zero.")
    if rest and sure:
        words.append(f"Noise in {listed(rest)} is not told from zero.")
    if doubt:
        words.append(f"Whether there is noise in {listed(doubt)} is not certain.")
    if given:
        be = "is" if len(given) == 1 else "are"
        words.append(f"The noise in {listed(given)} {be} given, so the data do not judge it.")
    return " ".join(words)


def _companions(state: str, known: Sequence[Companion]) -> str:
    strong = [c for c in known if c.p < CHANCE]
    if not known:
        return ""
    if not strong:
        return (
            f"What the equation of {state} lacks goes with no input, column or state for certain: "
            "a cause that was not measured, or one that acts late."
        )
    best = strong[0]
    others = [_named(c) for c in strong[1:MOST_TOLD]]
    also = f" Also, and maybe only because they go together: {listed(others)}." if others else ""
    return (
        f"What the equation of {state} lacks goes with {_named(best)}: "
        f"{MEANING[best.kind].format(state=state)}. By accident so much happens with a chance of "
        f"{_chance(best.p)}.{also}"
    )


def _named(c: Companion) -> str:
    return f"{c.kind} {c.signal} (correlation {c.correlation:.2f})"


def _chance(p: float) -> str:
    return "less than 0.1 %" if p < 1e-3 else f"{100 * p:.2g} %"
