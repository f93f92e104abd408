"""Connections: sets of connectors and the equations that they mean."""
