"""Tests between nested fits."""
