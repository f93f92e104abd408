"""Measurements of the drum boiler, made by simulation: known truth, seeded noise.

    python -m estimica.apps.cli.demo.boiler run1.csv

Truth and noise are those of E. Palmkvist, Lund University, 2014, table 5.19.
"""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.files.write import make_folder, write_text
from estimica.data.writers import write_csv

TRUTH = {
    "T_D": 285.0,
    "T_R": 19.0,
    "A4": 0.26,
    "w_E": 10.0,
    "w_P": -10.0,
    "x10": 148.0,
    "x20": 28.0,
}
VARIANCES = {"E": 0.5, "P": 10.0}
UNITS = {"time": "s", "valve": "1", "fuel": "kg/s", "power": "MW", "pressure": "bar"}
# chosen: a record three times as long as T_D, and inputs held for more than twice T_R
SAMPLES = 500
DURATION = 1000.0  # s
STEPS = 20  # changes of each input


def boiler_data(seed: int = 1) -> dict[str, Vector]:
    """Columns time, valve, fuel, power and pressure, the last two with white Gaussian noise."""
    from estimica.simulate.engine.options import Options
    from estimica.simulate.load import load_model

    random = np.random.default_rng(seed)
    time = np.linspace(0.0, DURATION, SAMPLES)
    held = np.minimum((time * STEPS / DURATION).astype(int), STEPS - 1)
    valve = random.uniform(0.5, 0.9, STEPS)[held]
    fuel = random.uniform(15.0, 35.0, STEPS)[held]
    with as_file(files("estimica.apps.cli.demo").joinpath("DrumBoiler.mo")) as path:
        model = load_model(path)
    run = model.simulate(
        time,
        {"uc": (time, valve), "fc": (time, fuel)},
        TRUTH,
        outputs=list(VARIANCES),
        options=Options(rtol=1e-9),
    )
    noisy = {
        name: run.value(name) + np.sqrt(variance) * random.standard_normal(SAMPLES)
        for name, variance in VARIANCES.items()
    }
    return {
        "time": time,
        "valve": valve,
        "fuel": fuel,
        "power": noisy["E"],
        "pressure": noisy["P"],
    }


def write_demo(folder: str | Path, seed: int = 1) -> Path:
    """Write model, data and study into a folder; returns the study file."""
    folder = Path(folder)
    make_folder(folder)
    for name in ("DrumBoiler.mo", "boiler.toml"):
        text = files("estimica.apps.cli.demo").joinpath(name).read_text(encoding="utf-8")
        write_text(folder / name, text)
    write_csv(folder / "run1.csv", boiler_data(seed), units=UNITS)
    return folder / "boiler.toml"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("run1.csv")
    write_csv(target, boiler_data(int(sys.argv[2]) if len(sys.argv) > 2 else 1), units=UNITS)
