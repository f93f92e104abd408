"""First guesses from frequency responses, over many seeded realisations."""

from __future__ import annotations

import numpy as np
import pytest

import estimica as es
from estimica.base.errors import ExperimentError


def measured(
    gain: float, tau: float, delay: float, w: np.ndarray, relative: float = 0.0, seed: int = 1
) -> np.ndarray:
    random = np.random.default_rng(seed)
    noise = random.standard_normal((2, len(w)))
    exact = gain * np.exp(-1j * w * delay) / (1 + 1j * w * tau)
    return exact * (1 + relative * (noise[0] + 1j * noise[1]))


@pytest.mark.parametrize(("gain", "delay"), [(2, 0.5), (-2, 0.5), (0.1, 0.0), (2, 9.0)])
def test_without_noise_all_three_are_exact(gain: float, delay: float) -> None:
    w = np.geomspace(0.01, 10, 40)
    guess = es.bode_guess(w, measured(gain, 3, delay, w))
    assert guess.gain == pytest.approx(gain, rel=1e-3)
    assert guess.tau == pytest.approx(3, rel=1e-3)
    assert guess.delay == pytest.approx(delay, abs=1e-3)
    assert guess.corner == pytest.approx(1 / 3, rel=1e-3)
    assert not guess.notes


@pytest.mark.parametrize("relative", [0.05, 0.1])
@pytest.mark.slow
def test_noisy_responses_are_read_within_bounds(relative: float) -> None:
    w = np.geomspace(0.01, 10, 40)
    for seed in range(20):
        guess = es.bode_guess(w, measured(2, 3, 3, w, relative, seed))
        assert guess.gain == pytest.approx(2, rel=2 * relative)
        assert guess.tau == pytest.approx(3, rel=2 * relative)
        assert guess.delay == pytest.approx(3, abs=0.5 * relative)


def test_a_wild_sample_does_not_matter() -> None:
    w = np.geomspace(0.01, 10, 40)
    response = measured(2, 3, 0.5, w, 0.01)
    response[7] *= 8
    guess = es.bode_guess(w, response)
    assert guess.gain == pytest.approx(2, rel=0.04)
    assert guess.tau == pytest.approx(3, rel=0.05)


def test_frequencies_may_be_in_hertz_and_in_any_order() -> None:
    w = np.geomspace(10, 0.01, 40)
    guess = es.bode_guess(w / (2 * np.pi), measured(2, 3, 0.5, w), unit="Hz")
    assert guess.tau == pytest.approx(3, rel=1e-3)
    assert (np.diff(guess.frequency) > 0).all()


def test_a_corner_at_the_edge_is_noted() -> None:
    high, low = np.geomspace(0.5, 10, 20), np.geomspace(0.001, 0.4, 20)
    assert "lowest frequency" in es.bode_guess(high, measured(2, 3, 0, high)).notes[0]
    assert "highest frequency" in es.bode_guess(low, measured(2, 3, 0, low)).notes[0]


def test_the_guess_draws_asymptotes_and_the_excess_of_phase() -> None:
    w = np.geomspace(0.01, 10, 40)
    guess = es.bode_guess(w, measured(10, 2, 0.5, w))
    shown = guess.curves()
    amplitude, phase = shown.panels
    assert shown.log_time
    assert amplitude.curves[2].name == "20·log10 K = 20 dB"
    falling = amplitude.curves[3]
    assert falling.time[0] == pytest.approx(0.5, rel=1e-3)
    assert np.diff(falling.value)[0] == pytest.approx(
        -20 * np.log10(falling.time[1] / falling.time[0])
    )
    assert phase.curves[0].value[-1] == pytest.approx(-np.rad2deg(np.arctan(20) + 5), abs=0.5)
    assert phase.curves[2].value.tolist() == [0, 0, -90, -90]
    assert phase.curves[3].name.startswith("Δφ = ")
    assert guess.plot().layout.xaxis.type == "log"  # type: ignore[attr-defined]
    assert "corner [rad/s]" in repr(guess)
    assert "<table" in guess._repr_html_()


def test_wrong_responses_are_told() -> None:
    for arguments, text in [
        (([1, 2], [1]), "W041: 2 frequencies but 1 responses"),
        (([0, 1, 2], [1, 1, 1]), "W042: 2 frequencies above 0; a first guess needs 4"),
    ]:
        with pytest.raises(ExperimentError) as told:
            es.bode_guess(*arguments)
        assert text in str(told.value)
    with pytest.raises(ExperimentError, match="W040: unit 'kHz' is none of rad/s, Hz"):
        es.bode_guess([1], [1], unit="kHz")
