"""The data of a fit as files: inputs, measured and simulated outputs and residuals over time."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

import numpy as np

from estimica.base.arrays import Vector
from estimica.data import writers
from estimica.estimate.fit.result import CaseFit, Fit


def write_csv(fit: Fit, path: str | PathLike[str], case: str | None = None) -> tuple[Path, ...]:
    """One file for the named case; without a name, one for each case."""
    path = Path(path)
    chosen = [fit.case(case)] if case is not None else [c for c in fit.cases if c.outputs]
    if len(chosen) == 1:
        return (_write(fit, chosen[0], path),)
    names = _file_names([c.name for c in chosen])
    return tuple(
        _write(fit, one, path.with_name(f"{path.stem}-{name}{path.suffix}"))
        for one, name in zip(chosen, names, strict=True)
    )


def _write(fit: Fit, case: CaseFit, path: Path) -> Path:
    record = next(r for r in fit.setup.records if r.case.name == case.name)
    if record.is_frequency:
        return _write_responses(fit, case, path)
    has_time = fit.study.model.has_time
    own = [o.time for o in case.outputs]
    time = np.unique(np.concatenate(own)) if own else np.zeros(0)
    units = {q.name: q.unit for q in fit.study.model.quantities()}
    columns: dict[str, Vector] = {"time" if has_time else "point": time}
    named = {"time": "s"} if has_time else {}
    for name, signal in record.inputs.items():
        columns[name] = signal.at(time)
        named[name] = units.get(name, "")
    for o in case.outputs:
        rows = np.searchsorted(time, o.time)
        for what, value in (
            ("measured", o.measured),
            ("simulated", o.simulated),
            ("residual", o.residual),
        ):
            column = np.full(len(time), np.nan)
            column[rows] = value
            columns[f"{o.name} {what}"] = column
            named[f"{o.name} {what}"] = fit.unit_of(o)
    return writers.write_csv(path, columns, units=named)


def _write_responses(fit: Fit, case: CaseFit, path: Path) -> Path:
    """Frequencies, and real and imaginary parts of measured and fitted responses."""
    transfers = [o.transfer for o in case.outputs if o.transfer is not None]
    frequency = np.unique(np.concatenate([t.frequency for t in transfers]))
    columns: dict[str, Vector] = {"frequency": frequency}
    named = {"frequency": transfers[0].unit}
    for o, transfer in zip(case.outputs, transfers, strict=True):
        rows = np.searchsorted(frequency, transfer.frequency)
        measured, simulated = o.measured_response, o.simulated_response
        for what, value in (
            ("measured", measured),
            ("simulated", simulated),
            ("residual", simulated - measured),
        ):
            for part, numbers in (("real", value.real), ("imag", value.imag)):
                column = np.full(len(frequency), np.nan)
                column[rows] = numbers
                name = f"{o.name} {what} {part}"
                columns[name] = column
                named[name] = fit.unit_of(o)
    return writers.write_csv(path, columns, units=named)


def _file_names(cases: list[str]) -> list[str]:
    """Names of cases that can stand in file names, each once."""
    found: list[str] = []
    for k, case in enumerate(cases, start=1):
        name = re.sub(r"[^\w.-]+", "_", case).strip("_.") or str(k)
        found.append(name if name not in found else f"{name}-{k}")
    return found
