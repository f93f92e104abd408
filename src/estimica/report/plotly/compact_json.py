"""Figures as compact JSON: arrays as base64 of single precision where nobody can see more."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

import numpy as np
import plotly.graph_objects as go

SHORT = 24  # numbers that are written as such
SEEN = 2e-7  # of the range: a hundredth of a pixel on the largest screen
DIGITS = 8


def figure_json(figure: go.Figure) -> str:
    """The figure for plotly.js, safe within a script element."""
    compact = _compact(figure.to_plotly_json())
    compact["layout"].pop("template", None)
    text = json.dumps(compact, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "").replace("\u2029", "")


def _compact(value: Any) -> Any:
    if isinstance(value, dict) and "bdata" in value:
        return _array(_unpacked(value))
    if isinstance(value, dict):
        return {k: _compact(v) for k, v in value.items() if v is not None}
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, (list, tuple)):
        return [_compact(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    return value


def _array(value: np.ndarray) -> Any:
    if value.dtype.kind == "M":
        return _dates(value)
    if value.dtype.kind not in "fiu" or value.size <= SHORT:
        return _compact(value.tolist())
    kind = "f4" if _fits(value) else "f8"
    raw = np.ascontiguousarray(value, dtype=f"<{kind}").tobytes()
    packed = {"dtype": kind, "bdata": b64encode(raw).decode("ascii")}
    return packed if value.ndim == 1 else {**packed, "shape": ", ".join(map(str, value.shape))}


def _dates(value: np.ndarray) -> Any:
    """Dates as text; many as milliseconds since 1970, which an axis of dates takes as well."""
    if value.size <= SHORT:
        return [None if np.isnat(v) else str(v) for v in value]
    return _array(value.astype("datetime64[us]").astype(np.float64) / 1e3)


def _unpacked(kept: dict[str, str]) -> np.ndarray:
    """The array that Plotly has packed already, as precisely as it came."""
    array = np.frombuffer(b64decode(kept["bdata"]), np.dtype(kept["dtype"]).newbyteorder("<"))
    return array.reshape([int(n) for n in kept["shape"].split(",")]) if "shape" in kept else array


def _fits(value: np.ndarray) -> bool:
    """Whether single precision loses nothing that can be seen: all but large offsets."""
    finite = value[np.isfinite(value)].astype(np.float64)
    if not finite.size or np.abs(finite).max() > np.finfo(np.float32).max / 2:
        return not finite.size
    lost = np.abs(finite - finite.astype(np.float32)).max()
    return bool(lost <= SEEN * max(float(np.ptp(finite)), 1e-300)) or not lost


def _number(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
