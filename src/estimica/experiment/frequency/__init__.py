"""Frequency responses with their uncertainty from records over time."""
