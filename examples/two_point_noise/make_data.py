"""Makes two_point.csv: outputs whose noise takes two values only, ±√r."""

from pathlib import Path

import numpy as np

import estimica as es

TRUTH = {"a1": 1.0, "a2": 1.0, "b1": 1.0, "b2": 3.0, "x10": 0.5, "x20": 0.9}
VARIANCES = {"y1": 0.01, "y2": 0.001}
SEED = 1
HERE = Path(__file__).parent


def clean(samples: int) -> np.ndarray:
    """Time, inputs and exact outputs in columns; the inputs step up at 5 s and at 25 s."""
    times = np.linspace(0.0, 40.0, samples)
    u1, u2 = (times >= 5) * 1.0, (times >= 25) * 1.0
    run = es.load_model(HERE / "TwoStates.mo").simulate(
        times,
        {"u1": (times, u1), "u2": (times, u2)},
        TRUTH,
        outputs=["y1", "y2"],
        options=es.Options(rtol=1e-10, atol=1e-12),
    )
    return np.column_stack([times, u1, u2, run.value("y1"), run.value("y2")])


def noisy(exact: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The same with two-point noise on both outputs."""
    found = exact.copy()
    for column, variance in zip((3, 4), VARIANCES.values(), strict=True):
        found[:, column] += np.sqrt(variance) * random.choice([-1.0, 1.0], len(exact))
    return found


def main(folder: Path = HERE) -> None:
    """Simulate 500 samples over 40 s, add noise and write them."""
    np.savetxt(
        folder / "two_point.csv",
        noisy(clean(500), np.random.default_rng(SEED)),
        fmt=["%.6f", "%g", "%g", "%.6f", "%.6f"],
        delimiter=",",
        header="time [s],u1,u2,y1,y2",
        comments="",
    )


if __name__ == "__main__":
    main()
