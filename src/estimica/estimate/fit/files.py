"""The estimates as a parameter set of SSP 1.0: an .ssv file, which tools apply to an FMU."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import FitError
from estimica.base.files.write import atomic_replacement
from estimica.base.quantities import Quantity
from estimica.data import writers
from estimica.estimate.fit.modelica import fitted_values
from estimica.estimate.fit.outputs import CaseFit
from estimica.estimate.fit.result import Fit
from estimica.study.noise.process import PREDICTION
from estimica.study.units import UnknownUnit, normalised_spelling, parse_unit

SSV = "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
SSC = "http://ssp-standard.org/SSP1/SystemStructureCommon"
_BASES = ("m", "kg", "s", "A", "K", "mol", "cd", "rad")


def write_ssv(fit: Fit, path: str | PathLike[str], name: str | None = None) -> Path:
    """Write the parameter set `name`, by default the name of the study."""
    if not math.isfinite(fit.cost):
        raise FitError("F034", f"there is no estimate to write: {fit.outcome.message}")
    ElementTree.register_namespace("ssv", SSV)
    ElementTree.register_namespace("ssc", SSC)
    tree = ElementTree.ElementTree(_parameter_set(fit, name or fit.study.name))
    ElementTree.indent(tree)
    with atomic_replacement(path) as draft:
        tree.write(draft, encoding="UTF-8", xml_declaration=True)
    return Path(path)


def _parameter_set(fit: Fit, name: str) -> ElementTree.Element:
    root = ElementTree.Element(
        f"{{{SSV}}}ParameterSet",
        version="1.0",
        name=name,
        description=_about(fit),
        generationTool=f"estimica {version('estimica')}",
        generationDateAndTime=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    known = {q.name: q for q in fit.study.bare.quantities()}
    errors = _standard_errors(fit)
    inside = ElementTree.SubElement(root, f"{{{SSV}}}Parameters")
    units: dict[str, dict[str, str]] = {}
    parameters, starts = fitted_values(fit)
    of_formulas = fit.study.observed_parameters  # which the model does not have
    values = {n: v for n, v in {**parameters, **starts}.items() if n not in of_formulas}
    for parameter, value in values.items():
        quantity = known.get(parameter, Quantity(parameter))
        unit = _base_unit(quantity.unit)
        if unit is not None:
            units[quantity.unit] = unit
        told = [quantity.description, errors.get(parameter, "")]
        if unit is None and quantity.unit:
            told.append(f"in {quantity.unit}")
        described = {"description": "; ".join(t for t in told if t)} if any(told) else {}
        named = {"name": parameter, **described}
        one = ElementTree.SubElement(inside, f"{{{SSV}}}Parameter", named)
        kind, attributes = _value(quantity, value, unit is not None)
        ElementTree.SubElement(one, f"{{{SSV}}}{kind}", attributes)
    if units:
        listed = ElementTree.SubElement(root, f"{{{SSV}}}Units")
        for unit_name, exponents in units.items():
            one = ElementTree.SubElement(listed, f"{{{SSC}}}Unit", name=unit_name)
            ElementTree.SubElement(one, f"{{{SSC}}}BaseUnit", exponents)
    return root


def _about(fit: Fit) -> str:
    return (
        f"{fit.study.model.name} fitted: {fit.criterion} cost {fit.cost:.8g}, "
        f"{fit.n_samples} samples, {fit.outcome.status}"
    )


def _standard_errors(fit: Fit) -> Mapping[str, str]:
    """What is said of each tuner and start value besides its number."""
    texts = {}
    for k, unknown in enumerate(fit.unknowns.items):
        error = float(fit.accuracy.stderr[k])
        told = f"std. error {error:.3g}" if math.isfinite(error) else ""
        texts[unknown.name] = "; ".join(filter(None, (told, fit.remark(k))))
    return texts


def _value(quantity: Quantity, value: object, with_unit: bool) -> tuple[str, dict[str, str]]:
    """The element of a value and its attributes."""
    if quantity.kind == "Boolean" or isinstance(value, bool):
        return "Boolean", {"value": "true" if value else "false"}
    if isinstance(value, str):
        return "String", {"value": value}
    assert isinstance(value, (int, float))
    if quantity.kind == "Integer":
        return "Integer", {"value": str(round(value))}
    unit = {"unit": quantity.unit} if with_unit else {}
    return "Real", {"value": repr(float(value)), **unit}


def _base_unit(unit: str) -> dict[str, str] | None:
    """The exponents of the base units; None where the unit is not known or has broken ones."""
    if not unit:
        return None
    try:
        parsed = parse_unit(normalised_spelling(unit))
    except UnknownUnit:
        return None
    factor, powers = parsed.in_radians()
    if normalised_spelling(unit).endswith("Hz"):  # in the SI a hertz is 1/s
        factor, powers = parsed.factor, (*powers[:-1], 0.0)
    if any(e != round(e) for e in powers):
        return None
    exponents = {b: str(round(e)) for b, e in zip(_BASES, powers, strict=True) if e}
    if factor != 1:
        exponents["factor"] = repr(float(factor))
    if parsed.offset:
        exponents["offset"] = repr(float(parsed.offset))
    return exponents


# --- The data of a fit as files: inputs, measured and simulated outputs and residuals over time.


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
    columns, units = columns_of_case(fit, case)
    return writers.write_csv(path, columns, units=units)


def columns_of_case(fit: Fit, case: CaseFit) -> tuple[dict[str, Vector], dict[str, str]]:
    """Time, inputs, measured and simulated outputs and residuals of a case, and their units."""
    record = next(r for r in fit.setup.records if r.case.name == case.name)
    if record.is_frequency:
        return _columns_of_responses(fit, case)
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
            ("predicted" if fit.criterion == PREDICTION else "simulated", o.simulated),
            ("residual", o.residual),
        ):
            column = np.full(len(time), np.nan)
            column[rows] = value
            columns[f"{o.name} {what}"] = column
            named[f"{o.name} {what}"] = fit.unit_of(o)
    return columns, named


def _columns_of_responses(fit: Fit, case: CaseFit) -> tuple[dict[str, Vector], dict[str, str]]:
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
    return columns, named


def _file_names(cases: list[str]) -> list[str]:
    """Names of cases that can stand in file names, each once."""
    names: list[str] = []
    for k, case in enumerate(cases, start=1):
        name = re.sub(r"[^\w.-]+", "_", case).strip("_.") or str(k)
        names.append(name if name not in names else f"{name}-{k}")
    return names
