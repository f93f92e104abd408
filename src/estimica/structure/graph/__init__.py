"""Equations and variables as a graph: matching, blocks, tearing, diagnosis."""
