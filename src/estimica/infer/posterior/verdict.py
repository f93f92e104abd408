"""Verdict: what may be said of the chains of a posterior, and what to do where they disagree."""

from __future__ import annotations

from estimica.base.result import Outcome
from estimica.base.text import listed
from estimica.infer.posterior.diagnosis import AGREED, EFFECTIVE, DrawSummary
from estimica.infer.posterior.result import Posterior
from estimica.infer.refit import doubts

#: up to this R-hat chains may differ by chance: four chains of 300 draws of one autoregressive
#: process (coefficient 0.5, some 100 effective draws each) came to 1.036 at most in 300 trials
NEARLY = 1.05
#: names that are told of many that disagree
MOST = 4


def outcome(posterior: Posterior) -> Outcome:
    """How it went: `done` only where nothing speaks against the draws."""
    done = len(posterior.numbers)
    said = f"{done} of {posterior.requested} chains with {posterior.draws} draws each"
    if posterior.failures:
        said += f"; {len(posterior.failures)} failed ({posterior.failures[0].message})"
    if not done:
        status = "interrupted" if posterior.interrupted else "failed"
        return Outcome(status, said + "; there is nothing to tell", ok=False)
    trouble = troubles(posterior)
    said += "".join(f"; {t}" for t in trouble) + doubts(posterior.fit)
    if not trouble:
        said += "; the chains agree"
    if posterior.interrupted:
        return Outcome("interrupted", f"interrupted after {said}", ok=False)
    if posterior.failures:
        return Outcome("failed", said, ok=False)
    return Outcome("not_converged" if trouble else "done", said, ok=not trouble)


def troubles(posterior: Posterior) -> list[str]:
    """What speaks against the draws, each with what to do."""
    said = [*_disagreeing(posterior), *_diverging(posterior)]
    deepest = sum(c.deepest for c in posterior.chains)
    if deepest:
        said.append(
            f"{deepest} paths were cut at their greatest length: the unknowns hang together in a "
            "way that steps of one size follow slowly; use a longer warm-up, or scale 'log' for "
            "unknowns that span decades"
        )
    if len(posterior.chains) == 1:
        said.append("one chain cannot show that others would agree; draw 4")
    return said


def _disagreeing(posterior: Posterior) -> list[str]:
    count = len(posterior.chains)
    rows: list[tuple[str, DrawSummary]] = [
        *(
            (u.label, s)
            for u, s in zip(posterior.fit.unknowns.items, posterior.spreads, strict=True)
        ),
        *((f"variance of {n}", s) for n, s in posterior.noise_spreads.items()),
    ]
    bad = [f"'{name}'" for name, s in rows if not s.agrees(count)]
    if not bad:
        return []
    worst = max(s.rhat for _, s in rows)
    fewest = min(min(s.ess_bulk, s.ess_tail) for _, s in rows)
    more = f" and {len(bad) - MOST} more" if len(bad) > MOST else ""
    named = listed(bad[:MOST]) if not more else ", ".join(bad[:MOST]) + more
    measured = (
        f"R-hat up to {worst:.3f} where {AGREED} is asked, {fewest:.0f} effective draws where "
        f"{EFFECTIVE * count} are"
    )
    if worst <= NEARLY:
        return [f"there are too few draws of {named} ({measured}); take more draws"]
    return [
        f"the chains do not agree on {named} ({measured}): these are not the numbers of the "
        "posterior; take more draws and a longer warm-up, and look at `identifiability`"
    ]


def _diverging(posterior: Posterior) -> list[str]:
    if not posterior.divergences:
        return []
    impossible = sum(c.impossible for c in posterior.chains)
    reason = next((c.reason for c in posterior.chains if c.reason), "")
    why = f" ({impossible} points could not be simulated: {reason})" if impossible else ""
    return [
        f"{posterior.divergences} draws diverged{why}: a part of the posterior may be missing; "
        "raise acceptance to 0.99, or keep the unknowns away from there by bounds or priors"
    ]
