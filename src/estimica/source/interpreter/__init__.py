"""Expressions, functions and statements of a flat model, evaluated while it is decoded."""
