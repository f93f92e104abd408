"""Figures, pages and tables of results; `base/presenters` leads here."""
