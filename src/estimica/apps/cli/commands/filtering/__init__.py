"""Commands on fits with noise in the states."""
