"""Makes forty points of the warm resistor; current and voltage are both measured with errors."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
R0, ALPHA = 12.0, 0.02
ERRORS = {"current": 0.06, "voltage": 0.2}


def main(folder: Path = HERE) -> None:
    """v = R0 (1 + alpha v i) i, solved for v."""
    rng = np.random.default_rng(5)
    i = np.linspace(0.1, 1.4, 40)
    v = R0 * i / (1 - R0 * ALPHA * i**2)
    measured = [i + rng.normal(0, ERRORS["current"], 40), v + rng.normal(0, ERRORS["voltage"], 40)]
    np.savetxt(
        folder / "points.csv",
        np.column_stack(measured),
        fmt="%.3f",
        delimiter=",",
        header="current [A],voltage [V]",
        comments="",
    )


if __name__ == "__main__":
    main()
