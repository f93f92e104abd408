"""Robertson's kinetics: stiff over ten decades of time."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("Robertson.mo"))
times = np.concatenate([[0.0], np.logspace(-5, 5, 60)])
result = model.sensitivities(times, wrt=["k1", "k2", "k3"], outputs=["A", "B", "C"])
print(result.to_frame().iloc[::6].to_string())
print("mass is kept to", np.abs(result.values.sum(axis=1) - 1).max())
