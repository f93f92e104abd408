"""The process that compiles one unit of the engine and keeps it on disk: MODULE FUNCTION."""

from __future__ import annotations

import importlib
import sys

from estimica.base.python_child import end_with_parent
from estimica.simulate.calls import Unit


def main(module: str, function: str) -> None:
    """Compile the unit of a function."""
    end_with_parent()
    for unit in vars(importlib.import_module(module)).values():
        if isinstance(unit, Unit) and unit.name == function:
            unit.compile_here()
            return
    raise SystemExit(f"module {module} has no unit {function}")


if __name__ == "__main__":
    main(*sys.argv[1:])
