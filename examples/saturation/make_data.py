"""Makes square_wave.csv: the loop with a saturating amplifier under a square wave, with noise."""

from pathlib import Path

import numpy as np

import estimica as es

TRUTH = {"e0": 0.5, "v0": 1.0, "tau": 5.0}
SIGMA = {"y": 0.02, "v": 0.02}
SEED = 5
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """1000 samples over 100 s of a 0.03 Hz square wave."""
    data = es.simulate_experiment(
        es.load_model(HERE / "Saturation.mo"),
        {"u": es.signals.Square(0.03, amplitude=2)},
        es.signals.times(0.1, 1000),
        TRUTH,
        noise=SIGMA,
        seed=SEED,
        options=es.Options(rtol=1e-10, atol=1e-12),
    )
    np.savetxt(
        folder / "square_wave.csv",
        np.column_stack([data.column(n) for n in ("time", "u", "y", "v")]),
        fmt=["%.1f", "%g", "%.5f", "%.5f"],
        delimiter=",",
        header="time [s],u,y,v",
        comments="",
    )


if __name__ == "__main__":
    main()
