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
MOST_ELLIPSES = 5  # unknowns up to which the page has ellipses: ten pairs


def tables(result: Identifiability) -> tuple[Table, ...]:
    """All there is to read."""
    return (unknowns(result),)


def unknowns(result: Identifiability) -> Table:
    """A row for each unknown: determined by these data, by any data, and how clearly."""
    rows = []
    for k, name in enumerate(result.names):
        lost = any(name in d for d in result.null_directions)
        structure = result.structural
        any_data = None if structure is None else structure.identifiable.get(name, True)
        partner = _partner(result, k)
        vif = float(result.vif[k])
        rows.append(
            (
                name,
                float(result.values[k]),
                "held" if result.at_bound[k] else "hardly" if _hardly(result, k) else not lost,
                any_data,
                short(vif) if np.isfinite(vif) else None,
                *partner,
                f"at its {result.at_bound[k]}" if result.at_bound[k] else _remark(result, k, lost),
            )
        )
    columns = ("unknown", "value", "by these data", "by any data", "VIF", "correlation", "with",
               "remark")  # fmt: skip
    note = result.structural.text if result.structural else ""
    title = f"{result.study}: {result.text}"
    return without_empty(Table(columns, tuple(rows), title, note), "by any data", "remark")


def _remark(result: Identifiability, k: int, lost: bool) -> str:
    return "" if lost or not result.practical else result.practical[k].remark


def _hardly(result: Identifiability, k: int) -> bool:
    return bool(result.practical) and result.practical[k].standing is Significance.LOST and not any(
        result.names[k] in d for d in result.null_directions
    )  # fmt: skip


def _partner(result: Identifiability, k: int) -> tuple[float | None, str]:
    """The unknown whose error goes most with that of unknown `k`."""
    row = np.abs(result.correlation[k]).copy()
    row[k] = np.nan
    if np.isnan(row).all():
        return None, ""
    j = int(np.nanargmax(row))
    return short(float(result.correlation[k, j])), result.names[j]


def picture(
    result: Identifiability, kind: str = "correlation", names: Sequence[str] = ()
) -> Heat | Curves:
    """Correlations as colours, or the sensitivity ellipses."""
    if kind not in KINDS:
        raise FitError(
            "F063", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} ({', '.join(KINDS)})"
        )
    if kind == "ellipses":
        return measures_show.picture(result.measures)
    number = np.arange(len(result.names), dtype=float)
    title = f"{result.study}: correlation of the errors"
    return Heat(
        number, number, result.correlation, "", "", "correlation", title=title, ticks=result.names
    )


def page(result: Identifiability) -> Page:
    """Verdict, unknowns, directions, structure, measures."""
    told = Page(f"Identifiability: {result.study}", tuple(_sections(result)))
    said = [result.text[:1].upper() + result.text[1:] + "."]
    said += [a[:1].upper() + a[1:] + "." for a in result.advice]
    answer = Section(ANSWER, "\n\n".join(said))
    first = (
        (study_summary(result.origin, "identifiability"), answer) if result.origin else (answer,)
    )
    return with_reproduction(told, "identifiability", result.origin, first=first, run=result.run)


def _sections(result: Identifiability) -> Iterator[Section]:
    shown = replace(unknowns(result), title="", note="")
    yield Section("Verdict on each unknown", _UNKNOWNS, (shown,))
    if result.null_directions:
        rows = tuple(
            (k, name, short(share))
            for k, direction in enumerate(result.null_directions, start=1)
            for name, share in direction.items()
        )
        columns = ("direction", "unknown", "relative change")
        text = "Relative changes that leave every output as it is."
        yield Section("What goes unnoticed", text, (Table(columns, rows),))
    if result.second:
        yield from second_model_sections(result.second)
    if result.structural:
        s = result.structural
        because = f" ({s.because})" if s.because else ""
        text = (
            f"{s.text[:1].upper()}{s.text[1:]}.\n\nJudged by {s.method}{because} at {s.points} "
            f"random points: what counts as not zero is at least {s.kept:.1g}, what counts as "
            f"zero at most {s.dropped:.1g}."
        )
        yield Section("Whatever the data", text)
    if np.isfinite(result.correlation).sum() > len(result.names):
        yield Section(
            "Correlation", _CORRELATION, (replace(picture(result, "correlation"), title=""),)
        )
    yield Section("Sensitivity measures", _MEASURES, (measures_show.unknowns(result.measures),))
    if 2 <= len(result.measures.measures.names) <= MOST_ELLIPSES:
        yield Section("Sensitivity ellipses", _ELLIPSES, (measures_show.picture(result.measures),))


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


def as_object(result: Identifiability) -> dict[str, object]:
    """Plain values; what is not finite is None."""
    names = result.names
    matrix = {
        a: {b: float(result.correlation[i, j]) for j, b in enumerate(names)}
        for i, a in enumerate(names)
    }
    data = result.data
    plain = finite(
        {
            "command": "identifiability",
            "run": result.run,
            "outcome": {"status": "done", "message": result.text},
            "study": result.study,
            "identifiability": {
                "rank": result.rank,
                "n": result.n,
                "null_directions": [dict(d) for d in result.null_directions],
                "determined": list(result.invariants),
                "fix": list(result.fix),
                "advice": list(result.advice),
                "singular_values": [float(s) for s in data.singular_values],
                "threshold": data.threshold,
            },
            "structural": result.structural.to_dict() if result.structural else None,
            "measures": result.measures.to_dict(),
            "correlation": matrix,
            "correlated": [
                {"names": list(c.names), "correlation": c.correlation} for c in result.correlated
            ],
            "practical": {
                n: str(p.standing) for n, p in zip(names, result.practical, strict=False)
            },
            "twins": [twin_as_object(t) for t in result.twins],
            "second": result.second.to_dict() if result.second else None,
            "vif": {n: float(v) for n, v in zip(names, result.vif, strict=True)},
        }
    )
    assert isinstance(plain, dict)
    return plain
