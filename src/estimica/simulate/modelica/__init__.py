"""Modelica models: simulation, linearisation, frequency, steady state."""
