"""A Modelica class as scalar variables and equations, each with its origin in the source."""
