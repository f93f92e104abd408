"""Estimica: grey-box identification, calibration and assessment of Modelica models.

import estimica as es

model = es.load_model("Boiler.mo")
model.simulate(times, inputs={"uc": 0.7}).plot()
model.sensitivities(times, wrt=["T_D", "T_R"]).jacobian
fit = es.fit(es.read_study("boiler.toml"))
fit.report("boiler.html")
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from estimica.base.errors import (
        CaseError,
        DataError,
        DesignError,
        EstimicaError,
        ExperimentError,
        FitError,
        InferError,
        ModelError,
        SimulationError,
        SourceError,
        StructureError,
        StudyError,
        TunerError,
        UnsupportedError,
    )
    from estimica.base.signals import Signal
    from estimica.compiled.model.interface import Model
    from estimica.data.readers import read_data
    from estimica.estimate.by_hand import by_hand
    from estimica.estimate.fit.result import Fit
    from estimica.estimate.fit.weighting import prefilter_weighting
    from estimica.estimate.run.fit import fit
    from estimica.experiment import signals
    from estimica.experiment.design_input import design_input
    from estimica.experiment.frequency.run import frequency_estimate
    from estimica.experiment.guess.bode.run import bode_guess
    from estimica.experiment.guess.step.run import first_guess
    from estimica.experiment.simulate import simulate_experiment
    from estimica.infer.backcalculation.result import BackCalculation
    from estimica.infer.backcalculation.run import backcalculate
    from estimica.infer.bands import bands
    from estimica.infer.bootstrap.run import bootstrap
    from estimica.infer.covariance.run import covariance
    from estimica.infer.criterion_map.run import criterion_map
    from estimica.infer.crossvalidation.run import crossvalidate
    from estimica.infer.identifiability.run import identifiability
    from estimica.infer.likelihood_ratio.run import likelihood_ratio
    from estimica.infer.posterior.result import Posterior
    from estimica.infer.posterior.run import sample
    from estimica.infer.profile.run import profile
    from estimica.infer.region import region
    from estimica.infer.release.run import release
    from estimica.infer.residuals.run import residuals
    from estimica.infer.second_model.run import second_model
    from estimica.infer.sensitivity.run import measures
    from estimica.optimise.assess.montecarlo import montecarlo
    from estimica.optimise.assess.result import Assessment
    from estimica.optimise.assess.sweep import sweep
    from estimica.optimise.optimum.result import Optimised
    from estimica.optimise.optimum.run import optimise
    from estimica.optimise.pareto.result import Front
    from estimica.optimise.pareto.run import pareto
    from estimica.simulate.engine.run import Options
    from estimica.simulate.function.model import function_model
    from estimica.simulate.linear.constructors import state_space, transfer_function
    from estimica.simulate.linear.frequency_function import frequency_function
    from estimica.simulate.load import load_model
    from estimica.simulate.modelica.linearisation import Linearisation
    from estimica.simulate.modelica.model import ModelicaModel
    from estimica.simulate.response import Response
    from estimica.simulate.trajectory import Sensitivities, Trajectory
    from estimica.study.case import Case, InputColumn, OutputColumn, StartValue
    from estimica.study.criterion import Criterion
    from estimica.study.estimation import Estimation, Solver
    from estimica.study.file.read import read_study
    from estimica.study.indicator import Indicator
    from estimica.study.petab.export import write_petab
    from estimica.study.study import Study
    from estimica.study.tuner import Prior, Tuner

try:
    __version__ = version("estimica")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0"

#: where each public name lives; it is imported when it is first asked for
_HOMES = {
    "Assessment": "optimise.assess.result",
    "BackCalculation": "infer.backcalculation.result",
    "Case": "study.case",
    "CaseError": "base.errors",
    "Criterion": "study.criterion",
    "DataError": "base.errors",
    "DesignError": "base.errors",
    "Estimation": "study.estimation",
    "EstimicaError": "base.errors",
    "ExperimentError": "base.errors",
    "Fit": "estimate.fit.result",
    "FitError": "base.errors",
    "Front": "optimise.pareto.result",
    "Indicator": "study.indicator",
    "InferError": "base.errors",
    "InputColumn": "study.case",
    "Linearisation": "simulate.modelica.linearisation",
    "Model": "compiled.model.interface",
    "ModelError": "base.errors",
    "ModelicaModel": "simulate.modelica.model",
    "Optimised": "optimise.optimum.result",
    "Options": "simulate.engine.run",
    "OutputColumn": "study.case",
    "Posterior": "infer.posterior.result",
    "Prior": "study.tuner",
    "Response": "simulate.response",
    "Sensitivities": "simulate.trajectory",
    "Signal": "base.signals",
    "SimulationError": "base.errors",
    "Solver": "study.estimation",
    "SourceError": "base.errors",
    "StartValue": "study.case",
    "StructureError": "base.errors",
    "Study": "study.study",
    "StudyError": "base.errors",
    "Trajectory": "simulate.trajectory",
    "Tuner": "study.tuner",
    "TunerError": "base.errors",
    "UnsupportedError": "base.errors",
    "backcalculate": "infer.backcalculation.run",
    "bands": "infer.bands",
    "bode_guess": "experiment.guess.bode.run",
    "bootstrap": "infer.bootstrap.run",
    "by_hand": "estimate.by_hand",
    "covariance": "infer.covariance.run",
    "criterion_map": "infer.criterion_map.run",
    "crossvalidate": "infer.crossvalidation.run",
    "design_input": "experiment.design_input",
    "first_guess": "experiment.guess.step.run",
    "fit": "estimate.run.fit",
    "frequency_estimate": "experiment.frequency.run",
    "frequency_function": "simulate.linear.frequency_function",
    "function_model": "simulate.function.model",
    "identifiability": "infer.identifiability.run",
    "likelihood_ratio": "infer.likelihood_ratio.run",
    "load_model": "simulate.load",
    "measures": "infer.sensitivity.run",
    "montecarlo": "optimise.assess.montecarlo",
    "optimise": "optimise.optimum.run",
    "pareto": "optimise.pareto.run",
    "prefilter_weighting": "estimate.fit.weighting",
    "profile": "infer.profile.run",
    "read_data": "data.readers",
    "read_study": "study.file.read",
    "region": "infer.region",
    "release": "infer.release.run",
    "residuals": "infer.residuals.run",
    "sample": "infer.posterior.run",
    "second_model": "infer.second_model.run",
    "signals": "experiment",
    "simulate_experiment": "experiment.simulate",
    "state_space": "simulate.linear.constructors",
    "sweep": "optimise.assess.sweep",
    "transfer_function": "simulate.linear.constructors",
    "write_petab": "study.petab.export",
}

__all__ = [
    "Assessment",
    "BackCalculation",
    "Case",
    "CaseError",
    "Criterion",
    "DataError",
    "DesignError",
    "Estimation",
    "EstimicaError",
    "ExperimentError",
    "Fit",
    "FitError",
    "Front",
    "Indicator",
    "InferError",
    "InputColumn",
    "Linearisation",
    "Model",
    "ModelError",
    "ModelicaModel",
    "Optimised",
    "Options",
    "OutputColumn",
    "Posterior",
    "Prior",
    "Response",
    "Sensitivities",
    "Signal",
    "SimulationError",
    "Solver",
    "SourceError",
    "StartValue",
    "StructureError",
    "Study",
    "StudyError",
    "Trajectory",
    "Tuner",
    "TunerError",
    "UnsupportedError",
    "backcalculate",
    "bands",
    "bode_guess",
    "bootstrap",
    "by_hand",
    "covariance",
    "criterion_map",
    "crossvalidate",
    "design_input",
    "first_guess",
    "fit",
    "frequency_estimate",
    "frequency_function",
    "function_model",
    "identifiability",
    "likelihood_ratio",
    "load_model",
    "measures",
    "montecarlo",
    "optimise",
    "pareto",
    "prefilter_weighting",
    "profile",
    "read_data",
    "read_study",
    "region",
    "release",
    "residuals",
    "sample",
    "second_model",
    "signals",
    "simulate_experiment",
    "state_space",
    "sweep",
    "transfer_function",
    "write_petab",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'estimica' has no attribute '{name}'")
    from importlib import import_module

    found = getattr(import_module(f"estimica.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
