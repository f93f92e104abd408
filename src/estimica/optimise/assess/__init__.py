"""A design at many values of its parameters: sweeps, Monte Carlo, sensitivities."""
