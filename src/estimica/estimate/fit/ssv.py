"""The estimates as a parameter set of SSP 1.0: an .ssv file, which tools apply to an FMU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from xml.etree import ElementTree

from estimica.base.errors import FitError
from estimica.base.files.write import atomic_replacement
from estimica.base.quantities import Quantity
from estimica.estimate.fit.modelica import fitted_values
from estimica.estimate.fit.result import Fit
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
    said = {}
    for k, unknown in enumerate(fit.unknowns.items):
        error = float(fit.accuracy.stderr[k])
        told = f"std. error {error:.3g}" if math.isfinite(error) else ""
        said[unknown.name] = "; ".join(filter(None, (told, fit.remark(k))))
    return said


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
        found = parse_unit(normalised_spelling(unit))
    except UnknownUnit:
        return None
    factor, powers = found.in_radians()
    if normalised_spelling(unit).endswith("Hz"):  # in the SI a hertz is 1/s
        factor, powers = found.factor, (*powers[:-1], 0.0)
    if any(e != round(e) for e in powers):
        return None
    exponents = {b: str(round(e)) for b, e in zip(_BASES, powers, strict=True) if e}
    if factor != 1:
        exponents["factor"] = repr(float(factor))
    if found.offset:
        exponents["offset"] = repr(float(found.offset))
    return exponents
