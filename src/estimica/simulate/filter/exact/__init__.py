"""Filters of linear models by exact steps."""
