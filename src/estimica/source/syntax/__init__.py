"""Modelica text as nodes with positions."""
