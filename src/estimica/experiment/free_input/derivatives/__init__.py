"""Exact derivatives of the information with respect to the nodes of an input."""
