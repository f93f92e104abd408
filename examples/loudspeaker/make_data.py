"""Makes prbs.csv, staircase.csv and warming.csv: three loudspeakers under voltage, with noise."""

from pathlib import Path

import numpy as np

import estimica as es
from estimica.experiment.simulate import SimulatedData
from estimica.experiment.waveforms.base import Waveform

TRUTH = {"m": 0.0125, "r": 5.2, "k": 12e3, "R": 5.0, "Bl": 10.0}
NONLINEAR = TRUTH | {"c1": 1e6, "c2": 2e-4}
WARMING = {"R_cold": 5.0, "R_hot": 8.2, "duration": 1.0}
SEED = 15
HERE = Path(__file__).parent
EXACT = es.Options(rtol=1e-9, atol=1e-13)


def main(folder: Path = HERE) -> None:
    """A binary sequence, stairs up to 8 V and back, and a second of noise that warms the coil."""
    write(
        folder / "prbs.csv", measured("Linear", es.signals.PRBS(7, 1e-3, amplitude=4), 1e-4, 1270)
    )
    stairs = es.signals.Staircase(4, 0.07, down=True, amplitude=8)
    write(folder / "staircase.csv", measured("Nonlinear", stairs, 5e-5, 1400))
    music = es.signals.Noise(5e-4, band=(20, 400), amplitude=4, seed=SEED)
    write(folder / "warming.csv", measured("Warming", music, 5e-4, 2000))


def measured(class_: str, u: Waveform, step: float, count: int) -> SimulatedData:
    """Displacement, velocity and current with noise of 1 % of their spread."""
    truth = {"Linear": TRUTH, "Nonlinear": NONLINEAR, "Warming": WARMING}[class_]
    return es.simulate_experiment(
        es.load_model(HERE / "Loudspeaker.mo", f"Loudspeaker.{class_}"),
        {"u": u},
        es.signals.times(step, count),
        truth,
        noise="1 %",
        seed=SEED,
        options=EXACT,
    )


def write(path: Path, data: SimulatedData) -> None:
    """Millimetres are what one reads off a laser."""
    table = [data.column("time"), data.column("u"), 1e3 * data.column("x"), data.column("v")]
    np.savetxt(
        path,
        np.column_stack([*table, data.column("i")]),
        fmt=["%.5f", "%.5g", "%.6f", "%.6f", "%.6f"],
        delimiter=",",
        header="time [s],voltage [V],displacement [mm],velocity [m/s],current [A]",
        comments="",
    )


if __name__ == "__main__":
    main()
