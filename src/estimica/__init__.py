"""Estimica: grey-box identification, calibration and assessment of Modelica models.

import estimica as es

model = es.load_model("Boiler.mo")
model.simulate(times, inputs={"uc": 0.7}).plot()
model.sensitivities(times, wrt=["T_D", "T_R"]).jacobian
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimica.base.errors import (
        EstimicaError,
        ModelError,
        SimulationError,
        SourceError,
        StructureError,
        UnsupportedError,
    )
    from estimica.base.signals import Signal
    from estimica.compiled.model import Model
    from estimica.simulate.engine import Options
    from estimica.simulate.linear import Linearisation
    from estimica.simulate.modelica_model import ModelicaModel, load_model
    from estimica.simulate.response import Response
    from estimica.simulate.trajectory import Sensitivities, Trajectory

try:
    __version__ = version("estimica")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0"

#: where each public name lives; it is imported when it is first asked for
_HOMES = {
    "EstimicaError": "base.errors",
    "Linearisation": "simulate.linear",
    "Model": "compiled.model",
    "ModelError": "base.errors",
    "ModelicaModel": "simulate.modelica_model",
    "Options": "simulate.engine",
    "Response": "simulate.response",
    "Sensitivities": "simulate.trajectory",
    "Signal": "base.signals",
    "SimulationError": "base.errors",
    "SourceError": "base.errors",
    "StructureError": "base.errors",
    "Trajectory": "simulate.trajectory",
    "UnsupportedError": "base.errors",
    "load_model": "simulate.modelica_model",
}

__all__ = [
    "EstimicaError",
    "Linearisation",
    "Model",
    "ModelError",
    "ModelicaModel",
    "Options",
    "Response",
    "Sensitivities",
    "Signal",
    "SimulationError",
    "SourceError",
    "StructureError",
    "Trajectory",
    "UnsupportedError",
    "load_model",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'estimica' has no attribute '{name}'")
    from importlib import import_module

    import_module("estimica.report")  # fills the registry by which results show themselves
    found = getattr(import_module(f"estimica.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
