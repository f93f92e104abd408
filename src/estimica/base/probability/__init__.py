"""Distributions: their functions, without waiting for what else SciPy has."""
