"""Figures as files: PNG, SVG, PDF."""
