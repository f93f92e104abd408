"""Sorted systems on disk: sorting a large class takes longer than all else of a second load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

from estimica import compiled, structure
from estimica.base.process import garbage_collection_paused
from estimica.flat.system import FlatSystem
from estimica.source.cache import (
    UNREADABLE,
    code_version,
    drop_entry,
    key_of,
    read_entry,
    write_entry,
)
from estimica.structure.archive import from_archive, to_archive
from estimica.structure.causality.demand import Causality
from estimica.structure.sorted_system import SortedSystem

_KIND = "sorted"
#: below this number of variables nothing is kept. Chosen: such models are typed at a prompt, by the
#: dozen, and would push others out; what sorting imports takes longer than reading any of them
_SMALL = 4


def cached_sort(
    flat: FlatSystem, causality: Causality, assemble: Callable[[SortedSystem], object]
) -> tuple[FlatSystem, SortedSystem]:
    """The class redefined and sorted, from disk where the same class was sorted before.

    What is sorted anew is assembled, too, before it is kept: what comes from disk is known to be a
    model, and whoever loads it need not wait until its equations are written once more.
    """
    if not flat.key or len(flat.variables) < _SMALL:
        return sorted_anew(flat, causality, assemble)
    version = code_version(Path(structure.__file__).parent, Path(compiled.__file__).parent)
    key = key_of("sorted", flat.key, version, astuple(causality))
    found = _recalled(key, flat)
    if found is None:
        found = sorted_anew(flat, causality, assemble)
        write_entry(_KIND, key, to_archive(flat, *found).encode())
    return found


def sorted_anew(
    flat: FlatSystem, causality: Causality, assemble: Callable[[SortedSystem], object]
) -> tuple[FlatSystem, SortedSystem]:
    """The class redefined, sorted, and assembled for a trial."""
    from estimica.structure.sort import sort_redefined  # slow to import

    found = sort_redefined(flat, causality)
    assemble(found[1])
    return found


def _recalled(key: str, flat: FlatSystem) -> tuple[FlatSystem, SortedSystem] | None:
    content = read_entry(_KIND, key)
    if content is None:
        return None
    try:
        with garbage_collection_paused():
            return from_archive(content.decode(), flat)
    except UNREADABLE:
        drop_entry(_KIND, key)
        return None
