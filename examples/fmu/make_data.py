"""Makes room.csv: two days of a heated room, a sample every ten minutes, with noise."""

from pathlib import Path

import numpy as np

import estimica as es

HERE = Path(__file__).parent
TRUTH = {
    "air.C": 5.2e5,
    "wall.C": 7.1e6,
    "wall.R": 3.4e-3,
    "wall.R_out": 1.25e-2,
    "window.A": 1.6,
    "heater.gain": 0.95,
}
START = {"air.T": 292.4, "wall.T": 288.9}
SIGMA = {"T_room": 0.05, "T_wall": 0.1}
SEED = 12


def main(folder: Path = HERE) -> None:
    """The FMU itself is the room, with values that nobody has been told."""
    time = 600.0 * np.arange(289)
    hours = time / 3600
    random = np.random.default_rng(SEED)
    heater = 2000.0 * np.repeat(random.random(49) > 0.5, 6)[: time.size]
    sun = np.round(450 * np.maximum(0, np.sin(2 * np.pi * (hours - 6) / 24)))
    outside = np.round(277.15 + 5 * np.sin(2 * np.pi * (hours - 9) / 24), 1)
    data = es.simulate_experiment(
        es.load_model(folder / "rcThermal.fmu"),
        {"T_out": outside, "P_heat": heater, "sun": sun},
        time,
        TRUTH,
        noise=SIGMA,
        seed=SEED,
        outputs=["T_room", "T_wall"],
        start=START,
    )
    names = ("time", "T_out", "P_heat", "sun", "T_room", "T_wall")
    np.savetxt(
        folder / "room.csv",
        np.column_stack([data.column(n) for n in names]),
        fmt=["%.0f", "%.1f", "%.0f", "%.0f", "%.3f", "%.3f"],
        delimiter=",",
        header="time [s],outside [K],heater [W],sun [W/m2],room [K],wall [K]",
        comments="",
    )


if __name__ == "__main__":
    main()
