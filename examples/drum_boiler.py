"""Drum boiler: power and pressure under steps of valve and fuel, and what each parameter does."""

from importlib.resources import files

import numpy as np

import estimica as es

model = es.load_model(str(files("estimica") / "apps" / "cli" / "demo" / "DrumBoiler.mo"))
print(model.parameters[["value", "unit", "min", "max", "description"]])

random = np.random.default_rng(1)
steps = np.arange(0.0, 1000.0, 50.0)
inputs = {
    "uc": (steps, random.uniform(0.5, 0.9, len(steps))),
    "fc": (steps, random.uniform(15.0, 35.0, len(steps))),
}
times = np.linspace(0.0, 1000.0, 501)
result = model.sensitivities(times, inputs, wrt=["T_D", "T_R", "A4"], outputs=["E", "P"])
print(result.to_frame().iloc[::50].round(4).to_string())

# result.plot().show()  # opens the curves in a browser
