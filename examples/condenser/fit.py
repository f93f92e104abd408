"""Condenser: heat transfer and pressure drop from points at rest, then what they leave open."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
fit = es.fit(es.read_study(here / "condenser.toml"))
print(fit)

step = es.read_study(here / "step.toml")
second = es.second_model(fit, step)  # C_wall was held: does it matter in the transient?
print(second)

held = [es.Tuner(name, start=value, active=False) for name, value in fit.estimates.items()]
print(es.fit(step.with_(tuners=[*step.tuners, *held])).parameters[["value", "stderr"]])
