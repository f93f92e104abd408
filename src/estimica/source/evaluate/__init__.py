"""Expressions, statements and functions of the syntax tree as values."""
