"""Fits two patients with doses, a signal of unknown scale, and a rate of each patient's own."""

from pathlib import Path

import estimica as es

fit = es.fit(es.read_study(Path(__file__).parent / "dosing.toml"))
print(fit)
print(es.profile(fit, "k_anna"))
