"""Handover: a fit as DataFrames, and as other libraries want it."""
