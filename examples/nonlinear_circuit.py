"""Nonlinear circuit: a step of ten volts, and the current's derivatives by R1, R2, C and L."""

from pathlib import Path

import numpy as np

import estimica as es

source = Path(__file__).with_name("NonlinearCircuit.mo")
wrt = ["R1", "R2", "C", "L"]

series = es.load_model(source, "NonlinearCircuit.Circuit")
result = series.sensitivities(np.linspace(0.0, 20.0, 201), {"u": 10.0}, wrt=wrt, outputs=["i"])
print("in series:")
print(result.to_frame().iloc[::20].round(5).to_string())

# In parallel the capacitor fixes the resistor's voltage, and its current must be solved for.
parallel = es.load_model(source, "NonlinearCircuit.ParallelCircuit")
result = parallel.sensitivities(
    np.linspace(0.0, 10.0, 201), {"u": 10.0}, wrt=wrt, outputs=["i", "resistor.i"]
)
print("in parallel:")
print(result.to_frame().iloc[::20].round(5).to_string())
