"""Four-state benchmark: all outputs by all twelve parameters under two steps."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("FourStates.mo"))
times = np.linspace(0.0, 40.0, 301)
inputs = {"u1": ([0.0, 5.0], [0.0, 1.0]), "u2": ([0.0, 25.0], [0.0, 1.0])}
wrt = ["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "x10", "x20", "x30", "x40"]
result = model.sensitivities(times, inputs, wrt=wrt, outputs=["x1", "x2", "x3", "x4"])
print(result.to_frame()[["x1", "x2", "x3", "x4"]].iloc[::30].round(4).to_string())
print("condition of the Jacobian:", np.linalg.cond(result.jacobian.reshape(-1, len(wrt))))
