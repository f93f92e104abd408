"""Size of a MATLAB file: its arrays counted by their headers, before their numbers are unpacked.

Version 5 packs each array by itself (MATLAB, "MAT-File Format", 2019, ch. 1): a tag with type and
length, in it flags, dimensions and name, and in structs and cell arrays further arrays. Version 4
packs nothing, 7.3 is HDF5.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from estimica.base.errors import DataError
from estimica.data.requirements import cell_limit, require_total_cells

_HEADER = 128  # bytes of text, version and byte order
_MATRIX, _COMPRESSED = 14, 15
_HOLDERS = (1, 2, 3)  # classes of cell arrays, structs and objects
_CHUNK = 1 << 16
_CELL = 8  # bytes
#: cells as which an array counts at least: it is an object of its own, some 120 bytes
_LEAST = 16
#: arrays in arrays; the reader calls itself for each, and its stack is not endless
DEPTH = 64


def require_small_mat5(path: Path, file: BinaryIO) -> None:
    """Refuse a file of version 4 or 5 whose arrays would not fit."""
    file.seek(0)
    header = file.read(_HEADER)
    if 0 in header[:4] or len(header) < _HEADER:  # version 4 begins with a small number
        from scipy.io import whosmat

        file.seek(0)
        sizes = [float(math.prod(shape)) for _, shape, _ in whosmat(file)]
        require_total_cells(path, sizes, "numbers")
        return
    order = "<" if header[126:128] == b"IM" else ">"
    total = 0.0
    try:
        for stream in _streams(file, order):
            for cells in _arrays(path, stream):
                total += cells
                require_total_cells(path, [total], "numbers")
            # the reader believes inner lengths where outer ones are too short
            stream.skip_to(_CELL * cell_limit() + 1)
            require_total_cells(path, [stream.at / _CELL], "numbers")
    except (struct.error, zlib.error):
        return  # damaged: whoever reads it says so


def _streams(file: BinaryIO, order: str) -> Iterator[_Stream]:
    """Each array of the file, unpacked bit by bit."""
    while len(tag := file.read(8)) == 8:
        kind, size = struct.unpack(order + "II", tag)
        end = file.tell() + size
        if kind == _COMPRESSED:
            yield _Stream(_unpacked(file, size), order)
        elif kind == _MATRIX:
            yield _Stream(_pieces(file, size, tag), order)
        file.seek(end)


def _arrays(path: Path, stream: _Stream) -> Iterator[float]:
    """The cells of every array of a stream, those within structs and cell arrays too."""
    open_until = [math.inf]  # where each array that holds others ends
    while True:
        while stream.at >= open_until[-1]:
            open_until.pop()
        if len(open_until) > DEPTH:
            raise DataError(
                "D021", f"'{path}' holds arrays within arrays, more than {DEPTH} deep; flatten them"
            )
        tag = stream.tag()
        if tag is None:
            return
        kind, size = tag
        end = stream.at + size
        if kind == _MATRIX and size:
            about, shape = stream.declared()
            if about in _HOLDERS:
                open_until.append(end)
                yield _LEAST
                continue
            yield max(_LEAST, math.prod(shape), size / _CELL)
        stream.skip_to(end)
        if len(open_until) == 1:
            return


@dataclass(eq=False, slots=True)
class _Stream:
    """Bytes that come piece by piece, and how many have passed."""

    pieces: Iterator[bytes]
    order: str
    at: int = 0
    ready: bytes = b""

    def take(self, count: int) -> bytes:
        while len(self.ready) < count and (piece := next(self.pieces, b"")):
            self.ready += piece
        taken, self.ready = self.ready[:count], self.ready[count:]
        self.at += len(taken)
        return taken

    def skip_to(self, end: int) -> None:
        while self.at < end and self.take(min(end - self.at, _CHUNK)):
            pass

    def tag(self) -> tuple[int, int] | None:
        """Type and padded length of what follows; a short one holds its content itself."""
        head = self.take(8)
        if len(head) < 8:
            return None
        kind, size = struct.unpack(self.order + "II", head)
        return (kind & 0xFFFF, 0) if kind >> 16 else (kind, size + -size % 8)

    def declared(self) -> tuple[int, tuple[int, ...]]:
        """Class and dimensions of an array, of which the tag has been read."""
        _, _, flags, _ = struct.unpack(self.order + "4I", self.take(16))
        tag = self.tag()
        size = min(tag[1] if tag else 0, 256)  # NumPy has no more than 64 dimensions
        shape = struct.unpack(f"{self.order}{size // 4}I", self.take(size))
        return flags & 0xFF, shape


def _pieces(file: BinaryIO, size: int, first: bytes) -> Iterator[bytes]:
    yield first
    while size > 0 and (piece := file.read(min(size, _CHUNK))):
        size -= len(piece)
        yield piece


def _unpacked(file: BinaryIO, size: int) -> Iterator[bytes]:
    unpack = zlib.decompressobj()
    for piece in _pieces(file, size, b""):
        while piece:
            unpacked = unpack.decompress(piece, _CHUNK)
            if unpacked:
                yield unpacked
            piece = unpack.unconsumed_tail


def require_small_hdf5(path: Path, root: Any, h5py: Any) -> None:
    """Refuse a file of version 7.3 whose arrays would not fit, or that leads round in circles."""
    total = 0.0
    pending = [root]
    seen = {h5py.h5o.get_info(root.id).addr}
    while pending:
        group = pending.pop()
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                continue  # refused where it is read
            item = group[name]
            if isinstance(item, h5py.Group):
                place = h5py.h5o.get_info(item.id).addr
                if isinstance(link, h5py.SoftLink) or place in seen or len(seen) > DEPTH**2:
                    raise DataError(
                        "D021",
                        f"'{path}': the group '{item.name}' is reached twice, or there are more "
                        f"than {DEPTH**2}; keep only what the study needs",
                    )
                seen.add(place)
                pending.append(item)
            elif isinstance(item, h5py.Dataset):
                size = math.prod(item.shape or ()) * max(1.0, item.dtype.itemsize / 8)
                total += max(_LEAST, size)
                require_total_cells(path, [total], "numbers")
