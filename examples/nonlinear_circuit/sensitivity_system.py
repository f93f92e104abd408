"""The nonlinear circuit and its sensitivity equations as one Modelica class, simulated as such.

The class is what `estimica sensitivity-system` writes. Its derivatives are compared with those that
the engine integrates by itself.
"""

from pathlib import Path

import numpy as np

import estimica as es

HERE = Path(__file__).parent
TUNERS = ["R1", "R2", "C", "L"]


def main() -> dict[str, float]:
    """The largest difference of each sensitivity, over its largest value."""
    circuit = es.load_model(HERE.parent / "NonlinearCircuit.mo", "NonlinearCircuit.Circuit")
    written = circuit.sensitivity_system(TUNERS)
    extended = es.load_model(written.text)
    times = np.linspace(0.0, 20.0, 201)
    names = [written.sensitivities["i", tuner] for tuner in TUNERS]
    options = es.Options(rtol=1e-8, atol=1e-10)
    run = extended.simulate(times, {"u": 10.0}, outputs=names, options=options)
    engine = circuit.sensitivities(times, {"u": 10.0}, wrt=TUNERS, outputs=["i"], options=options)
    differences = {}
    for tuner, name in zip(TUNERS, names, strict=True):
        exact = engine.derivative("i", tuner)
        off = np.abs(run.value(name) - exact).max() / np.abs(exact).max()
        print(f"{name}: up to {np.abs(exact).max():.4g}, differs by {off:.1e} of it")
        differences[tuner] = float(off)
    return differences


if __name__ == "__main__":
    main()
