"""The process that compiles one unit of the engine and keeps it on disk: PARENT MODULE FUNCTION."""

from __future__ import annotations

import importlib
import sys

from estimica.base.process import end_with_parent


def main(parent: str, module: str, function: str) -> None:
    """Compile the unit of a function, unless the process PARENT, which wants it, is gone."""
    end_with_parent(int(parent))
    from estimica.simulate.engine.units import Unit  # takes a while

    for unit in vars(importlib.import_module(module)).values():
        if isinstance(unit, Unit) and unit.name == function:
            unit.compile_here()
            return
    raise SystemExit(f"module {module} has no unit {function}")


if __name__ == "__main__":
    main(*sys.argv[1:])
