"""Inputs that are free at every node: the optimal one for a criterion of information."""
