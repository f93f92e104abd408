"""First guesses of parameters from a step or from a Bode diagram."""
