"""Makes the data of two patients from the closed form: python make_data.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

UPTAKE, VOLUME, SCALE, OFFSET = 0.9, 30.0, 2.5, 0.4
ELIMINATION = {"anna": 0.12, "bert": 0.25}
DOSES = {"anna": [(0.0, 100.0), (24.0, 100.0)], "bert": [(0.0, 100.0), (12.0, 50.0), (24.0, 50.0)]}
HOURS = np.arange(0.0, 49.0, 2.0)


def blood(hours: np.ndarray, elimination: float, doses: list[tuple[float, float]]) -> np.ndarray:
    """The amount in the blood: every dose adds the same curve, from its own time on."""
    found = np.zeros(len(hours))
    for time, dose in doses:
        since = np.maximum(hours - time, 0.0)
        course = np.exp(-elimination * since) - np.exp(-UPTAKE * since)
        found += dose * UPTAKE / (UPTAKE - elimination) * course
    return found


def main(folder: Path = Path(__file__).parent) -> None:
    """Write one file for each patient."""
    random = np.random.default_rng(7)
    for name, elimination in ELIMINATION.items():
        exact = SCALE * blood(HOURS, elimination, DOSES[name]) / VOLUME + OFFSET
        signal = exact + 0.05 * random.standard_normal(len(HOURS))
        rows = [f"{t:g},{y:.5f}" for t, y in zip(HOURS, signal, strict=True)]
        text = "hour,signal\n" + "\n".join(rows) + "\n"
        (folder / f"{name}.csv").write_text(text)


if __name__ == "__main__":
    main()
