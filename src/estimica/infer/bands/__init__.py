"""Bands: how far simulated outputs are uncertain."""
