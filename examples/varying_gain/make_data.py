"""Makes square_ramp.csv: the answer of the true system to a square wave that grows, with noise."""

from pathlib import Path

import numpy as np

import estimica as es
from estimica.simulate.function.model import function_model_of_file

TRUTH = {"k0": 1.5, "k1": 4.0, "tau": 2.0}
SIGMA = 0.1
SEED = 18
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """1000 samples over 100 s of a 0.05 Hz square wave that grows to 6."""
    data = es.simulate_experiment(
        function_model_of_file("kutau.py:kutau", HERE),
        {"u": es.signals.SquareRamp(0.05, duration=100, amplitude=6)},
        es.signals.times(0.1, 1000),
        TRUTH,
        noise=SIGMA,
        seed=SEED,
    )
    np.savetxt(
        folder / "square_ramp.csv",
        np.column_stack([data.column(n) for n in ("time", "u", "y")]),
        fmt=["%.1f", "%.6g", "%.4f"],
        delimiter=",",
        header="time [s],u,y",
        comments="",
    )


if __name__ == "__main__":
    main()
