"""Data: a table of measurements as named columns of numbers, wherever it came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DataError
from estimica.base.suggest import did_you_mean
from estimica.base.view import name_with_unit
from estimica.data.cells import UncountedCells
from estimica.data.headers import split_unit

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")

#: names of a time column, the likeliest first; a capital T is a temperature
TIME_NAMES = (
    "time",
    "t",
    "timestamp",
    "time stamp",
    "datetime",
    "date time",
    "date/time",
    "date",
    "zeit",
    "zeitstempel",
    "datum",
    "datum/zeit",
)


@dataclass(frozen=True, eq=False)
class Data:
    """Columns of equal length, read-only; NaN stands for *not sampled*.

    `units` holds the units that the headers name, `origins` the ISO instant that 0 s of a date
    column stands for, `texts` what is wrong with each column that holds no numbers, `constants`
    the single numbers beside the table, `notes` what the reader changed or left out, `marked`
    which columns of numbers have texts that were taken for *not sampled*.
    """

    source: str  # the file it came from
    columns: Mapping[str, Vector]  # by name
    units: Mapping[str, str] = field(default_factory=dict)  # that the headers name
    origins: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)  # columns without numbers, and why
    constants: Mapping[str, float] = field(default_factory=dict)  # single numbers beside the table
    notes: tuple[str, ...] = ()  # what the reader changed or left out
    marked: Mapping[str, UncountedCells] = field(default_factory=dict)
    parts: tuple[str, ...] = ()  # the sources, where it was joined from several

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", {n: _frozen(v) for n, v in self.columns.items()})
        lengths = {n: len(v) for n, v in self.columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"'{n}' has {k}" for n, k in lengths.items())
            raise DataError("D010", f"columns of {self.source} differ in length: {told}")

    def __reduce__(self) -> tuple[object, ...]:
        # Through the constructor, because numpy forgets that an array was read-only.
        return type(self), (
            self.source,
            dict(self.columns),
            self.units,
            self.origins,
            self.texts,
            self.constants,
            self.notes,
            self.marked,
            self.parts,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that hold numbers, in the order of the file."""
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __bool__(self) -> bool:
        return True

    def column(self, name: str) -> Vector:
        """The numbers of one column."""
        if name in self.columns:
            return self.columns[name]
        if name in self.texts:
            raise DataError(
                "D006", f"column '{name}' of {self.where} is not numeric: {self.texts[name]}"
            )
        raise DataError("D004", f"no column '{name}' in {self.where}{self._hint(name)}")

    def gaps(self, name: str) -> UncountedCells | None:
        """Cells of a column that hold something which does not count: marks, infinite numbers."""
        if name not in self.columns:
            return None
        return self.marked.get(name, UncountedCells(0)).with_infinite(self.columns[name])

    @property
    def gap_notes(self) -> tuple[str, ...]:
        """What is to be said of every column that has such cells."""
        found = ((n, self.gaps(n)) for n in self.columns)
        return tuple(f"column '{n}': {g.in_words}; they are not counted" for n, g in found if g)

    def time_name(self, given: str | None = None) -> str:
        """The column that holds the time: `given`, or one called so, or the first if it rises."""
        if given is not None:
            self.column(given)
            return given
        named = self.named_time()
        if named is not None:
            return named
        everything = self.names
        if everything and _rises(self.columns[everything[0]]):
            return everything[0]
        first = f"the first one, '{everything[0]}', does not rise" if everything else "none at all"
        raise DataError(
            "D007",
            f"{self.where} has no column called 'time' and {first}; "
            f"say which column holds the time, there are {_listed(everything)}",
        )

    def named_time(self) -> str | None:
        """The column that is called `time`, `t`, `timestamp`, `date` or the like, if there is."""
        return time_column_among([*self.columns, *self.texts])

    def time(self, given: str | None = None) -> Vector:
        """The stamps, as `time_name` finds them; dates are seconds since their origin."""
        return self.column(self.time_name(given))

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame of the columns, under their names without units."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))

    @property
    def where(self) -> str:
        """The source as messages name it: a path in quotes, or what kind of object it was."""
        if self.source in ("DataFrame", "table"):
            return self.source
        others = len(self.parts) - 1
        more = f" and {others} file{'s' * (others > 1)} more" if others > 0 else ""
        return f"'{self.source}'{more}"

    def _hint(self, name: str) -> str:
        known = [*self.columns, *self.texts]
        bare = split_unit(name)[0]
        if bare in known:
            return f"; did you mean '{bare}'?"
        return did_you_mean(name, known) or f"; there are {_listed(known)}"

    def __repr__(self) -> str:
        shown = [name_with_unit(n, self.units.get(n, "")) for n in self.columns]
        lines = [f"Data from {self.where}: {len(self)} rows of {_listed(shown)}"]
        lines += [f"  {n}: 0 s is {origin}" for n, origin in self.origins.items()]
        lines += [f"  {n}: no numbers, {why}" for n, why in _first(self.texts.items())]
        lines += [f"  {note}" for note in _first((*self.notes, *self.gap_notes))]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(n)}</td><td>{escape(self.units.get(n, ''))}</td>"
            f"<td>{np.count_nonzero(~np.isnan(v))}</td><td>{_extreme(np.fmin, v)}</td>"
            f"<td>{_extreme(np.fmax, v)}</td></tr>"
            for n, v in _first(self.columns.items(), 30)
        )
        notes = "".join(f"<p>{escape(line)}</p>" for line in repr(self).splitlines())
        head = "<tr><th>column</th><th>unit</th><th>samples</th><th>min</th><th>max</th></tr>"
        return f"{notes}<table>{head}{rows}</table>"


def time_column_among(names: Iterable[str]) -> str | None:
    """The name that a time column would have, if it is among `names`."""
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(name if len(name) == 1 else name.casefold(), name)
    return next((known[n] for n in TIME_NAMES if n in known), None)


def _frozen(values: Vector) -> Vector:
    view = np.asarray(values, np.float64).view()
    view.flags.writeable = False
    return view


def _rises(values: Vector) -> bool:
    return bool(np.all(values[1:] > values[:-1])) and not np.isnan(values).any()


def _extreme(pick: np.ufunc, values: Vector) -> str:
    return f"{pick.reduce(values):.6g}" if len(values) else ""


def _first(items: Iterable[T], count: int = 5) -> list[T]:
    return list(items)[:count]


def _listed(names: Iterable[str], count: int = 12) -> str:
    names = list(names)
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more if names else "none"
