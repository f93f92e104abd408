"""First order: a step read with ruler and pencil, then a square wave fitted by Gauss-Newton."""

from pathlib import Path

import estimica as es

here = Path(__file__).parent
guess = es.first_guess(es.read_data(here / "step.csv"), "u", "y")
print(guess)

fit = es.fit(es.read_study(here / "first_order.toml"))
for iteration in fit.iterations:
    print(iteration.number, iteration.cost, iteration.values)
print(fit)
print(es.measures(fit))
