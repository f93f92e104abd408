"""Makes step.csv: the current of the true circuit after a step of ten volts, without noise."""

from pathlib import Path

import numpy as np

import estimica as es

TRUTH = {"R1": 0.5, "R2": 1.0, "C": 0.5, "L": 1.0}
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Simulate 100 samples over 20 s and write them."""
    model = es.load_model(HERE.parent / "NonlinearCircuit.mo", "NonlinearCircuit.Circuit")
    times = np.linspace(0.0, 20.0, 100)
    options = es.Options(rtol=1e-11, atol=1e-13)
    run = model.simulate(times, {"u": 10.0}, TRUTH, outputs=["i"], options=options)
    table = np.column_stack([times, run.value("i")])
    np.savetxt(
        folder / "step.csv",
        table,
        fmt="%.12g",
        delimiter=",",
        header="time [s],current [A]",
        comments="",
    )


if __name__ == "__main__":
    main()
