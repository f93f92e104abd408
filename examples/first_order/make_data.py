"""Makes square_wave.csv and step.csv: the answers of 1/(1 + 2s), with noise."""

from pathlib import Path

import numpy as np

import estimica as es

TRUTH = {"K": 1.0, "tau": 2.0}
SIGMA = 0.02
SEED = 9
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """A square wave of 0.05 Hz over 1000 samples, and a step of 2 with a delay of 0.7 s."""
    square = es.simulate_experiment(
        es.transfer_function("K/(1 + tau*s)"),
        {"u": es.signals.Square(0.05)},
        es.signals.times(0.1, 1000),
        TRUTH,
        noise=SIGMA,
        seed=SEED,
    )
    step = es.simulate_experiment(
        es.transfer_function("exp(-T*s)*K/(1 + tau*s)"),
        {"u": es.signals.Step(begin=5.0, amplitude=2)},
        es.signals.times(0.1, 300),
        TRUTH | {"T": 0.7},
        noise=SIGMA,
        seed=SEED,
    )
    for data, name in ((square, "square_wave"), (step, "step")):
        np.savetxt(
            folder / f"{name}.csv",
            np.column_stack([data.column(n) for n in ("time", "u", "y")]),
            fmt=["%.1f", "%g", "%.5f"],
            delimiter=",",
            header="time [s],u,y",
            comments="",
        )


if __name__ == "__main__":
    main()
