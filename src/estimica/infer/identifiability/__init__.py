"""Which unknowns the data determine, which no data would, and what would help."""
