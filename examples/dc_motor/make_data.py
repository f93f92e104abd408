"""Makes square_wave.csv and staircase.csv: two motors under voltage, with noise."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import estimica as es
from estimica.experiment.waveforms.base import Waveform

DISC = 0.5 * 2.5e3 * np.pi * 0.1**4 * 0.002  # kg m², aluminium, radius 0.1 m, 2 mm thick
TRUTH = {"R": 1.2, "K": 0.030, "J": 8e-5 + DISC, "B": 5e-5}
NONLINEAR = {"G0": 0.5, "G1": 1.6, "u1": 3.0, "K": 0.030, "J": 8e-5 + DISC, "B": 5e-5, "Tc": 0.025}
SIGMA = {"i": 0.05, "w": 1.0}
SEED = 10
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """A square wave of ±10 V for the linear motor; stairs up to 12 V and back for the other."""
    square = es.signals.Square(0.2, amplitude=10)
    write(folder / "square_wave.csv", "Linear", TRUTH, square, 1000)
    stairs = es.signals.Staircase(4, 23.0, down=True, amplitude=12, begin=0.5)
    write(folder / "staircase.csv", "Nonlinear", NONLINEAR, stairs, 2400)


def write(path: Path, class_: str, truth: Mapping[str, float], u: Waveform, count: int) -> None:
    """Simulate, add noise and write."""
    data = es.simulate_experiment(
        es.load_model(HERE / "DCMotor.mo", f"DCMotor.{class_}"),
        {"u": u},
        es.signals.times(0.01, count),
        truth,
        noise=SIGMA,
        seed=SEED,
        options=es.Options(rtol=1e-9, atol=1e-11),
    )
    np.savetxt(
        path,
        np.column_stack([data.column(n) for n in ("time", "u", "i", "w")]),
        fmt=["%.2f", "%g", "%.4f", "%.3f"],
        delimiter=",",
        header="time [s],voltage [V],current [A],speed [rad/s]",
        comments="",
    )


if __name__ == "__main__":
    main()
