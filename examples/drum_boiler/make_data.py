"""Makes run1.csv: power and pressure of the true boiler under steps of valve and fuel."""

from pathlib import Path

import numpy as np

import estimica as es

TRUTH = {
    "T_D": 285.0, "T_R": 19.0, "A4": 0.26, "w_E": 10.0, "w_P": -10.0, "x10": 148.0, "x20": 28.0
}  # fmt: skip
VARIANCES = {"E": 0.5, "P": 10.0}
SEED = 1
HERE = Path(__file__).parent
MODEL = HERE.parents[1] / "src" / "estimica" / "apps" / "cli" / "demo" / "DrumBoiler.mo"


def main(folder: Path = HERE) -> None:
    """Simulate 500 samples over 1000 s, add noise and write them."""
    random = np.random.default_rng(SEED)
    times = np.linspace(0.0, 1000.0, 500)
    step = np.minimum((times // 50).astype(int), 19)  # a new level every 50 s
    valve = random.uniform(0.5, 0.9, 20).round(3)[step]
    fuel = random.uniform(15.0, 35.0, 20).round(2)[step]
    run = es.load_model(MODEL).simulate(
        times,
        {"uc": (times, valve), "fc": (times, fuel)},
        TRUTH,
        outputs=["E", "P"],
        options=es.Options(rtol=1e-10, atol=1e-10),
    )
    noisy = [
        run.value(n) + np.sqrt(VARIANCES[n]) * random.standard_normal(len(times))
        for n in ("E", "P")
    ]
    np.savetxt(
        folder / "run1.csv",
        np.column_stack([times, valve, fuel, *noisy]),
        fmt=["%.10g", "%g", "%g", "%.5f", "%.5f"],
        delimiter=",",
        header="time [s],valve,fuel [kg/s],power [MW],pressure [bar]",
        comments="",
    )


if __name__ == "__main__":
    main()
