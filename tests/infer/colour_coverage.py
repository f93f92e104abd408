"""How often 95 % intervals of kind `hac` hold the truth under noise of several colours.

    python -m tests.infer.colour_coverage --experiments 100

prints a row for each noise: the share for white noise (the fit's own), and that of `hac`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.signal import lfilter
from tests.infer.test_noise_colour import Noise, fitted, mixed, regressors, slow, tenth, white

import estimica as es


def swinging(n: int, rng: np.random.Generator) -> Noise:
    """Second order, with a period of 12 samples."""
    r, w = 0.9, 2 * np.pi / 12
    draw = lfilter([1.0], [1.0, -2 * r * np.cos(w), r * r], rng.standard_normal(n + 200))[200:]
    return draw / draw.std(), np.zeros(n)


NOISES: dict[str, Callable[..., Noise]] = {
    "white": white,
    "first-order colour of 0.5": partial(slow, memory=0.5),
    "first-order colour of 0.9": partial(slow, memory=0.9),
    "first-order colour of 0.97": slow,
    "half white, half slow (0.98)": mixed,
    "nine tenths white, a tenth slow (0.95)": tenth,
    "swinging with a period of 12 samples": swinging,
}


def shares(noise: Callable[..., Noise], n: int, experiments: int) -> tuple[float, float]:
    """(model, hac): percent of the intervals of three unknowns that hold the truth."""
    rng, X = np.random.default_rng(2026), regressors(n)
    truth, hits = np.array([2.0, 1.0, 0.5]), np.zeros(2)
    for _ in range(experiments):
        fit = fitted(X, noise(n, rng)[0])
        for k, found in enumerate((fit.accuracy, es.covariance(fit, "hac").accuracy)):
            low, high = found.interval.T
            hits[k] += np.mean((low < truth) & (truth < high))
    model, hac = 100 * hits / experiments
    return float(model), float(hac)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=100)
    parser.add_argument("--samples", type=int, default=600)
    given = parser.parse_args()
    for name, noise in NOISES.items():
        model, hac = shares(noise, given.samples, given.experiments)
        print(f"| – {name} | {model:.0f} % | | {hac:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
