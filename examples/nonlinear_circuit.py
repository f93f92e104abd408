"""Nonlinear circuit: a step of ten volts, and the current's derivatives by R1, R2, C and L."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("NonlinearCircuit.mo"), "NonlinearCircuit.Circuit")
times = np.linspace(0.0, 10.0, 201)
result = model.sensitivities(
    times, inputs={"u": 10.0}, wrt=["R1", "R2", "C", "L"], outputs=["i", "resistor.u"]
)
print(result.to_frame().iloc[::20].round(5))

# In the end the inductor carries no voltage, so that R1 i + R2 i^5 = 10 V.
i = result.value("i")[-1]
print(f"at the end: i = {i:.4f} A, R1 i + R2 i^5 = {0.5 * i + i**5:.3f} V")
