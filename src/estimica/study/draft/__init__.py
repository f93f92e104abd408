"""A first study file from a model and its data."""
