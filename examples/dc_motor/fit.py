"""DC motor: four parameters need both outputs; friction and conductance need a staircase."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
linear = es.read_study(here / "linear.toml")
print(es.fit(linear))

(case,) = linear.cases
speed = es.Case("speed alone", case.data, inputs={"u": "voltage"}, outputs={"w": "speed"})
blind = es.fit(linear.with_(cases=[speed]))
for advice in blind.identifiability.advice:
    print(advice)

print(es.fit(es.read_study(here / "nonlinear.toml")))
