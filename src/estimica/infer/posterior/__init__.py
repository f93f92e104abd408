"""Posterior: how probable values of the unknowns are, given the data and the priors."""
