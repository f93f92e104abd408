"""Estimation: from a study to a fit."""
