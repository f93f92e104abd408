"""The engine: integration methods, events, delays and their sensitivities, compiled by Numba."""
