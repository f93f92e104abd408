"""FmuDescription: what modelDescription.xml says, for FMI 2.0 and 3.0 alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal
from xml.etree import ElementTree

from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.simulate.fmu.archive import FmuArchive

Interface = Literal["me", "cs"]
Kind = Literal["real", "integer", "boolean", "other"]

INTERFACES: dict[Interface, str] = {"me": "Model Exchange", "cs": "Co-Simulation"}
#: kinds that can be set and read; in FMI 3 an enumeration is an Int64, in FMI 2 an Integer
_KINDS: dict[int, dict[str, Kind]] = {
    2: {
        "Real": "real", "Integer": "integer", "Enumeration": "integer", "Boolean": "boolean",
    },
    3: {"Float64": "real", "Int32": "integer", "Boolean": "boolean"},
}  # fmt: skip
_WORDS = {"real": "Real", "integer": "Integer", "boolean": "Boolean", "other": "String"}


@dataclass(frozen=True)
class FmuVariable:
    """One variable of an FMU."""

    name: str
    reference: int
    kind: Kind
    type: str  # as FMI calls it
    causality: str
    variability: str
    initial: str  # exact, approx, calculated or none
    start: float | None
    unit: str
    description: str
    min: float
    max: float
    nominal: float | None
    difference: bool | None = None  # as of two temperatures; None where it does not say

    @property
    def settable(self) -> bool:
        """Whether a value may be given before initialisation."""
        if self.variability == "constant" or self.causality in ("input", "independent"):
            return False
        return self.causality == "parameter" or self.initial in ("exact", "approx")

    @property
    def is_parameter(self) -> bool:
        """Whether it stays as it is during a run."""
        fixed = self.variability in ("fixed", "tunable")
        return self.causality in ("parameter", "calculatedParameter", "structuralParameter") or (
            fixed and self.causality in ("local", "output")
        )


@dataclass(frozen=True)
class FmuInterface:
    """What one interface of the FMU can do."""

    identifier: str
    once: bool  # only one instance in a process
    directional: bool
    completed_step: bool  # it wants to hear of every step
    variable_step: bool
    interpolates: bool
    needs_tool: bool


@dataclass(frozen=True)
class FmuDescription:
    """The FMU as a table of variables with what its interfaces can do."""

    name: str
    description: str
    tool: str
    fmi: int
    token: str
    interfaces: dict[Interface, FmuInterface]
    variables: tuple[FmuVariable, ...]
    states: tuple[str, ...]  # names, in the order of the state vector
    derivatives: tuple[int, ...]  # value references of the derivatives, in the same order
    n_states: int
    n_indicators: int
    step: float | None  # communication step that its author suggests
    start: float | None
    stop: float | None
    tolerance: float | None

    def named(self, name: str) -> FmuVariable:
        """The variable of a name."""
        return next(v for v in self.variables if v.name == name)

    def outputs(self) -> tuple[str, ...]:
        """Names of the declared outputs."""
        return tuple(
            v.name for v in self.variables if v.causality == "output" and v.kind != "other"
        )

    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(v.name for v in self.variables if v.causality == "input" and v.kind != "other")

    def readable(self) -> tuple[str, ...]:
        """Names of everything that can be asked for."""
        return tuple(
            v.name for v in self.variables if v.kind != "other" and v.causality != "independent"
        )


def read_description(archive: FmuArchive) -> FmuDescription:
    """The description of an unpacked FMU."""
    read = _reader()
    _require_version(archive)
    try:
        described = read(str(archive.folder), validate=False)
    except Exception as error:  # FMPy raises many kinds
        if "FMI version" in str(error):
            raise _wrong_version(archive, str(error).rsplit(" ", 1)[-1]) from None
        raise ModelError(
            "M203", f"'{archive.path}': modelDescription.xml cannot be read: {error}"
        ) from None
    version = str(described.fmiVersion)
    if described.fmiMajorVersion not in (2, 3):
        raise _wrong_version(archive, version)
    interfaces: dict[Interface, FmuInterface] = {}
    if described.modelExchange is not None:
        interfaces["me"] = _interface(
            described.modelExchange, _directional(archive, "ModelExchange")
        )
    if described.coSimulation is not None:
        interfaces["cs"] = _interface(described.coSimulation, _directional(archive, "CoSimulation"))
    if not interfaces:
        raise ModelError(
            "M205",
            f"'{archive.path}' has neither Model Exchange nor Co-Simulation; export it with one",
        )
    experiment = described.defaultExperiment
    states = [
        d.variable.derivative.name if d.variable.derivative is not None else d.variable.name
        for d in described.derivatives
    ]
    width = [_width(d.variable) for d in described.derivatives]
    plain = all(n == 1 for n in width)
    indicators = described.numberOfEventIndicators or len(described.eventIndicators)
    return FmuDescription(
        name=str(described.modelName),
        description=str(described.description or ""),
        tool=str(described.generationTool or ""),
        fmi=described.fmiMajorVersion,
        token=str(described.guid),
        interfaces=interfaces,
        variables=tuple(_variable(v, described.fmiMajorVersion) for v in described.modelVariables),
        states=tuple(states) if plain else (),
        derivatives=tuple(int(d.variable.valueReference) for d in described.derivatives),
        n_states=sum(width),
        n_indicators=int(indicators or 0),
        step=_number(experiment and experiment.stepSize),
        start=_number(experiment and experiment.startTime),
        stop=_number(experiment and experiment.stopTime),
        tolerance=_number(experiment and experiment.tolerance),
    )


def _reader() -> Any:
    try:
        from fmpy.model_description import read_model_description
    except ImportError:
        raise ModelError(
            "M206", "FMUs need the package fmpy; install it with pip install 'estimica[fmu]'"
        ) from None
    return read_model_description


def _require_version(archive: FmuArchive) -> None:
    """FMPy fails on FMI 1 in words that say nothing."""
    try:
        root = ElementTree.parse(archive.folder / "modelDescription.xml").getroot()
    except (ElementTree.ParseError, OSError):
        return
    version = root.attrib.get("fmiVersion", "")
    if version.startswith(("0.", "1.")):
        raise _wrong_version(archive, version)


def _wrong_version(archive: FmuArchive, version: str) -> ModelError:
    return ModelError(
        "M204", f"'{archive.path}' is FMI {version}; export it as FMI 2.0 or 3.0 instead"
    )


def _directional(archive: FmuArchive, interface: str) -> bool:
    """Whether directional derivatives are declared; FMPy does not tell that of FMI 3."""
    element = ElementTree.parse(archive.folder / "modelDescription.xml").find(interface)
    said = {} if element is None else element.attrib
    names = ("providesDirectionalDerivative", "providesDirectionalDerivatives")
    return any(said.get(name, "false") in ("true", "1") for name in names)


def _interface(described: Any, directional: bool) -> FmuInterface:
    def says(name: str) -> bool:
        return str(getattr(described, name, False)).lower() in ("true", "1")

    return FmuInterface(
        identifier=str(described.modelIdentifier),
        once=says("canBeInstantiatedOnlyOncePerProcess"),
        directional=directional,
        completed_step=says("needsCompletedIntegratorStep"),
        variable_step=says("canHandleVariableCommunicationStepSize"),
        interpolates=says("canInterpolateInputs"),
        needs_tool=says("needsExecutionTool"),
    )


def _width(variable: Any) -> int:
    width = 1
    for dimension in variable.dimensions:
        width *= int(dimension.start or 1)
    return width


def _variable(variable: Any, fmi: int) -> FmuVariable:
    kind = _KINDS[fmi].get(str(variable.type), "other")
    declared = variable.declaredType
    causality = str(variable.causality or "local")
    variability = str(
        variable.variability or ("fixed" if causality == "parameter" else "continuous")
    )
    initial = variable.initial
    if initial is None and causality not in ("input", "independent"):
        initial = "exact" if causality.endswith("arameter") else "calculated"
        initial = "calculated" if causality == "calculatedParameter" else initial
    least, most = _attribute(variable, declared, "min"), _attribute(variable, declared, "max")
    return FmuVariable(
        name=str(variable.name),
        reference=int(variable.valueReference),
        kind="other" if variable.dimensions else kind,
        type=str(variable.type),
        causality=causality,
        variability=variability,
        initial=str(initial or "none"),
        start=_number(variable.start) if kind != "other" and not variable.dimensions else None,
        unit=str(variable.unit or (declared.unit if declared is not None else "") or ""),
        description=str(variable.description or ""),
        min=float("-inf") if least is None else least,
        max=float("inf") if most is None else most,
        nominal=_attribute(variable, declared, "nominal"),
        difference=_is_difference(variable, declared),
    )


def _is_difference(variable: Any, declared: Any) -> bool | None:
    """Whether it is relative, as a difference of temperatures; None where nothing says so."""
    texts = [variable] if declared is None else [variable, declared]
    if any(t.relativeQuantity or t.quantity == "TemperatureDifference" for t in texts):
        return True
    return False if any(t.displayUnit in ("degC", "degF") for t in texts) else None


def _attribute(variable: Any, declared: Any, name: str) -> float | None:
    own = _number(getattr(variable, name))
    return own if own is not None or declared is None else _number(getattr(declared, name))


def _number(text: object) -> float | None:
    if text is None or text == "":
        return None
    if str(text).lower() in ("true", "false"):
        return float(str(text).lower() == "true")
    try:
        return float(str(text).split()[0])
    except ValueError:
        return None


# --- as users see it ------------------------------------------------------------------------------


def quantities_of(description: FmuDescription) -> list[Quantity]:
    """Every variable with its metadata, and why a parameter cannot be tuned."""
    return [
        _quantity(v, _role(v, description))
        for v in description.variables
        if v.causality != "independent"
    ]


def _quantity(v: FmuVariable, role: str) -> Quantity:
    return Quantity(
        v.name, _value(v), v.unit, v.description, v.min, v.max, v.nominal, _WORDS[v.kind], role,
        tunable=role == "parameter" and not why_not_tunable(v),
        why_not=why_not_tunable(v) if role in ("parameter", "constant") else "",
        difference=v.difference,
    )  # fmt: skip


def _value(v: FmuVariable) -> float | bool | int | None:
    if v.start is None or v.kind == "real":
        return v.start
    return bool(v.start) if v.kind == "boolean" else int(v.start)


def _role(v: FmuVariable, description: FmuDescription) -> str:
    if v.causality == "input":
        return "input"
    if v.name in description.states:
        return "state"
    if v.variability == "constant":
        return "constant"
    return "parameter" if v.is_parameter else "algebraic"


def why_not_tunable(v: FmuVariable) -> str:
    """Why a parameter cannot be tuned; "" where it can."""
    if v.variability == "constant":
        return "it is a constant"
    if v.kind == "other":
        return f"it is {v.type} or an array, which is not tuned"
    if v.causality == "calculatedParameter":
        return "the FMU calculates it from other parameters"
    if v.causality == "structuralParameter":
        return "it is a structural parameter"
    if not v.settable:
        return "the FMU does not let it be set"
    if v.kind != "real":
        return f"it is of type {v.type}"
    return ""
