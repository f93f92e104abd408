"""Base Modelica: from text to a flat system."""
