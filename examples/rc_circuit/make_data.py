"""Makes square_wave.csv: the voltages of the true circuit, with noise."""

from pathlib import Path

import numpy as np

import estimica as es

TRUTH = {"R": 900.0, "C": 0.11e-3}
VARIANCE = 0.001
SEED = 1
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Simulate 300 samples over 1.5 s, add noise and write them."""
    random = np.random.default_rng(SEED)
    times = np.arange(300) * 0.005
    source = np.where(times % 0.5 < 0.25, 1.0, 0.0)
    run = es.load_model(HERE / "RCCircuit.mo").simulate(
        times,
        {"V_in": (times, source)},
        TRUTH,
        outputs=["V_out"],
        options=es.Options(rtol=1e-10, atol=1e-12),
    )
    noisy = run.value("V_out") + np.sqrt(VARIANCE) * random.standard_normal(len(times))
    np.savetxt(
        folder / "square_wave.csv",
        np.column_stack([times, source, noisy]),
        fmt=["%.3f", "%g", "%.5f"],
        delimiter=",",
        header="time [s],source [V],capacitor [V]",
        comments="",
    )


if __name__ == "__main__":
    main()
