"""Objects: DataFrames and mappings of series turned into one table, every stamp kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.signals import Signal
from estimica.data.dates import NotADate
from estimica.data.frames import (
    NotNumeric,
    data_from_frame,
    is_time_index,
    numbers_of,
    real_and_imaginary_names,
    uncounted_cells_of,
)
from estimica.data.headers import column_names
from estimica.data.table import Data, time_column_among

if TYPE_CHECKING:
    import pandas as pd

TABLE = "table"


@dataclass(frozen=True, eq=False)
class _Stamped:
    """One series: stamps in seconds since `origin`, sorted, and a value for each."""

    time: Vector
    value: Vector
    origin: str = ""


def data_of_object(given: object) -> Data:
    """Data of a DataFrame, or of a mapping of names to arrays and series."""
    import pandas as pd

    if isinstance(given, pd.DataFrame):
        return data_from_frame("DataFrame", given)
    if isinstance(given, Mapping):
        return _merged(given)
    raise DataError(
        "D014",
        f"a {type(given).__name__} is not data; give a path, a DataFrame, or a mapping of names "
        "to arrays, Series or (times, values)",
    )


def _merged(given: Mapping[Any, Any]) -> Data:
    import pandas as pd

    names, units, notes = column_names(str(n) for n in given)
    values = _split(dict(zip(names, given.values(), strict=True)), units)
    names = list(values)
    if not values:
        raise DataError("D014", "an empty mapping is not data; give names and their values")
    stamped = {n: _stamped(n, v) for n, v in values.items() if _has_stamps(v)}
    plain = {n: _plain(n, v) for n, v in values.items() if n not in stamped}
    if not stamped:
        origins = {n: o for n, (_, o) in plain.items() if o}
        columns = {n: v for n, (v, _) in plain.items()}
        marks = {n: uncounted_cells_of(v) for n, v in values.items() if isinstance(v, pd.Series)}
        marked = {n: g for n, g in marks.items() if g}
        return Data(TABLE, columns, units, origins, notes=tuple(notes), marked=marked)
    time = time_column_among(plain) or "time"
    if plain:
        if time not in plain:
            raise DataError(
                "D015",
                f"{_quoted(plain)} have no time stamps but {_quoted(stamped)} have; "
                "add their stamps as 'time'",
            )
        stamps, origin = plain.pop(time)
        for name, (value, _) in plain.items():
            stamped[name] = _sorted(name, stamps, value, origin)
    return _union(time, names, stamped, units, notes)


def _split(values: dict[str, Any], units: dict[str, str]) -> dict[str, Any]:
    """Complex arrays as their real and imaginary parts."""
    parts: dict[str, Any] = {}
    for name, value in values.items():
        array = None if _has_stamps(value) else np.asarray(value)
        if array is None or not np.iscomplexobj(array):
            parts[name] = value
            continue
        for half, part in zip(
            real_and_imaginary_names(name), (array.real, array.imag), strict=True
        ):
            parts[half] = part
            units |= {half: units[name]} if name in units else {}
    return parts


def _union(
    time: str,
    names: list[str],
    stamped: Mapping[str, _Stamped],
    units: Mapping[str, str],
    notes: list[str],
) -> Data:
    """All stamps that occur, NaN where a series has no sample. A doubled stamp is a jump."""
    origin, series = _common_origin(stamped)
    keys = {n: _keys(s.time) for n, s in series.items()}
    rows = np.unique(np.concatenate(list(keys.values())))
    columns = {time: rows["stamp"].copy()}
    for name in names:
        if name in series:
            column = np.full(len(rows), np.nan)
            column[np.searchsorted(rows, keys[name])] = series[name].value
            columns[name] = column
    origins = {time: origin} if origin else {}
    return Data(TABLE, columns, units, origins, notes=tuple(notes))


def _keys(stamps: Vector) -> np.ndarray[Any, Any]:
    """Stamps with their place among equal ones, so that both sides of a jump are rows."""
    keys = np.empty(len(stamps), dtype=[("stamp", np.float64), ("place", np.int64)])
    keys["stamp"] = stamps
    keys["place"] = np.arange(len(stamps)) - np.searchsorted(stamps, stamps, side="left")
    return keys


def _common_origin(stamped: Mapping[str, _Stamped]) -> tuple[str, Mapping[str, _Stamped]]:
    """The earliest origin, and all series counted from there."""
    import pandas as pd

    origins = {n: pd.Timestamp(s.origin) for n, s in stamped.items() if s.origin}
    if not origins:
        return "", stamped
    numbers = [n for n in stamped if n not in origins]
    if numbers or len({o.tz is None for o in origins.values()}) > 1:
        raise DataError(
            "D015",
            f"the stamps of {_quoted(numbers or origins)} and of {_quoted(origins)} cannot be "
            "compared: give all of them as numbers, all as dates, or all with a time zone",
        )
    earliest = min(origins.values())
    moved = {
        n: _Stamped(s.time + (origins[n] - earliest).total_seconds(), s.value)
        for n, s in stamped.items()
    }
    return earliest.isoformat(), moved


def _has_stamps(value: object) -> bool:
    import pandas as pd

    if isinstance(value, pd.Series):
        return is_time_index(value.index)
    if isinstance(value, tuple):
        return len(value) == 2 and all(np.ndim(part) == 1 for part in value)
    return isinstance(value, (Signal, Mapping))


def _stamped(name: str, value: Any) -> _Stamped:
    import pandas as pd

    if isinstance(value, Signal):
        return _sorted(name, value.time, value.value)
    if isinstance(value, pd.Series):
        stamps, values = value.index.to_series(), value
    elif isinstance(value, Mapping):
        stamps, values = pd.Series(list(value), dtype=object), pd.Series(list(value.values()))
    else:
        stamps, values = pd.Series(np.asarray(value[0])), pd.Series(np.asarray(value[1]))
    time, origin = _numbers(name, stamps)
    return _sorted(name, time, _numbers(name, values)[0], origin)


def _sorted(name: str, time: Vector, value: Vector, origin: str = "") -> _Stamped:
    if len(time) != len(value):
        raise DataError("D010", f"'{name}' has {len(time)} stamps but {len(value)} values")
    if np.isnan(time).any():
        row = int(np.argmax(np.isnan(time)))
        raise DataError("D015", f"'{name}' has no time stamp in row {row + 1}")
    order = np.argsort(time, kind="stable")
    return _Stamped(time[order], value[order], origin)


def _plain(name: str, value: object) -> tuple[Vector, str]:
    import pandas as pd

    if isinstance(value, pd.Series):
        return _numbers(name, value)
    array = np.asarray(value)
    if array.ndim != 1:
        raise DataError(
            "D016", f"'{name}' has shape {array.shape}; give one value a row, as in [1.0, 2.0]"
        )
    return _numbers(name, pd.Series(array))


def _numbers(name: str, series: pd.Series) -> tuple[Vector, str]:
    try:
        return numbers_of(series)
    except (NotNumeric, NotADate) as bad:
        raise DataError(
            "D006", f"'{name}' is not numeric: {bad.why} in row {bad.row + 1}"
        ) from None


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{n}'" for n in names)
