"""Filters of models without equations: FMUs and Python functions, followed by differences."""
