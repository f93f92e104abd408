"""Which fixed unknowns are worth freeing, one step after the other."""
