"""A first guess from a measured frequency response."""
