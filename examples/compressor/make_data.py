"""Makes thirty points of a compressor: ten speeds at three pressure ratios, with noise."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TRUE = {"pi0": 9.0, "a0": 0.92, "a1": 4e-3, "a2": -8e-5}
NOISE = 0.004


def efficiency(n: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """Volumetric efficiency at speed `n` in Hz and pressure ratio `pi`."""
    share = (TRUE["pi0"] - pi) / (TRUE["pi0"] - 1)
    return share**2 * (TRUE["a0"] + TRUE["a1"] * n + TRUE["a2"] * n**2)


def main(folder: Path = HERE) -> None:
    """Speeds and ratios are met within a percent or two, and measured exactly."""
    rng = np.random.default_rng(4)
    n = np.tile(np.linspace(10, 55, 10), 3) + rng.normal(0, 0.3, 30)
    pi = np.repeat([2.0, 2.7, 4.0], 10) + rng.normal(0, 0.02, 30)
    measured = efficiency(n, pi) + rng.normal(0, NOISE, 30)
    np.savetxt(
        folder / "points.csv",
        np.column_stack([n, pi, measured]),
        fmt=["%.2f", "%.3f", "%.4f"],
        delimiter=",",
        header="n [Hz],pi,lambda",
        comments="",
    )


if __name__ == "__main__":
    main()
