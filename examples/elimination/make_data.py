"""Makes blood.csv: concentrations in duplicate, with noise that grows and a limit of detection."""

from pathlib import Path

import numpy as np

TRUTH = {"V": 20.0, "k": 0.3, "floor": 0.02, "share": 0.08}
LIMIT = 0.1  # mg/l
SEED = 7
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Sample the true course twice at every time; what is below the limit becomes the limit."""
    random = np.random.default_rng(SEED)
    time = np.repeat([0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 20], 2)
    c = 100 / TRUTH["V"] * np.exp(-TRUTH["k"] * time)
    noise = (TRUTH["floor"] + TRUTH["share"] * c) * random.standard_normal(len(time))
    np.savetxt(
        folder / "blood.csv",
        np.column_stack([time, np.maximum(c + noise, LIMIT)]),
        fmt="%.6g",
        delimiter=",",
        header="time,concentration",
        comments="",
    )


if __name__ == "__main__":
    main()
