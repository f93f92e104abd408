"""Dead-zone circuit: located edges and edges that the integrator passes over give one answer."""

from pathlib import Path

import numpy as np

import estimica as es

source = Path(__file__).with_name("DeadZoneCircuit.mo")
times = np.linspace(0.0, 20.0, 401)
tight = es.Options(rtol=1e-8)
found = {}
for name in ("WithEvents", "WithoutEvents"):
    model = es.load_model(source, f"DeadZoneCircuit.{name}")
    found[name] = model.sensitivities(
        times, inputs={"u": 5.0}, wrt=["R", "d", "C", "L"], outputs=["i"], options=tight
    )
    print(f"{name}: {len(found[name].events)} events")

with_events, without = found.values()
print("largest difference of the current:", np.abs(with_events.values - without.values).max())
print(
    "largest difference of its derivatives:", np.abs(with_events.jacobian - without.jacobian).max()
)
