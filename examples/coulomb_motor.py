"""DC motor with Coulomb friction: it sticks, breaks loose, reverses and sticks again."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("CoulombMotor.mo"))
times = np.linspace(0.0, 4.0, 401)
voltage = {"time": [0.0, 1.0, 3.0, 4.0], "value": [0.0, 2.0, -2.0, 0.0], "hold": "linear"}
result = model.sensitivities(
    times, {"u": voltage, "load": 0.0}, wrt=["tau_c", "tau_s", "J", "R"], outputs=["w", "i", "mode"]
)
print("stuck, or turning the other way, from", np.round(result.events, 4), "s")
print(result.to_frame().iloc[::40].round(4).to_string())
