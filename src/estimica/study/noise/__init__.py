"""Noise in the states of a study, and the tuners that only noise speaks of."""
