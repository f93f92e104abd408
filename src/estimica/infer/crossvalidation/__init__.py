"""Fits without some of the data, which they then predict."""
