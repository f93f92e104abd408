"""Varying gain: three parameters of a nonlinear system that is given as a Python function."""

from pathlib import Path

import estimica as es

fit = es.fit(es.read_study(Path(__file__).parent / "varying_gain.toml"))
print(fit)
print(es.measures(fit))
