"""The modelDescription.xml of FMI 2.0 and FMI 3.0 from the variables of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from build import Model, Variable

#: exponents of the base units
UNITS = {
    "s": 's="1"',
    "K": 'K="1"',
    "W": 'kg="1" m="2" s="-3"',
    "W/m2": 'kg="1" s="-3"',
    "J/K": 'kg="1" m="2" s="-2" K="-1"',
    "K/W": 'kg="-1" m="-2" s="3" K="1"',
    "m2": 'm="2"',
    "m": 'm="1"',
    "m/s": 'm="1" s="-1"',
    "m/s2": 'm="1" s="-2"',
    "1/s": 's="-1"',
    "rad/s": 'rad="1" s="-1"',
    "mol/m3": 'mol="1" m="-3"',
    "m3/(mol.s)": 'mol="-1" m="3" s="-1"',
    "1": "",
}
_CAUSALITY = {"time": "independent", "input": "input", "parameter": "parameter", "output": "output"}


def identifier(name: str) -> str:
    """The name as C takes it: der(air.T) is der_air_T."""
    return re.sub(r"\W+", "_", name).strip("_")


def fmi2_text(model: Model, guid: str, kinds: Sequence[str], directional: bool) -> str:
    """The description for FMI 2.0."""
    variables = [v for v in model.variables if v.role != "indicator"]
    place = {v.name: k for k, v in enumerate(variables, start=1)}
    offers = (
        f'<{{}} modelIdentifier="{model.name}" canGetAndSetFMUstate="true" '
        f'providesDirectionalDerivative="{_word(directional)}"{{}}/>'
    )
    lines = [
        f'<fmiModelDescription fmiVersion="2.0" modelName="{model.name}" guid="{guid}" '
        f'description={quoteattr(model.description)} generationTool="Estimica\'s examples" '
        f'variableNamingConvention="structured" '
        f'numberOfEventIndicators="{len(model.of("indicator"))}">',
        *_kinds(kinds, offers),
        *_units(model),
        f'<DefaultExperiment startTime="0" stopTime="{model.stop:g}"/>',
        "<ModelVariables>",
    ]
    for v in variables:
        real = f' derivative="{place[v.name[4:-1]]}"' if v.role == "derivative" else ""
        lines.append(
            f'<ScalarVariable name="{v.name}" valueReference="{v.number}"{_about(v)}>'
            f"<{v.type}{_values(v)}{real}/></ScalarVariable>"
        )
    lines += ["</ModelVariables>", "<ModelStructure>"]
    unknowns = {
        "Outputs": model.of("output"),
        "Derivatives": model.of("derivative"),
        "InitialUnknowns": sorted(_initial(model), key=lambda v: place[v.name]),
    }
    for word, chosen in unknowns.items():
        if chosen:
            inner = "".join(f'<Unknown index="{place[v.name]}"/>' for v in chosen)
            lines.append(f"<{word}>{inner}</{word}>")
    return _document([*lines, "</ModelStructure>", "</fmiModelDescription>"])


def fmi3_text(model: Model, guid: str, kinds: Sequence[str], directional: bool) -> str:
    """The description for FMI 3.0."""
    number = {v.name: v.number for v in model.variables}
    offers = (
        f'<{{}} modelIdentifier="{model.name}" canGetAndSetFMUState="true" '
        f'providesDirectionalDerivatives="{_word(directional)}"{{}}/>'
    )
    lines = [
        f'<fmiModelDescription fmiVersion="3.0" modelName="{model.name}" '
        f'instantiationToken="{guid}" description={quoteattr(model.description)} '
        f'generationTool="Estimica\'s examples" variableNamingConvention="structured">',
        *_kinds(kinds, offers),
        *_units(model),
        f'<DefaultExperiment startTime="0" stopTime="{model.stop:g}"/>',
        "<ModelVariables>",
    ]
    types = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean"}
    for v in model.variables:
        real = f' derivative="{number[v.name[4:-1]]}"' if v.role == "derivative" else ""
        lines.append(
            f'<{types[v.type]} name="{v.name}" valueReference="{v.number}"'
            f"{_about(v)}{_values(v)}{real}/>"
        )
    lines += ["</ModelVariables>", "<ModelStructure>"]
    for word, chosen in (
        ("Output", model.of("output")),
        ("ContinuousStateDerivative", model.of("derivative")),
        ("InitialUnknown", _initial(model)),
        ("EventIndicator", model.of("indicator")),
    ):
        lines += [f'<{word} valueReference="{v.number}"/>' for v in chosen]
    return _document([*lines, "</ModelStructure>", "</fmiModelDescription>"])


def _document(lines: Sequence[str]) -> str:
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(lines) + "\n"


def _word(value: bool) -> str:
    return "true" if value else "false"


def _kinds(kinds: Sequence[str], offers: str) -> list[str]:
    steps = ' canHandleVariableCommunicationStepSize="true"'
    told = {"me": ("ModelExchange", ""), "cs": ("CoSimulation", steps)}
    return [offers.format(*told[kind]) for kind in ("me", "cs") if kind in kinds]


def _units(model: Model) -> list[str]:
    used = dict.fromkeys(v.unit for v in model.variables if v.unit)
    units = [f'<Unit name="{u}"><BaseUnit {UNITS[u]}/></Unit>' for u in used]
    return ["<UnitDefinitions>", *units, "</UnitDefinitions>"]


def _initial(model: Model) -> list[Variable]:
    states = [v for v in model.of("state") if v.calculated]
    return [*model.of("output"), *states, *model.of("derivative")]


def _about(v: Variable) -> str:
    """Description, causality, variability and initial."""
    described = f" description={quoteattr(v.description)}" if v.description else ""
    variability = "continuous"
    if v.role == "parameter":
        variability = "tunable" if v.tunable else "fixed"
    elif v.role == "discrete":
        variability = "discrete"
    initial = {"state": "exact", "output": "calculated", "derivative": "calculated"}.get(v.role, "")
    if v.calculated:
        initial = "calculated"
    elif v.role in ("parameter", "discrete"):
        initial = "exact"
    elif v.role == "indicator":
        initial = "calculated"
    told = f' initial="{initial}"' if initial else ""
    causality = _CAUSALITY.get(v.role, "local")
    return f'{described} causality="{causality}" variability="{variability}"{told}'


def _values(v: Variable) -> str:
    """Start, unit and bounds."""
    said = {"min": v.min, "max": v.max, "nominal": v.nominal, "unit": v.unit or None}
    if v.role != "output" and not v.calculated and v.start is not None:
        said["start"] = _word(v.start) if isinstance(v.start, bool) else v.start
    if v.type == "Boolean":
        said = {n: x for n, x in said.items() if n == "start"}
    return "".join(f' {n}="{x}"' for n, x in said.items() if x is not None)
