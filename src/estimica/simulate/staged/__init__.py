"""Experiments in stages: changes of parameters and states at given times."""
