"""From Modelica source to a flat system."""
