"""Algebraic unknowns: Newton, a search block by block, and the projection on constraints."""
