"""Identifiability as a table, pictures, a page and plain values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from estimica.base.errors import FitError
from estimica.base.result import finite
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.base.view import Curves, Heat, Page, Section, Table, without_empty
from estimica.estimate.fit.as_json import twin_as_object
from estimica.estimate.identify.accuracy import Significance
from estimica.estimate.page_frame import ANSWER, study_summary, with_reproduction
from estimica.infer.identifiability.result import Identifiability
from estimica.infer.second_model.present import sections as second_model_sections
from estimica.infer.sensitivity import present as measures_show

KINDS = ("correlation", "ellipses")
MOST_ELLIPSES = 5  # unknowns up to which the page has ellipses


def tables(found: Identifiability) -> tuple[Table, ...]:
    """All there is to read."""
    return (unknowns(found),)


def unknowns(found: Identifiability) -> Table:
    """A row for each unknown: determined by these data, by any data, and how clearly."""
    rows = []
    for k, name in enumerate(found.names):
        lost = any(name in d for d in found.null_directions)
        structure = found.structural
        any_data = None if structure is None else structure.identifiable.get(name, True)
        partner = _partner(found, k)
        vif = float(found.vif[k])
        rows.append(
            (
                name,
                float(found.values[k]),
                "held" if found.at_bound[k] else "hardly" if _hardly(found, k) else not lost,
                any_data,
                short(vif) if np.isfinite(vif) else None,
                *partner,
                f"at its {found.at_bound[k]}" if found.at_bound[k] else _remark(found, k, lost),
            )
        )
    columns = ("unknown", "value", "by these data", "by any data", "VIF", "correlation", "with",
               "remark")  # fmt: skip
    note = found.structural.text if found.structural else ""
    title = f"{found.study}: {found.text}"
    return without_empty(Table(columns, tuple(rows), title, note), "by any data", "remark")


def _remark(found: Identifiability, k: int, lost: bool) -> str:
    return "" if lost or not found.practical else found.practical[k].remark


def _hardly(found: Identifiability, k: int) -> bool:
    return bool(found.practical) and found.practical[k].standing is Significance.LOST and not any(
        found.names[k] in d for d in found.null_directions
    )  # fmt: skip


def _partner(found: Identifiability, k: int) -> tuple[float | None, str]:
    """The unknown whose error goes most with that of unknown `k`."""
    row = np.abs(found.correlation[k]).copy()
    row[k] = np.nan
    if np.isnan(row).all():
        return None, ""
    j = int(np.nanargmax(row))
    return short(float(found.correlation[k, j])), found.names[j]


def picture(
    found: Identifiability, kind: str = "correlation", names: Sequence[str] = ()
) -> Heat | Curves:
    """Correlations as colours, or the sensitivity ellipses."""
    if kind not in KINDS:
        raise FitError(
            "F063", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    if kind == "ellipses":
        return measures_show.picture(found.measures)
    number = np.arange(len(found.names), dtype=float)
    title = f"{found.study}: correlation of the errors"
    return Heat(
        number, number, found.correlation, "", "", "correlation", title=title, ticks=found.names
    )


def page(found: Identifiability) -> Page:
    """Verdict, unknowns, directions, structure, measures."""
    told = Page(f"Identifiability: {found.study}", tuple(_sections(found)))
    said = [found.text[:1].upper() + found.text[1:] + "."]
    said += [a[:1].upper() + a[1:] + "." for a in found.advice]
    answer = Section(ANSWER, "\n\n".join(said))
    first = (study_summary(found.origin, "identifiability"), answer) if found.origin else (answer,)
    return with_reproduction(told, "identifiability", found.origin, first=first, run=found.run)


def _sections(found: Identifiability) -> Iterator[Section]:
    shown = replace(unknowns(found), title="", note="")
    yield Section("Verdict on each unknown", _UNKNOWNS, (shown,))
    if found.null_directions:
        rows = tuple(
            (k, name, short(share))
            for k, direction in enumerate(found.null_directions, start=1)
            for name, share in direction.items()
        )
        columns = ("direction", "unknown", "relative change")
        text = "Relative changes that leave every output as it is."
        yield Section("What goes unnoticed", text, (Table(columns, rows),))
    if found.second:
        yield from second_model_sections(found.second)
    if found.structural:
        s = found.structural
        because = f" ({s.because})" if s.because else ""
        text = (
            f"{s.text[:1].upper()}{s.text[1:]}.\n\nJudged by {s.method}{because} at {s.points} "
            f"random points: what counts as not zero is at least {s.kept:.1g}, what counts as "
            f"zero at most {s.dropped:.1g}."
        )
        yield Section("Whatever the data", text)
    if np.isfinite(found.correlation).sum() > len(found.names):
        yield Section(
            "Correlation", _CORRELATION, (replace(picture(found, "correlation"), title=""),)
        )
    yield Section("Sensitivity measures", _MEASURES, (measures_show.unknowns(found.measures),))
    if 2 <= len(found.measures.measures.names) <= MOST_ELLIPSES:
        yield Section("Sensitivity ellipses", _ELLIPSES, (measures_show.picture(found.measures),))


_CORRELATION = (
    "How the errors of two unknowns go together: red together, blue against one another. Cells "
    "near ±1 off the diagonal are pairs that the data hardly tell apart."
)
_MEASURES = (
    "How strongly the outputs change with each tuner. S_i is the sensitivity of a tuner alone, "
    "S_i,min what is left of it while the others adapt; R_i is the ratio of both: 1 is a tuner "
    "that nothing else can replace, a large number one that others can."
)
_ELLIPSES = (
    "Relative changes of two tuners that all change the outputs by the same amount, as much as "
    "their RMS: a long ellipse is a combination that hardly shows. Both axes have one scale, and "
    "1 is the estimate. These are not confidence regions, which follow from the noise, too."
)
_UNKNOWNS = (
    "“By these data” says whether the data of this study determine an unknown at the estimate "
    "(“hardly” where the error leaves nothing of the value), “by "
    "any data” whether the best imaginable data would. The correlation is the strongest with "
    "another unknown: near 1 or −1, an error of one is made up for by the other."
)


def as_object(found: Identifiability) -> dict[str, object]:
    """Plain values; what is not finite is None."""
    names = found.names
    matrix = {
        a: {b: float(found.correlation[i, j]) for j, b in enumerate(names)}
        for i, a in enumerate(names)
    }
    data = found.data
    plain = finite(
        {
            "command": "identifiability",
            "run": found.run,
            "outcome": {"status": "done", "message": found.text},
            "study": found.study,
            "identifiability": {
                "rank": found.rank,
                "n": found.n,
                "null_directions": [dict(d) for d in found.null_directions],
                "determined": list(found.invariants),
                "fix": list(found.fix),
                "advice": list(found.advice),
                "singular_values": [float(s) for s in data.singular_values],
                "threshold": data.threshold,
            },
            "structural": found.structural.to_dict() if found.structural else None,
            "measures": found.measures.to_dict(),
            "correlation": matrix,
            "correlated": [
                {"names": list(c.names), "correlation": c.correlation} for c in found.correlated
            ],
            "practical": {n: str(p.standing) for n, p in zip(names, found.practical, strict=False)},
            "twins": [twin_as_object(t) for t in found.twins],
            "second": found.second.to_dict() if found.second else None,
            "vif": {n: float(v) for n, v in zip(names, found.vif, strict=True)},
        }
    )
    assert isinstance(plain, dict)
    return plain
