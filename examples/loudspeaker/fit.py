"""Loudspeaker: five parameters, seven with a force factor that falls, and one that drifts."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
for name in ("linear", "nonlinear"):
    print(es.fit(es.read_study(here / f"{name}.toml")))

warming = es.fit(es.read_study(here / "warming.toml"))
print(warming)
found = es.measures(warming)
print(f"R is off by about {100 * found.equivalent_error[0]:.1f} % if the model is to blame")
