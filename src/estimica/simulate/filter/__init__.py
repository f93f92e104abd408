"""Filters: models whose states are uncertain, and what measured values tell of them."""
