"""Signals against their closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import ExperimentError
from estimica.base.signals import Hold
from estimica.experiment import signals

GRID = signals.times(0.1, 1000)


def test_a_step_is_right_continuous_and_need_not_be_at_a_stamp() -> None:
    step = signals.Step(amplitude=3, offset=1, begin=2.05)
    assert step.signal([0, 10]).time.tolist() == [0, 2.05]
    assert step.samples([0, 2.0499, 2.05, 9]).tolist() == [1, 1, 4, 4]


def test_a_step_with_a_duration_is_a_pulse() -> None:
    pulse = signals.Step(duration=2.0, begin=1.0)
    assert pulse.samples([0.9, 1, 2.9, 3]).tolist() == [0, 1, 1, 0]


def test_a_staircase_has_as_many_stairs_and_ends_at_its_amplitude() -> None:
    stairs = signals.Staircase(4, 20.0, amplitude=12)  # Senstools' inpstair(4, 12, 2000, 0.01)
    assert stairs.samples([0, 4.99, 5, 10, 15, 30]).tolist() == [3, 3, 6, 9, 12, 12]
    both = signals.Staircase(2, 3.0, amplitude=2, down=True)
    assert both.samples([0, 1, 2, 4]).tolist() == [1, 2, 1, 1]


def test_a_square_wave_has_its_frequency_and_duty() -> None:
    square = signals.Square(0.37, amplitude=2, offset=1, duty=0.3)
    found = square.signal([0, 100])
    up = found.time[found.value > 1]
    assert np.allclose(np.diff(up), 1 / 0.37)
    fine = np.linspace(0, 10 / 0.37, 100_000, endpoint=False)
    assert np.mean(square.samples(fine) == 3) == pytest.approx(0.3, abs=1e-3)
    assert set(square.samples(fine)) == {-1.0, 3.0}


def test_a_square_wave_jumps_at_the_stamps_although_they_are_rounded() -> None:
    square = signals.Square(0.05)
    jumps = np.flatnonzero(np.diff(square.samples(GRID)))
    assert jumps.tolist() == list(range(99, 999, 100))
    assert set(square.signal(GRID).time) <= set(GRID)


def test_the_same_square_wave_as_senstools_makes() -> None:
    t = np.arange(1, 1001) * 0.1
    theirs = np.sign(np.sin(100 * 0.05 * 2 * np.pi * np.arange(1, 1001) / 1000))
    ours = signals.Square(0.05).samples(t)
    inner = np.abs(t / 10 - np.round(t / 10)) > 1e-9  # where sin is not 0 but for rounding
    assert (ours == theirs)[inner].all()


def test_a_square_ramp_is_a_square_wave_times_a_ramp_also_between_stamps() -> None:
    ramp = signals.SquareRamp(0.05, 100.0, amplitude=6)
    coarse = ramp.signal([0, 130])
    fine = np.linspace(0, 130, 5003)
    expected = 6 * np.minimum(fine / 100, 1) * signals.Square(0.05).samples(fine)
    assert coarse.hold is Hold.LINEAR
    assert np.allclose(coarse.at(fine), expected, atol=1e-12)


def test_a_square_ramp_that_begins_before_the_record_is_cut_off_there() -> None:
    ramp = signals.SquareRamp(0.05, 100.0, amplitude=6)
    inner = np.linspace(33, 57, 400)
    assert np.allclose(ramp.signal(inner).at(inner), ramp.signal([0, 100]).at(inner), atol=1e-12)


@pytest.mark.parametrize("registers", range(2, 21))
def test_a_prbs_repeats_after_its_maximum_length(registers: int) -> None:
    prbs = signals.PRBS(registers, 0.5)
    n = prbs.length
    assert n == 2**registers - 1
    assert prbs.period == 0.5 * n
    u = prbs.samples(signals.times(0.5, 2 * n) if registers < 12 else signals.times(0.5, n))
    if registers < 12:
        assert (u[:n] == u[n:]).all()
    spectrum = np.fft.rfft(u[:n])
    autocorrelation = np.fft.irfft(np.abs(spectrum) ** 2, n) / n
    assert autocorrelation[0] == pytest.approx(1)
    assert np.allclose(autocorrelation[1:], -1 / n, atol=1e-9)


def test_a_prbs_changes_at_the_stamps_although_they_are_rounded() -> None:
    prbs = signals.PRBS(6, 0.3)
    for count in range(2, 400):
        u = prbs.samples(signals.times(0.1, 3 * count + 1))
        assert (u[:-1].reshape(count, 3) == u[:-1:3, None]).all()
        assert u[-1] == prbs.samples([0.3 * count])[0]


def test_a_shifted_prbs_is_the_same_sequence_later() -> None:
    clocks = signals.times(0.5, 100)
    plain, shifted = signals.PRBS(5, 0.5), signals.PRBS(5, 0.5, shift=7)
    assert (plain.samples(clocks)[7:] == shifted.samples(clocks)[:-7]).all()


def test_a_prbs_may_change_between_stamps() -> None:
    u = signals.PRBS(4, 0.37).signal([0, 10])
    assert np.allclose(u.time, 0.37 * np.arange(len(u.time)))


def test_a_multisine_has_its_lines_and_nothing_else() -> None:
    lines, weights = [2, 3, 7, 11], [1.0, 0.5, 2.0, 0.25]
    multi = signals.Multisine(lines, 0.05, weights, amplitude=2, offset=3)
    u = multi.samples(signals.times(20 / 256, 256))
    spectrum = np.abs(np.fft.rfft(u)) / 128
    expected = np.zeros(129)
    expected[0] = 6  # twice the offset
    expected[lines] = 2 * np.array(weights)
    assert np.allclose(spectrum, expected, atol=1e-12)


@pytest.mark.parametrize("count", [5, 8, 10, 20, 50, 100])
@pytest.mark.parametrize("spacing", [1, 2])
def test_schroeder_phases_keep_the_crest_factor_below_two(count: int, spacing: int) -> None:
    lines = range(1, spacing * count + 1, spacing)
    multi = signals.Multisine(lines, 0.1)
    assert multi.crest_factor < 2
    zero = signals.Multisine(lines, 0.1, phases="zero")
    assert zero.crest_factor == pytest.approx(np.sqrt(2 * count))


def test_crest_factor_of_one_sine_is_root_two() -> None:
    assert signals.Multisine([3], 0.1).crest_factor == pytest.approx(np.sqrt(2))


def test_a_multisine_can_be_scaled_to_its_peak() -> None:
    multi = signals.Multisine(range(1, 11), 0.1, phases="random", seed=4, offset=2).with_peak(5)
    deviation = np.abs(multi.samples(np.linspace(0, 10, 20_001)) - 2).max()
    assert deviation == pytest.approx(5, rel=2e-3)


@pytest.mark.parametrize("sweep", ["linear", "log"])
def test_a_chirp_has_its_instantaneous_frequency(sweep: str) -> None:
    chirp = signals.Chirp(0.5, 5, 20.0, sweep=sweep)
    t = np.linspace(0, 20, 200_001)
    u = chirp.samples(t)[:-1]
    up = np.flatnonzero((u[:-1] < 0) & (u[1:] >= 0))
    crossings = t[up] - u[up] * (t[1] - t[0]) / (u[up + 1] - u[up])
    middles = (crossings[1:] + crossings[:-1]) / 2
    expected = {"linear": 0.5 + 4.5 * middles / 20, "log": 0.5 * 10 ** (middles / 20)}[sweep]
    assert np.allclose(1 / np.diff(crossings), expected, rtol=0.03)
    assert np.allclose(chirp.frequency(middles), expected)
    assert chirp.samples([20.0, 30.0]).tolist() == [0, 0]


@pytest.mark.parametrize(
    "wave",
    [
        signals.Sine(0.3, phase=1.0, amplitude=2, offset=-1),
        signals.Multisine(range(1, 8), 0.07),
        signals.Chirp(0, 3, 15.0),
        signals.Chirp(0.01, 3, 15.0, sweep="log", begin=2.0),
    ],
    ids=repr,
)
def test_smooth_signals_leave_their_formula_by_little(wave: signals.Waveform) -> None:
    t = np.linspace(0, 20, 30_011)
    inside = np.abs(t - 15) > 1e-3
    span = np.ptp(wave.samples(t))
    assert np.abs(wave.signal(t).at(t) - wave.samples(t))[inside].max() < 1.01e-5 * span


def test_band_noise_has_its_power_in_its_band() -> None:
    noise = signals.Noise(0.1, (0.5, 1.5), amplitude=3.0, order=6, seed=2)
    u = noise.samples(signals.times(0.1, 2**16))
    f = np.fft.rfftfreq(2**16, 0.1)
    power = np.abs(np.fft.rfft(u)) ** 2
    assert np.std(u) == pytest.approx(3.0, rel=0.03)
    share = power[(f > 0.5) & (f < 1.5)].sum() / power.sum()
    even = np.linspace(0, 5, 20_001)
    gain = noise.gain(even) ** 2
    assert share == pytest.approx(gain[(even > 0.5) & (even < 1.5)].sum() / gain.sum(), abs=0.01)
    assert share > 0.93


@pytest.mark.parametrize("band", [None, (None, 1.0), (1.0, None), (0.3, 2.0)])
def test_noise_has_the_standard_deviation_asked_for(
    band: tuple[float | None, float | None] | None,
) -> None:
    u = signals.Noise(0.1, band, amplitude=2.0, offset=7).samples(signals.times(0.1, 60_000))
    assert np.std(u) == pytest.approx(2.0, rel=0.05)
    assert np.mean(u) == pytest.approx(7, abs=0.15)


def test_noise_is_seeded_and_a_longer_record_begins_like_a_shorter_one() -> None:
    noise = signals.Noise(0.1, (None, 1.0), seed=5)
    short, long = noise.samples(GRID[:100]), noise.samples(GRID)
    assert (short == long[:100]).all()
    assert not np.allclose(signals.Noise(0.1, (None, 1.0), seed=6).samples(GRID[:100]), short)


@pytest.mark.parametrize("kind", signals.KINDS)
def test_every_signal_rests_at_its_offset_before_it_begins(kind: str) -> None:
    needed: dict[str, object] = {
        "frequency": 0.3,
        "duration": 30.0,
        "stairs": 3,
        "lines": [1, 2],
        "fundamental": 0.1,
        "registers": 4,
        "clock": 0.5,
        "start": 0.1,
        "stop": 1.0,
    }
    own = signals.KINDS[kind].__dataclass_fields__
    wave = signals.make(
        kind, {n: v for n, v in needed.items() if n in own} | {"offset": 4.0, "begin": 10.0}
    )
    assert wave.kind == kind
    u = wave.samples(GRID)
    assert (u[GRID < 10 - 1e-9] == 4).all()
    assert not (u[GRID >= 10 - 1e-9] == 4).all()
    assert np.allclose(wave.signal(GRID).at(GRID), u, atol=3e-5)
    assert (wave.samples([0.0, 1.0, 2.0]) == 4).all()


def test_held_is_what_a_converter_puts_out() -> None:
    held = signals.Sine(0.1).held([0, 1, 2])
    assert held.hold is Hold.PREVIOUS
    assert held.at(np.array([0.5, 1.5])) == pytest.approx([0, np.sin(0.2 * np.pi)])


def test_a_signal_is_written_and_reads_back(tmp_path: Path) -> None:
    square = signals.Square(0.05, amplitude=0.1)
    path = square.to_csv(tmp_path / "u.csv", GRID, "valve", "V")
    data = es.read_data(path)
    assert data.units == {"time": "s", "valve": "V"}
    assert (data.column("valve") == square.samples(GRID)).all()


def test_a_signal_is_drawn_with_upright_jumps() -> None:
    (panel,) = signals.Square(0.05).curves([0, 100], "u", "V").panels
    assert panel.label == "u [V]"
    assert panel.curves[0].stepped
    assert panel.curves[0].time[-1] == 100
    assert signals.Sine(0.05).plot([0, 100]) is not None


@pytest.mark.parametrize(
    ("kind", "parameters", "text"),
    [
        ("sqare", {}, "W009: there is no signal 'sqare'; did you mean 'square' or 'square-ramp'?"),
        ("square", {"frequncy": 1}, "W010: square: no parameter 'frequncy'; did you mean 'frequency'?"),
        ("square-ramp", {}, "W011: square-ramp: say what frequency and duration is"),
        ("square", {"frequency": "x"}, "W012: square: a parameter is of the wrong kind: "),
        ("square", {"frequency": 0}, "W002: square: frequency 0 Hz is not positive"),
        ("square", {"frequency": 1, "duty": 1}, "W002: square: duty 1 is not between 0 and 1"),
        ("square", {"frequency": float("nan")}, "W001: square: frequency is nan; give a finite number"),
        ("step", {"duration": 0}, "W002: step: duration 0 is not positive"),
        ("staircase", {"stairs": 0, "duration": 1}, "W002: staircase: 0 stairs; give at least 1"),
        ("prbs", {"registers": 21, "clock": 1}, "W002: prbs: 21 registers; there are sequences for 2 to 20"),
        ("prbs", {"registers": 3, "clock": 0}, "W002: prbs: clock 0 s is not positive"),
        ("multisine", {"lines": [], "fundamental": 1}, "W002: multisine: no lines; give whole multiples"),
        ("multisine", {"lines": [1.5], "fundamental": 1}, "W002: multisine: line 1.5 is not a positive whole number"),
        ("multisine", {"lines": [1, 1], "fundamental": 1}, "W002: multisine: a line is given twice"),
        ("multisine", {"lines": [1], "fundamental": 1, "weights": [1, 2]}, "W002: multisine: 2 weights for 1 lines"),
        ("multisine", {"lines": [1], "fundamental": 1, "weights": [0]}, "W002: multisine: all weights are 0"),
        ("multisine", {"lines": [1], "fundamental": 1, "phases": "x"}, "phases 'x' are none of schroeder, random, zero"),
        ("multisine", {"lines": [1], "fundamental": 1, "phases": [1, 2]}, "W002: multisine: 2 phases for 1 lines"),
        ("chirp", {"start": 0, "stop": 1, "duration": 1, "sweep": "log"}, "start 0 Hz is too low for a log sweep"),
        ("chirp", {"start": 1, "stop": 2, "duration": 1, "sweep": "x"}, "sweep 'x' is none of linear, log"),
        ("noise", {"clock": 1, "band": [0.1, 0.6]}, "0.6 Hz is not between 0 and 0.5 Hz, half the rate"),
        ("noise", {"clock": 1, "band": [0.3, 0.2]}, "band from 0.3 to 0.2 Hz is empty; swap its ends"),
        ("noise", {"clock": 1, "band": [0.3]}, "band has two ends"),
    ],
)  # fmt: skip
def test_a_wrong_signal_is_told(kind: str, parameters: dict[str, object], text: str) -> None:
    with pytest.raises(ExperimentError) as told:
        signals.make(kind, parameters)
    assert text in str(told.value)


def test_wrong_times_are_told() -> None:
    square = signals.Square(1.0)
    for times, text in [
        ([1, 0], "W006: times must not decrease: 0 follows 1"),
        ([], "W005: times must be a list of finite numbers, at least one"),
        (["a"], "W004: times must be numbers, not ['a']"),
        ([0, 1e8], "W007: square: 2e+08 corners between the first and the last time"),
    ]:
        with pytest.raises(ExperimentError) as told:
            square.samples(times)
        assert text in str(told.value)
    with pytest.raises(ExperimentError, match="W008: 0 samples 1 s apart; both must be positive"):
        signals.times(1, 0)
    with pytest.raises(ExperimentError, match="W003: hold 'x' is none of previous, linear, spline"):
        square.held([0, 1], "x")
