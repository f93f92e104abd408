"""Sensitivity measures as a table and as ellipses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from estimica.base.errors import FitError
from estimica.base.result import plain_object
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.base.view import Across, Curve, Curves, Panel, Table
from estimica.infer.sensitivity.result import SensitivityMeasures

#: R_i from which on an unknown counts as correlated with others. Chosen: R_i is 1/√(1 − r²) of the
#: multiple correlation, 0.98 here
CORRELATED = 5.0
MOST_PAIRS = 10  # panels: those of five unknowns
KINDS = ("ellipses",)


def tables(result: SensitivityMeasures) -> tuple[Table, ...]:
    """All there is to read."""
    return (unknowns(result),)


def unknowns(result: SensitivityMeasures) -> Table:
    """A row for each unknown, with what noise and undermodelling do to it."""
    m = result.measures
    known = result.noise is not None
    columns = ["unknown", "value", "S_i", "S_i,min", "R_i", "σ_r %", "Δ_eq %"]
    columns += ["σ_r + Δ_eq %"] if known else []
    rows = []
    for k, name in enumerate(m.names):
        row: list[object] = [name, float(result.values[k])]
        numbers = [m.S[k], m.S_i_min[k], m.R_i[k], 100 * result.spread[k]]
        numbers += [100 * result.equivalent_error[k]]
        numbers += [100 * result.uncertainty[k]] if known else []
        row += [short(float(x)) if np.isfinite(x) else None for x in numbers]
        rows.append((*row, remark(m.S_i_min[k], float(m.R_i[k]))))
    title = (
        f"{result.study}: S_min {short(m.S_min):g}, S_max {short(m.S_max):g}, R {short(m.R):g}, "
        f"D {short(m.D):g}; error {100 * result.error:.3g} % of the outputs"
    )
    note = (
        f"of the error {100 * result.noise:.3g} % is noise and "
        f"{100 * (result.undermodelling or 0.0):.3g} % undermodelling"
        if result.noise is not None
        else "σ_r if all error is noise, Δ_eq if all is undermodelling"
    )
    return Table((*columns, "remark"), tuple(rows), title, note)


def remark(smallest: float, ratio: float) -> str:
    """What a large ratio means."""
    if smallest == 0:
        return "not determined by these data"
    return "correlated with others" if ratio > CORRELATED else ""


def picture(
    result: SensitivityMeasures, kind: str = "ellipses", names: Sequence[str] = ()
) -> Curves:
    """Ellipses of all pairs of unknowns, both axes of one scale; the others held or adapted."""
    if kind not in KINDS:
        raise FitError("F076", f"there is no plot '{kind}'{did_you_mean(kind, KINDS)} (ellipses)")
    m = result.measures
    if len(m.names) < 2:
        raise FitError("F077", "an ellipse needs two unknowns; there is one")
    panels: list[Panel] = []
    for first, second in list(combinations(m.names, 2))[:MOST_PAIRS]:
        curves = []
        for others, dashed in (("held", False), ("adapted", True)):
            if others == "adapted" and (len(m.names) < 3 or m.rank < len(m.names)):
                continue
            ring = m.ellipse(first, second, others=others)  # type: ignore[arg-type]
            if np.isfinite(ring).all():
                curve = Curve(f"others {others}", ring[:, 0], ring[:, 1], dashed=dashed,
                              colour=int(dashed), listed=not panels)  # fmt: skip
                curves.append(curve)
        endless = "" if curves else ": the outputs do not tell them apart, the ellipse has no end"
        centre = np.ones(1)
        curves.append(Curve("estimate", centre, centre, dotted=True, colour=2, listed=not panels))
        panels.append(
            Panel(
                f"{second} / its estimate",
                tuple(curves),
                group=f"{first} and {second}{endless}",
                across=Across(f"{first} / its estimate", equal=True),
            )
        )
    title = f"{result.study}: sensitivity ellipses, to first order the outputs change by their RMS"
    return Curves(tuple(panels), title, "", 320)


def as_object(result: SensitivityMeasures) -> dict[str, object]:
    """As plain values; the JSON of `estimica identifiability` has them as `measures`."""
    plain = result.measures.to_dict()
    unknowns = plain.pop("unknowns")
    assert isinstance(unknowns, dict)
    for k, name in enumerate(result.measures.names):
        unknowns[name] |= {
            "spread_percent": 100 * float(result.spread[k]),
            "equivalent_error_percent": 100 * float(result.equivalent_error[k]),
            "uncertainty_percent": 100 * float(result.uncertainty[k]),
        }
    undermodelling = result.undermodelling
    return plain_object(
        {
            **plain,
            "unknowns": unknowns,
            "errn_percent": {n: 100 * e for n, e in result.errn.items()},
            "error_percent": 100 * result.error,
            "noise_percent": None if result.noise is None else 100 * result.noise,
            "undermodelling_percent": None if undermodelling is None else 100 * undermodelling,
        }
    )
