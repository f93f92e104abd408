"""Inputs of a class that tell most about the tuners."""
