"""Forecasts: how it goes on after the data."""
