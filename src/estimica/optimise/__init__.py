"""Designs: criteria of trajectories, the search for the best tuners, assessment over many."""

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """`es.optimise(study)` works whether or not the room of that name was imported before."""

    def __call__(self, *given: Any, **settings: Any) -> Any:
        from estimica.optimise.optimum.run import optimise

        return optimise(*given, **settings)


sys.modules[__name__].__class__ = _Room
