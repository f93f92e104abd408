"""Optimica: what an `optimization` class says about parameters, bounds and data, as a study."""
