"""A first guess from a measured step response."""
