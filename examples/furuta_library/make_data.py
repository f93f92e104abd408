"""Makes horizontal.csv, lower.csv and upright.csv: a pendulum that is let go and swings out.

Both joints stick and slide as the library's BearingFriction does. The angle sensor of the pendulum
wraps around: it shows -180 ... 180 degrees, and the pendulum comes to rest where it jumps.
"""

from pathlib import Path

import numpy as np

import estimica as es

#: the inertia of the arm about its axis is J_c + m_arm r_c^2 of the paper
TRUTH = {
    "I_arm": 0.0014 + 0.165 * 0.1225**2,
    "I_pendulum": 0.002,
    "tau_11": 0.004,
    "tau_12": 0.006,
    "tau_21": 0.0012,
    "tau_22": 0.0018,
}
#: angle in degrees and velocity of the arm, then of the pendulum: let go by hand, not quite at rest
STARTS = {
    "horizontal": (1.0, 0.05, 90.0, 0.10),
    "lower": (-2.0, -0.10, 125.0, -0.15),
    "upright": (-1.5, -0.05, 35.0, 0.20),
}
NOISE = 0.5  # degrees
SEED = 5
HERE = Path(__file__).parent


def main(folder: Path = HERE) -> None:
    """Simulate five seconds each, add noise, wrap the pendulum's angle and write."""
    model = es.load_model(HERE / "FurutaLibrary.mo")
    random = np.random.default_rng(SEED)
    times = np.arange(251) * 0.02
    for name, (phi, w_phi, theta, w_theta) in STARTS.items():
        start = {
            "armJoint.phi": np.radians(phi),
            "armJoint.w": w_phi,
            "pendulumJoint.phi": np.radians(theta),
            "pendulumJoint.w": w_theta,
        }
        run = model.simulate(
            times,
            parameters=TRUTH,
            start=start,
            outputs=["armAngle.phi", "pendulumAngle.phi"],
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
