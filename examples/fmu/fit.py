"""Fits the room and writes its values as a parameter set for the tools that use the FMU."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
model = es.load_model(here / "rcThermal.fmu")
print(model.parameters[["value", "unit", "why_not"]].to_string())

fit = es.fit(es.read_study(here / "room.toml"))
print(fit)
print("derivatives:", fit.derivatives)
print(fit.write_ssv("room.ssv"))
