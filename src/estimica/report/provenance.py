"""By whom and when a report was made."""

from __future__ import annotations

from datetime import datetime
from importlib.metadata import version


def provenance() -> str:
    """A line for the end of a report."""
    return f"estimica {version('estimica')}, {datetime.now():%Y-%m-%d %H:%M}"
