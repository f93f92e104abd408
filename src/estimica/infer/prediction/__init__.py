"""Predictions of measured values from those some samples before."""
