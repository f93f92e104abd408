"""Sensitivity measures of the outputs with respect to the unknowns."""
