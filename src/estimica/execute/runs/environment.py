"""What a run was made with: versions, machine, time, command line."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("estimica", "casadi", "numba", "llvmlite", "rumoca", "numpy", "scipy")


def environment(seed: int | None = None) -> dict[str, object]:
    """What the store notes of every run; `seed` is that of its random numbers."""
    return {
        **_versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "command_line": list(sys.argv),
        "folder": os.getcwd(),
        "seed": seed,
    }


@lru_cache(maxsize=1)
def _versions() -> dict[str, str | None]:
    def installed(package: str) -> str | None:
        try:
            return version(package)
        except PackageNotFoundError:
            return None

    return {package: installed(package) for package in PACKAGES}
