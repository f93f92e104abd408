"""Words that a reader may not know, each explained in one line where it appears first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from estimica.base.view import Bars, Curves, Heat, Page, Parallel, Section, Table

#: word, how it is recognised, what it means; the order is that in which they are explained
WORDS = (
    ("tuner", r"\btuners?\b", "a parameter of the model that is to be found"),
    ("case", r"\bcases?\b(?=[^.]*experiment)|^case$", "one experiment with its data; “calibrate” "
     "cases are fitted, “validate” cases only compared"),
    ("std. error", r"\bstd\. errors?\b|\bstandard errors?\b", "standard error: by how much an "
     "estimate would scatter if the experiment were repeated"),
    ("95 % from … to", r"95 % from|95 % interval", "the interval that holds the true value with "
     "95 % probability, if the model is right"),
    ("cost", r"\bcost\b", "the number that the search makes as small as it can; only differences "
     "between costs of the same data mean something"),
    ("residual", r"\bresiduals?\b", "simulated minus measured"),
    ("RMSE", r"\bRMSE\b", "root mean square error: the typical size of a residual, in the unit of "
     "the output"),
    ("AIC, BIC", r"\bAIC\b|\bBIC\b", "the cost with a penalty for each free unknown, to compare "
     "models on the same data: the smaller the better"),
    ("AICc", r"\bAICc\b", "a number to compare laws of different size on the same points: the "
     "smaller the better"),
    ("white", r"\bwhite\b", "noise is white when a sample says nothing about the next one"),
    ("autocorrelation", r"\bautocorrelation\b", "how much a signal resembles itself some samples "
     "later: 1 is the same, 0 has nothing in common"),
    ("condition number", r"\bcondition number\b", "how much better the best determined combination "
     "of unknowns is known than the worst; above about 1000 they are hard to tell apart"),
    ("VIF", r"\bVIF\b", "variance inflation: by what factor the variance of an estimate grows "
     "because the other unknowns are not known either"),
    ("risk", r"\brisk\b", "the probability that a gain as large as this is mere luck"),
    ("null model", r"\bnull model\b", "the model with what is free so far"),
    ("replicate", r"\breplicates?\b", "one fit to data with new noise"),
    ("BCa", r"\bBCa\b", "a bootstrap interval corrected for bias and skewness"),
    ("bias", r"\bbias\b", "by how much estimates are off on average"),
    ("fold", r"\bfolds?\b", "one part of the data that is left out and predicted from the rest"),
    ("jackknife", r"\bjackknife\b", "a standard error from leaving out parts of the data in turn"),
    ("demand", r"\bdemands?\b", "the value of a criterion that satisfies; criterion/demand up to 1 "
     "is good"),
    ("knee", r"\bknee\b", "the design of a front from which a little more of one criterion costs "
     "most of another"),
    ("eigenvalue", r"\beigenvalues?\b", "the curvature along a main direction"),
    ("quantile", r"\bquantiles?\b", "the value that a given share of the samples stays below"),
    ("coherence", r"\bcoherence\b", "the share of the output's power that the input explains"),
)  # fmt: skip
_PATTERNS = tuple((word, re.compile(pattern, re.M), meaning) for word, pattern, meaning in WORDS)


def words_by_section(page: Page) -> list[tuple[tuple[str, str], ...]]:
    """For every section the words that appear there first, with their meanings."""
    known: set[str] = set()
    sections = []
    for section in page.sections:
        text = "\n".join(_texts(section))
        new = [(w, m) for w, p, m in _PATTERNS if w not in known and p.search(text)]
        known |= {w for w, _ in new}
        sections.append(tuple(new))
    return sections


def _texts(section: Section) -> Iterator[str]:
    yield section.heading
    yield section.text
    for shown in section.shown:
        if isinstance(shown, Table):
            yield from (shown.title, shown.note, *shown.columns)
        elif isinstance(shown, Curves):
            yield shown.title
            yield from (p.label for p in shown.panels)
        elif isinstance(shown, (Bars, Heat, Parallel)):
            yield shown.title
