"""Bouncing ball: bounces against the closed form, and what happens where they pile up."""

from pathlib import Path

import numpy as np

import estimica as es

source = Path(__file__).with_name("BouncingBall.mo")
ball = es.load_model(source, "BouncingBall.Ball")
result = ball.sensitivities(np.linspace(0.0, 3.0, 301), wrt=["e", "g", "h0"], outputs=["h"])

fall = np.sqrt(2 / 9.81)
flights = 2 * fall * 0.8 ** np.arange(1, len(result.events))  # between one bounce and the next
exact = np.cumsum([fall, *flights])
print("bounces at", np.round(result.events, 6), "s")
print("off by at most", np.abs(np.array(result.events) - exact).max(), "s")

try:
    ball.simulate([0.0, 10.0])
except es.SimulationError as error:
    print("until 10 s:", error)

resting = es.load_model(source, "BouncingBall.RestingBall").simulate(np.linspace(0.0, 6.0, 301))
print("with a rest: height at the end", resting.value("h")[-1], "m")
