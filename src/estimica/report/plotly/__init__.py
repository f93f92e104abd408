"""Interactive figures."""
