"""Thermostat: when the heater switches, and how the thresholds move the temperature."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("Thermostat.mo"))
times = np.linspace(0.0, 3600.0, 361)
result = model.sensitivities(times, wrt=["tau", "P", "T_low", "T_high", "T0"], outputs=["T", "on"])
print("the heater switches at", np.round(result.events, 2), "s")
print(result.to_frame().iloc[::30].round(3).to_string())
