"""Makes the records of the superheater in cells: one at constant flow, one whose flow steps too."""

from pathlib import Path

import numpy as np

import estimica as es

HERE = Path(__file__).parent
COLUMNS = "time [s],flow [kg/s],inlet [J/kg],gas [K],valve,pressure [Pa],outlet [J/kg]"


def record(flow_steps: bool) -> np.ndarray:
    """1200 s, a sample every 2 s: steps of gas and valve, and of the flow where asked for."""
    times = np.arange(600) * 2.0
    gas = np.select([times < 200, times < 700], [1100.0, 1150.0], 1080.0)
    valve = np.select([times < 400, times < 900], [1.0, 0.9], 1.05)
    flow = np.where((times >= 550) & flow_steps, 110.0, 90.0)
    inlet = np.full_like(times, 2.9e6)
    inputs = {"m_in": flow, "h_in": inlet, "T_gas": gas, "valve": valve}
    run = es.load_model(HERE / "HeatExchanger.mo", "HeatExchanger.Cells").simulate(
        times,
        {name: (times, values) for name, values in inputs.items()},
        outputs=["p", "h_out"],
        options=es.Options(rtol=1e-9, atol=1e-9),
    )
    return np.column_stack([times, flow, inlet, gas, valve, run.value("p"), run.value("h_out")])


def main(folder: Path = HERE) -> None:
    """Simulate without noise and write both records."""
    for name, flow_steps in (("constant_flow.csv", False), ("flow_steps.csv", True)):
        np.savetxt(
            folder / name,
            record(flow_steps),
            fmt=["%g", "%g", "%g", "%g", "%g", "%.1f", "%.2f"],
            delimiter=",",
            header=COLUMNS,
            comments="",
        )


if __name__ == "__main__":
    main()
