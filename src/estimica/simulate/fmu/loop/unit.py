"""FmuUnit: a part of the FMU loop that is compiled when it is first needed, and kept on disk."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from estimica.simulate.engine.units import Unit, engine_stamp, stamp_of


@cache
def _stamp() -> str:
    return stamp_of(engine_stamp(), Path(__file__).parent)


class FmuUnit(Unit):
    """A unit whose disk cache follows the files of the FMU loop."""

    @property
    def stamp(self) -> str:
        """What it was made from."""
        return _stamp()
