"""Which unknowns the data determine, from derivatives at the optimum."""
