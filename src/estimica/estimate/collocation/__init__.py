"""Collocation: states are unknowns too, equations are constraints, Ipopt solves it all."""
