"""Multisine design: lines and amplitudes from the frequency response and its derivatives.

In the steady state a line of power p_k at ω_k adds p_k·Re(∂G/∂θ*ᵀ ∂G/∂θ) to the mean of ψψᵀ and
p_k·|G|² to the mean square of the output, so that the design needs no simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ExperimentError
from estimica.base.signals import Signal
from estimica.experiment.design.information import (
    InformationMeasures,
    information_measures,
    measures_from_factors,
)
from estimica.experiment.design.line_power import PowerShares, is_informative, share_power
from estimica.experiment.design.problem import DesignProblem
from estimica.experiment.design.result import Candidate, InputDesign, Spectrum
from estimica.experiment.waveforms.sines import TWO_PI, Multisine
from estimica.study.tables.input_design import InputDesignTable, Span

#: unless told. Chosen: nearly two decades; the design leaves most of them without power
LINES = 50
POWER = 0.5  # of a sine with amplitude 1
#: times that the norms of several outputs are adapted. Chosen: the best of them is kept
NORMS = 8


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines that may be used, with the response of the model at each."""

    numbers: tuple[int, ...]
    fundamental: float  # Hz
    G: Complex  # (lines, outputs)
    dG: Complex  # (lines, outputs, tuners), by relative changes
    total: float  # power of the whole signal

    @property
    def frequencies(self) -> Vector:
        """Hz."""
        return self.fundamental * np.array(self.numbers, np.float64)


def multisine_design(bench: DesignProblem, table: InputDesignTable) -> InputDesign:
    """The multisine of given power that tells most about the tuners."""
    _require(bench, table)
    m = len(bench.links.tuners)
    plain = replace(bench, unknowns=bench.unknowns[:m], values=bench.values[:m])
    lines = _lines(plain, table)
    flat = np.full(len(lines.numbers), 1 / len(lines.numbers))
    tried = [_single(plain, lines, k) for k in range(len(lines.numbers))]
    tried.append(Candidate("flat spectrum", {}, _judged(plain, lines, flat)))
    shared = _shared(plain, table, lines)
    empty = InputDesign(
        bench=bench,
        settings=table,
        tried=tuple(tried),
        chosen=None,
        inputs={},
        Y=np.full((len(bench.times), len(bench.outputs)), np.nan),
        about="",
    )
    if shared is None:
        return empty
    return _designed(empty, plain, lines, shared)


def _designed(
    empty: InputDesign, plain: DesignProblem, lines: Lines, shared: PowerShares
) -> InputDesign:
    """The signal of these powers, and how it does over time."""
    bench, table = empty.bench, empty.settings
    used = [int(k) for k in np.flatnonzero(shared.power > 0)]
    wave = _wave(table, lines, shared.power, used)
    count = "one line" if len(used) == 1 else f"{len(used)} lines"
    best = Candidate(f"multisine of {count}", {}, _judged(plain, lines, shared.power))
    exact = table.hold == "exact"
    signal = wave.signal(bench.times) if exact else wave.held(bench.times, table.hold)
    answer = bench.answer({bench.designed[0]: signal})
    simulated = information_measures(bench, answer)
    label = "the same over time"
    if isinstance(simulated, str):
        over_time = Candidate(label, {}, None, simulated)
    else:
        over_time = Candidate(label, {}, simulated)
    return replace(
        empty,
        tried=(*empty.tried, best, over_time),
        chosen=best,
        inputs={bench.designed[0]: signal},
        Y=answer.Y,
        about=_about(wave),
        notes=tuple(_notes(bench, table, lines, wave, shared)),
        spectrum=Spectrum(
            lines.frequencies,
            lines.total * shared.power,
            shared.gain,
            shared.efficiency,
            wave.crest_factor,
        ),
        told={"signal": "multisine", "lines": list(wave.lines), "fundamental": wave.fundamental},
    )


# --- the lines -----------------------------------------------------------------------------------


