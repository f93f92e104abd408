"""Pictures of fitted frequency responses: Bode and Nyquist plots, and their residuals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.view import Across, Band, Curve, Panel, name_with_unit
from estimica.estimate.fit.outputs import CaseFit, OutputComparison
from estimica.estimate.fit.result import Fit
from estimica.study.record.transfer import Transfer

MEASURED, SIMULATED = 7, 1  # of the palette, as over time
SQUARE = 360  # pixels of a panel of the complex plane


def across(transfer: Transfer) -> Across:
    """The axis of the frequencies."""
    return Across(f"frequency [{transfer.unit}]", log=True)


def fit_panels(fit: Fit, case: CaseFit, output: OutputComparison) -> list[Panel]:
    """The measured and the fitted response: magnitude, phase, and in the complex plane."""
    responses = [
        ("measured", output.measured_response),
        ("fitted", output.simulated_response),
    ]
    return [*_bode(fit, case, output, responses), _nyquist(fit, case, output, responses)]


def iteration_panels(
    fit: Fit, case: CaseFit, output: OutputComparison, values: Sequence[tuple[str, Vector]]
) -> list[Panel]:
    """Magnitude and phase after every iteration, from faint to strong."""
    assert output.transfer is not None
    responses = [("measured", output.measured_response)]
    responses += [(name, output.transfer.response(value)) for name, value in values]
    return list(_bode(fit, case, output, responses))


def residual_panels(fit: Fit, case: CaseFit, output: OutputComparison, sigma: float) -> list[Panel]:
    """Fitted − measured, both times the weight of each frequency, with the band of 2σ."""
    assert output.transfer is not None
    f = output.transfer.frequency
    unit = fit.unit_of(output)
    return [
        Panel(
            name_with_unit(f"{part} {output.name}", unit),
            (
                Curve(
                    "fitted − measured",
                    f,
                    output.compared[k::2],
                    unit,
                    dotted=True,
                    colour=0,
                    listed=k == 0,
                ),
            ),
            (Band("" if k else "± 2σ", -2 * sigma, 2 * sigma),) if sigma else (),
            group=_group(fit, case, output, "residuals"),
            across=across(output.transfer),
        )
        for k, part in enumerate(("Re", "Im"))
    ]


def _bode(
    fit: Fit, case: CaseFit, output: OutputComparison, responses: Sequence[tuple[str, Complex]]
) -> Iterator[Panel]:
    assert output.transfer is not None
    f, unit = output.transfer.frequency, fit.unit_of(output)
    reference = np.unwrap(np.angle(responses[0][1]))
    shapes = (
        (name_with_unit(f"|{output.name}|", unit), unit, True, [np.abs(G) for _, G in responses]),
        (
            f"phase of {output.name} [deg]",
            "deg",
            False,
            [_phase(G, reference) for _, G in responses],
        ),
    )
    for label, own, log, values in shapes:
        curves = tuple(
            _curve(name, f, value, own, k, len(responses), listed=log)
            for k, ((name, _), value) in enumerate(zip(responses, values, strict=True))
        )
        group = _group(fit, case, output, "Bode plot")
        yield Panel(label, curves, log=log, group=group, across=across(output.transfer))


def _nyquist(
    fit: Fit, case: CaseFit, output: OutputComparison, responses: Sequence[tuple[str, Complex]]
) -> Panel:
    unit = fit.unit_of(output)
    curves = tuple(
        _curve(name, G.real, G.imag, unit, k, len(responses))
        for k, (name, G) in enumerate(responses)
    )
    axis = Across(name_with_unit(f"Re {output.name}", unit), equal=True)
    group = _group(fit, case, output, "Nyquist plot")
    label = name_with_unit(f"Im {output.name}", unit)
    return Panel(label, curves, group=group, across=axis, height=SQUARE)


def _curve(
    name: str, x: Vector, y: Vector, unit: str, k: int, count: int, *, listed: bool = False
) -> Curve:
    """The first is what was measured, the last the estimate, those between are iterations."""
    if k == 0:
        return Curve(name, x, y, unit, dotted=True, colour=MEASURED, listed=listed)
    if k == count - 1:
        return Curve(name, x, y, unit, colour=SIMULATED, listed=listed)
    return Curve(name, x, y, unit, colour=0, strength=0.2 + 0.8 * k / count, listed=listed)


def _phase(response: Complex, reference: Vector) -> Vector:
    """The phase in degrees without jumps, on the turn of the measured one."""
    found = np.unwrap(np.angle(response))
    turns = np.round(np.median(found - reference) / (2 * np.pi))
    return np.asarray(np.rad2deg(found - 2 * np.pi * turns))


def _group(fit: Fit, case: CaseFit, output: OutputComparison, what: str) -> str:
    role = " (validation)" if case.role == "validate" else ""
    own = f"{case.name}{role}: " if len(fit.cases) > 1 else ""
    several = f" of {output.name}" if len(case.outputs) > 1 else ""
    text = f"{own}{what}{several}"
    return text[0].upper() + text[1:] if not own else text
