"""Multiple shooting: segments with states of their own, joined at the optimum."""