def _require(bench: DesignProblem, table: InputDesignTable) -> None:
    if len(bench.designed) > 1:
        raise ExperimentError(
            "W083", f"a multisine is for one input, not {', '.join(bench.designed)}; name one"
        )
    if table.criterion == "R" and len(bench.counted) < len(bench.links.tuners):
        raise ExperimentError(
            "W084",
            "criterion R of a multisine counts all tuners; choose by D, A or E",
        )
    if isinstance(table.energy, str):
        raise ExperimentError(
            "W085", f'energy = "{table.energy}" is for free inputs; give the mean of u² as a number'
        )


def _lines(bench: DesignProblem, table: InputDesignTable) -> Lines:
    fundamental = table.fundamental or 1 / bench.duration
    numbers = [n for n in _numbers(table) if n * fundamental < 0.5 / bench.step]
    if not numbers:
        raise ExperimentError(
            "W086",
            f"no line lies below half the sampling frequency, {0.5 / bench.step:g} Hz; "
            "take a lower fundamental or a shorter step",
        )
    omega = TWO_PI * fundamental * np.array(numbers, np.float64)
    designed = bench.designed[0]
    constants: dict[str, float] = {n: float(s.value[0]) for n, s in bench.others.items()}
    constants[designed] = _offset(table)
    theta, chain = bench.links.at(bench.values)
    run = bench.model.frequency_experiment(
        omega,
        constants,
        bench.parameters,
        bench.start,
        transfers=[(o, designed) for o in bench.outputs],
        wrt=bench.links.parameters,
    ).at(theta)
    if not run.ok:
        raise ExperimentError(
            "W087", f"'{bench.model.name}' has no frequency response here: {run.text}"
        )
    moved = _complex(run.YS) @ chain * bench.sizes
    total = POWER if table.energy is None else float(table.energy)
    return Lines(tuple(numbers), fundamental, _complex(run.Y), moved, total)


def _complex(parts: Vector) -> Complex:
    """Real and imaginary parts, which stand side by side, as one number each."""
    joined: Complex = np.empty(parts[:, 0::2].shape, np.complex128)
    joined.real, joined.imag = parts[:, 0::2], parts[:, 1::2]
    return joined


def _numbers(table: InputDesignTable) -> list[int]:
    given = table.lines
    if given is None:
        return list(range(1, LINES + 1))
    if isinstance(given, Span):
        return sorted({round(v) for v in given.values() if round(v) >= 1})
    return sorted(set(given))


def _offset(table: InputDesignTable) -> float:
    for name in table.fixed:
        if name != "offset":
            raise ExperimentError(
                "W088", f"fixed: a multisine is designed in all but its offset, not '{name}'"
            )
    try:
        return float(table.fixed.get("offset", 0.0))
    except (TypeError, ValueError):
        raise ExperimentError(
            "W088", f"fixed: offset {table.fixed['offset']!r} is not a number"
        ) from None


# --- the powers ----------------------------------------------------------------------------------


def _shared(bench: DesignProblem, table: InputDesignTable, lines: Lines) -> PowerShares | None:
    """Shares of the power; None where no powers tell all tuners apart."""
    order = [*bench.counted, *(k for k in range(lines.dG.shape[2]) if k not in bench.counted)]
    scale = np.ones(len(order))
    scale[: len(bench.counted)] = bench.weights
    dG = lines.dG[:, :, order] * scale
    M = np.einsum("kji,kjl->kjil", dG.conj(), dG).real  # (lines, outputs, tuners, tuners)
    g = np.abs(lines.G) ** 2
    normed = table.criterion in ("R", "S_min")
    norms = _norms(g, np.full(len(g), 1 / len(g)))
    if bench.sigma is not None and not normed:
        norms = bench.sigma**2
    best: tuple[float, PowerShares] | None = None
    for _ in range(NORMS if normed and len(norms) > 1 else 1):
        joint = np.einsum("kjil,j->kil", M, 1 / norms)
        if not is_informative(joint):
            return None
        total = np.einsum("kj,j->k", g, 1 / norms)
        shared = share_power(joint, table.criterion, len(bench.counted), total)
        score = _judged(bench, lines, shared.power).score(table.criterion)
        if best is None or score < best[0]:
            best = (score, shared)
        norms = _norms(g, shared.power)
    return None if best is None else best[1]


