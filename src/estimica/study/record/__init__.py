"""Data of a case as the estimation needs them: samples, units, noise, filters."""
