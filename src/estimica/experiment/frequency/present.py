"""How a frequency response shows itself: a table, a Bode plot with its ribbon, a page, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.view import (
    Curve,
    Curves,
    Page,
    Panel,
    Ribbon,
    Rounded,
    Section,
    Table,
    name_with_unit,
)
from estimica.estimate.page_frame import ANSWER, with_reproduction
from estimica.experiment.frequency.run import FrequencyEstimate

MOST = 400  # rows of the table
FLOOR = 0.05  # of a magnitude: where its ribbon ends below, on a logarithmic axis
_BODE = (
    "A Bode plot: gain and phase over frequency. Coherence, where it is drawn, is the share of the "
    "output's power that the input explains: near 1 the estimate is good."
)


def tables(estimate: FrequencyEstimate) -> tuple[Table, ...]:
    """All there is to read."""
    return (table(estimate),)


def table(estimate: FrequencyEstimate) -> Table:
    """Magnitude and phase with their standard errors at every frequency."""
    size, phase = np.abs(estimate.G), np.rad2deg(np.angle(estimate.G))
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = np.rad2deg(estimate.stderr / size)
    rows = tuple(
        (
            float(f"{f:.6g}"),
            float(f"{g:.5g}"),
            float(f"{s:.2g}"),
            Rounded(float(p), 2),
            Rounded(float(t), 2),
            Rounded(float(c), 4),
        )
        for f, g, s, p, t, c in zip(
            estimate.frequency, size, estimate.stderr, phase, turned, estimate.coherence,
            strict=True,
        )
    )  # fmt: skip
    gain = name_with_unit("magnitude", estimate.unit)
    columns = ("frequency [Hz]", gain, "std. error", "phase [deg]", "std. error", "coherence")
    title = f"{estimate.output}/{estimate.input}: frequency response by {estimate.method}"
    more = f"; the first {MOST} of {len(rows)} frequencies" if len(rows) > MOST else ""
    return Table(columns, rows[:MOST], title, estimate.text + more)


def picture(estimate: FrequencyEstimate, kind: str = "", names: Sequence[str] = ()) -> Curves:
    """A Bode plot with the 95 % ribbon, and the coherence."""
    return curves(estimate)


def curves(estimate: FrequencyEstimate) -> Curves:
    """Magnitude, phase and coherence over the frequency, with 95 % ribbons."""
    f, width = estimate.frequency, estimate.interval
    size = np.abs(estimate.G)
    phase, sure = np.full(len(f), np.nan), size > width  # else any phase may be the true one
    phase[sure] = np.rad2deg(np.unwrap(np.angle(estimate.G[sure])))
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = np.rad2deg(np.arcsin(np.minimum(width / size, 1.0)))
    low = np.maximum(size - width, FLOOR * size)
    panels = (
        Panel(
            name_with_unit(f"|{estimate.output}/{estimate.input}|", estimate.unit),
            (_line(f, size),),
            log=True,
            ribbons=(Ribbon("95 %", f, low, size + width),),
        ),
        Panel(
            "phase [deg]",
            (_line(f, phase),),
            ribbons=(Ribbon("95 %", f, phase - turned, phase + turned, listed=False),),
        ),
        Panel("coherence", (_line(f, estimate.coherence),)),
    )
    title = f"Frequency response of {estimate.output} to {estimate.input}"
    return Curves(panels, title, "frequency [Hz]", 240, log_time=True)


def page(estimate: FrequencyEstimate) -> Page:
    """The plot and the table."""
    words = (
        f"By {estimate.method}: {estimate.text}. The ribbon holds the response with 95 % "
        "probability at each frequency."
    )
    purpose = (
        f"To find from a record over time how {estimate.output} responds to {estimate.input} at "
        "each frequency: by how much it is amplified (gain) and shifted (phase)."
    )
    if estimate.source:
        purpose += f" The record is {Path(estimate.source).name}."
    first = (Section("What was asked", purpose), Section(ANSWER, f"{_answer(estimate)}\n\n{words}"))
    sections = (
        Section("The response", _BODE, (curves(estimate),)),
        Section("Numbers", "", (table(estimate),)),
    )
    title = f"Frequency response: {estimate.output}/{estimate.input}"
    files = (Path(estimate.source),) if estimate.source else ()
    return with_reproduction(
        Page(title, sections), "frequency-response", None, first=first, files=files
    )


def _answer(estimate: FrequencyEstimate) -> str:
    f, gain = estimate.frequency, np.abs(estimate.G)
    if not len(f):
        return "No frequency could be estimated."
    range_ = f"The response was found at {len(f)} frequencies from {f[0]:.4g} to {f[-1]:.4g} Hz"
    top = int(gain.argmax())
    clear = int((2 * estimate.stderr < gain).sum())
    return (
        f"{range_}. The gain is largest at {f[top]:.4g} Hz with "
        f"{name_with_unit(f'{gain[top]:.4g}', estimate.unit)}. "
        f"At {clear} of them it is clearly more than its uncertainty."
    )


def _line(f: Vector, value: Vector) -> Curve:
    return Curve("estimate", f, value, marked=len(f) <= 200, colour=1, listed=False)


def as_object(estimate: FrequencyEstimate) -> dict[str, object]:
    """As plain values."""
    return {
        "input": estimate.input,
        "output": estimate.output,
        "method": estimate.method,
        "frequency": estimate.frequency.tolist(),
        "real": estimate.G.real.tolist(),
        "imag": estimate.G.imag.tolist(),
        "stderr": estimate.stderr.tolist(),
        "coherence": estimate.coherence.tolist(),
        "freedom": estimate.freedom,
        "averages": estimate.averages,
        "text": estimate.text,
    }
