"""Makes horizontal.csv and upright.csv: a pendulum that is let go and swings out.

The angle sensor of the pendulum wraps around: it shows -180 ... 180 degrees, and the pendulum
comes to rest where it jumps.
"""

from pathlib import Path

import numpy as np

import estimica as es

#: the inertia of the arm about its axis: J_c + m_arm r_c^2
TRUTH = {"J": 0.0014 + 0.165 * 0.1225**2, "Jp": 0.002, "d_phi": 0.002, "d_theta": 0.0005}
STARTS = {
    "horizontal": {"phi": 0.02, "theta": np.radians(90), "w_phi": 0.05, "w_theta": 0.1},
    "upright": {"phi": -0.03, "theta": np.radians(35), "w_phi": -0.05, "w_theta": 0.2},
}
NOISE = 0.5  # degrees
SEED = 2
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Simulate five seconds each, add noise, wrap the pendulum's angle and write."""
    model = es.load_model(HERE.parent / "FurutaPendulum.mo")
    random = np.random.default_rng(SEED)
    times = np.arange(251) * 0.02
    for name, start in STARTS.items():
        run = model.simulate(
            times,
            {"tau": 0.0},
            TRUTH,
            {n: float(v) for n, v in start.items()},
            outputs=["phi", "theta"],
            options=es.Options(rtol=1e-10, atol=1e-12),
        )
        shown = np.degrees(run.values) + NOISE * random.standard_normal(run.values.shape)
        shown[:, 1] = (shown[:, 1] + 180) % 360 - 180
        np.savetxt(
            folder / f"{name}.csv",
            np.column_stack([times, shown]),
            fmt=["%.2f", "%.1f", "%.1f"],
            delimiter=",",
            header="time [s],arm [deg],pendulum [deg]",
            comments="",
        )


if __name__ == "__main__":
    main()
