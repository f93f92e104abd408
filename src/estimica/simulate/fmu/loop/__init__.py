"""The loop around an FMU, compiled by Numba: steps, events, samples."""
