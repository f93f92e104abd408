"""Plain Python functions as models."""
