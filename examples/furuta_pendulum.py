"""Furuta pendulum: it falls from 2 rad; without friction its energy stays what it was."""

from pathlib import Path

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("FurutaPendulum.mo"))
times = np.linspace(0.0, 5.0, 501)
outputs = ["phi", "theta", "energy"]

free = model.simulate(
    times,
    inputs={"tau": 0.0},
    parameters={"d_phi": 0.0, "d_theta": 0.0},
    outputs=outputs,
    options=es.Options(rtol=1e-9),
)
print(f"energy without friction: {np.ptp(free.value('energy')):.1e} J apart at most")

pulse = (np.array([0.0, 0.5, 1.0]), np.array([0.05, -0.05, 0.0]))
driven = model.sensitivities(times, {"tau": pulse}, wrt=["m", "l", "J", "theta0"], outputs=outputs)
print(driven.to_frame().iloc[::50].round(4).to_string())
