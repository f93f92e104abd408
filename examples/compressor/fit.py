"""Compressor: its volumetric efficiency as a formula, and as a Modelica function."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
fit = es.fit(es.read_study(here / "compressor.toml"))
print(fit)
print(fit.evaluations.simulations, "evaluations, each with its Jacobian")
fit.plot(against="n", by="pi")  # three curves over the speed; also kind="residuals", "parity"

function = es.fit(es.read_study(here / "function.toml"))
print(function.parameters[["value", "stderr"]])
