"""Planar pendulum in Cartesian coordinates: a DAE of index three that keeps its length."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("Pendulum.mo"))
print("states that were chosen:", ", ".join(model.states.index))

times = np.linspace(0.0, 10.0, 501)
result = model.sensitivities(
    times, wrt=["L", "g", "d", "phi0"], outputs=["x", "y", "F"], options=es.Options(rtol=1e-8)
)
length = np.hypot(result.value("x"), result.value("y"))
print(f"the length stays within {np.abs(length - 1).max():.1e} m of one metre")
print(result.to_frame().iloc[::50].round(4).to_string())