def _norms(g: Vector, power: Vector) -> Vector:
    """Mean square of each output."""
    norms: Vector = power @ g
    return np.where(norms > 0, norms, 1.0)


def _judged(bench: DesignProblem, lines: Lines, power: Vector) -> InformationMeasures:
    """The measures in the steady state over whole periods."""
    rms = np.sqrt(_norms(np.abs(lines.G) ** 2, power))
    rows = np.sqrt(power)[:, None, None] * lines.dG
    normed = _stacked(rows / rms[:, None]) / math.sqrt(len(rms))
    if bench.sigma is None:
        return measures_from_factors(bench, normed, None)
    size = math.sqrt(lines.total * len(bench.times))
    return measures_from_factors(bench, normed, size * _stacked(rows / bench.sigma[:, None]))


def _stacked(rows: Complex) -> Vector:
    flat = rows.reshape(-1, rows.shape[-1])
    both = np.vstack([flat.real, flat.imag, np.zeros((rows.shape[-1], rows.shape[-1]))])
    return np.asarray(np.linalg.qr(both, mode="r"), np.float64)


def _single(bench: DesignProblem, lines: Lines, k: int) -> Candidate:
    """All power in one line: a sine."""
    power = np.zeros(len(lines.numbers))
    power[k] = 1.0
    settings: Mapping[str, float] = {"frequency": float(lines.frequencies[k])}
    label = f"sine of {settings['frequency']:.6g} Hz"
    return Candidate(label, settings, _judged(bench, lines, power))


# --- the signal ----------------------------------------------------------------------------------


def _wave(table: InputDesignTable, lines: Lines, power: Vector, used: list[int]) -> Multisine:
    """Amplitudes √(2p) with Schroeder's phases."""
    return Multisine(
        lines=[lines.numbers[k] for k in used],
        fundamental=lines.fundamental,
        weights=[math.sqrt(2 * lines.total * float(power[k])) for k in used],
        offset=_offset(table),
    )


def _about(wave: Multisine) -> str:
    pairs = zip(wave.frequencies, wave.amplitudes, strict=True)
    told = ", ".join(f"{a:.4g} at {f:.4g} Hz" for f, a in pairs)
    return f"multisine with amplitudes {told}"


def _notes(
    bench: DesignProblem,
    table: InputDesignTable,
    lines: Lines,
    wave: Multisine,
    shared: PowerShares,
) -> list[str]:
    rms = math.sqrt(lines.total)
    peak = wave.crest_factor * rms
    notes = [
        f"The crest factor is {wave.crest_factor:.3g}: it reaches {wave.offset:g} ± {peak:.4g}",
        f"These powers reach {_percent(shared.efficiency)} % of the best that the lines allow, "
        "or more",
    ]
    periods = bench.duration * lines.fundamental
    if abs(periods - round(periods)) > 1e-6 * max(periods, 1.0):
        notes.append(f"The experiment is {periods:.4g} periods long; take whole periods")
    if len(lines.numbers) > 2 and lines.numbers[0] in wave.lines:
        notes.append("The lowest line is used: a longer experiment with lower ones may tell more")
    if len(lines.numbers) > 2 and lines.numbers[-1] in wave.lines:
        notes.append("The highest line is used: allow higher ones")
    above = len(_numbers(table)) - len(lines.numbers)
    if above and table.lines is not None:
        limit = f"half the sampling frequency, {0.5 / bench.step:g} Hz"
        notes.append(f"Lines that are not below {limit}, are left out ({above})")
    varying = [n for n, s in bench.others.items() if _varies(s)]
    if varying:
        notes.append(f"Input '{varying[0]}' was taken at its first value")
    return notes + table.idle_notes()


def _percent(efficiency: float) -> str:
    """Rounded down, since it is a bound."""
    return f"{math.floor(1e6 * efficiency) / 1e4:.6g}"


def _varies(signal: Signal) -> bool:
    return bool(np.ptp(signal.value) > 0)
