"""Makes twenty-four points of the condenser at rest, with noise, and a step of the air speed."""

from pathlib import Path

import numpy as np

import estimica as es

HERE = Path(__file__).parent
TRUE = {"C1": 0.36, "C2": 0.55, "C3": 95.0, "C4": 1.72, "C_wall": 3200.0}
NOISE = {"Q": 40.0, "dp": 1.0}


def points() -> dict[str, np.ndarray]:
    """Six speeds of the air at four states of the refrigerant."""
    rng = np.random.default_rng(6)
    v = np.tile([1.5, 2.5, 3.5, 4.5, 6.0, 8.0], 4)
    return {
        "v": np.round(v + rng.normal(0, 0.05, 24), 3),
        "T_air": np.round(303 + rng.normal(0, 0.2, 24), 2),
        "T_sat": np.round(np.repeat([323.0, 328.0, 333.0, 338.0], 6) + rng.normal(0, 0.3, 24), 2),
        "m_ref": np.round(np.repeat([0.055, 0.065, 0.075, 0.09], 6), 4),
        "h_in": np.round(4.5e5 + rng.normal(0, 300, 24), 0),
    }


def steady(folder: Path) -> None:
    """Points at rest."""
    rng = np.random.default_rng(7)
    given = points()
    model = es.load_model(HERE / "Condenser.mo").at_points("steady")
    found = model.evaluate(given, TRUE, outputs=["Q", "dp"])
    measured = [found[n].to_numpy() + rng.normal(0, s, 24) for n, s in NOISE.items()]
    np.savetxt(
        folder / "points.csv",
        np.column_stack([*given.values(), *measured]),
        fmt=["%g"] * 5 + ["%.1f", "%.2f"],
        delimiter=",",
        header="v [m/s],T_air [K],T_sat [K],m_ref [kg/s],h_in [J/kg],Q [W],dp [Pa]",
        comments="",
    )


def transient(folder: Path) -> None:
    """The air speeds up and slows down again; two minutes."""
    rng = np.random.default_rng(8)
    times = np.arange(0, 120, 1.0)
    v = np.select([times < 30, times < 75], [2.5, 6.0], 4.0)
    inputs = {"v": (times, v), "T_air": 303.0, "T_sat": 330.0, "m_ref": 0.07, "h_in": 4.5e5}
    model = es.load_model(HERE / "Condenser.mo")
    run = model.simulate(times, inputs, parameters=TRUE, outputs=["Q", "dp"])
    measured = [run.value(n) + rng.normal(0, s, len(times)) for n, s in NOISE.items()]
    np.savetxt(
        folder / "step.csv",
        np.column_stack([times, v, *measured]),
        fmt=["%g", "%g", "%.1f", "%.2f"],
        delimiter=",",
        header="time [s],v [m/s],Q [W],dp [Pa]",
        comments="",
    )


def main(folder: Path = HERE) -> None:
    """Write both records."""
    steady(folder)
    transient(folder)


if __name__ == "__main__":
    main()
