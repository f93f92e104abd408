"""Fits of simulated data: how estimates scatter."""
