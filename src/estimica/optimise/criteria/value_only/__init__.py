"""Criteria without gradients, compiled: many designs, quickly."""
