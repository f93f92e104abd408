"""Noise in one state at a time: which one helps most."""
