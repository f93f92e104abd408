"""Regions: where two unknowns lie together."""
