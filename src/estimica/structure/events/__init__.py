"""Discrete behaviour: conditions, whens, delays, values before."""
