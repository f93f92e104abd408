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
    from estimica.compiled.linear_frequency_function import frequency_function
    from estimica.compiled.model import Model
    from estimica.data.readers import read_data
    from estimica.estimate.by_hand import by_hand
    from estimica.estimate.estimator import fit
    from estimica.estimate.fit import Fit
    from estimica.estimate.prefilter_weighting import prefilter_weighting
    from estimica.experiment import signals
    from estimica.experiment.bode_guess import bode_guess
    from estimica.experiment.first_guess import first_guess
    from estimica.experiment.frequency_estimate import frequency_estimate
    from estimica.experiment.input_design import design_input
    from estimica.experiment.simulated import simulate_experiment
    from estimica.infer.back_calculation import backcalculate
    from estimica.infer.back_calculation_result import BackCalculation
    from estimica.infer.bands import bands
    from estimica.infer.bootstrap import bootstrap
    from estimica.infer.covariance import covariance
    from estimica.infer.criterion_map import criterion_map
    from estimica.infer.cross_validation import crossvalidate
    from estimica.infer.identifiability import identifiability
    from estimica.infer.likelihood_ratio import likelihood_ratio
    from estimica.infer.measures import measures
    from estimica.infer.posterior.result import Posterior
    from estimica.infer.posterior.run import sample
    from estimica.infer.profile import profile
    from estimica.infer.regions import region
    from estimica.infer.release import release
    from estimica.infer.residuals import residuals
    from estimica.infer.second_model import second_model
    from estimica.optimise.assessment import Assessment
    from estimica.optimise.montecarlo import montecarlo
    from estimica.optimise.optimised import Optimised
    from estimica.optimise.optimiser import optimise
    from estimica.optimise.pareto import pareto
    from estimica.optimise.pareto_result import Front
    from estimica.optimise.sweep import sweep
    from estimica.simulate.engine import Options
    from estimica.simulate.function_model import function_model
    from estimica.simulate.linear import Linearisation
    from estimica.simulate.linear_models import state_space, transfer_function
    from estimica.simulate.modelica_model import ModelicaModel, load_model
    from estimica.simulate.response import Response
    from estimica.simulate.trajectory import Sensitivities, Trajectory
    from estimica.study.case import Case, InputColumn, OutputColumn, StartValue
    from estimica.study.design_criterion import Criterion
    from estimica.study.estimation import Estimation, Solver
    from estimica.study.indicator import Indicator
    from estimica.study.petab.export import write_petab
    from estimica.study.study import Study
    from estimica.study.study_file import read_study
    from estimica.study.tuner import Prior, Tuner

try:
    __version__ = version("estimica")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0"

#: where each public name lives; it is imported when it is first asked for
_HOMES = {
    "Assessment": "optimise.assessment",
    "BackCalculation": "infer.back_calculation_result",
    "Case": "study.case",
    "CaseError": "base.errors",
    "Criterion": "study.design_criterion",
    "DataError": "base.errors",
    "DesignError": "base.errors",
    "Estimation": "study.estimation",
    "EstimicaError": "base.errors",
    "ExperimentError": "base.errors",
    "Fit": "estimate.fit",
    "FitError": "base.errors",
    "Front": "optimise.pareto_result",
    "Indicator": "study.indicator",
    "InferError": "base.errors",
    "InputColumn": "study.case",
    "Linearisation": "simulate.linear",
    "Model": "compiled.model",
    "ModelError": "base.errors",
    "ModelicaModel": "simulate.modelica_model",
    "Optimised": "optimise.optimised",
    "Options": "simulate.engine",
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
    "backcalculate": "infer.back_calculation",
    "bands": "infer.bands",
    "bode_guess": "experiment.bode_guess",
    "bootstrap": "infer.bootstrap",
    "by_hand": "estimate.by_hand",
    "covariance": "infer.covariance",
    "criterion_map": "infer.criterion_map",
    "crossvalidate": "infer.cross_validation",
    "design_input": "experiment.input_design",
    "first_guess": "experiment.first_guess",
    "fit": "estimate.estimator",
    "frequency_estimate": "experiment.frequency_estimate",
    "frequency_function": "compiled.linear_frequency_function",
    "function_model": "simulate.function_model",
    "identifiability": "infer.identifiability",
    "likelihood_ratio": "infer.likelihood_ratio",
    "load_model": "simulate.modelica_model",
    "measures": "infer.measures",
    "montecarlo": "optimise.montecarlo",
    "optimise": "optimise.optimiser",
    "pareto": "optimise.pareto",
    "prefilter_weighting": "estimate.prefilter_weighting",
    "profile": "infer.profile",
    "read_data": "data.readers",
    "read_study": "study.study_file",
    "region": "infer.regions",
    "release": "infer.release",
    "residuals": "infer.residuals",
    "sample": "infer.posterior.run",
    "second_model": "infer.second_model",
    "signals": "experiment",
    "simulate_experiment": "experiment.simulated",
    "state_space": "simulate.linear_models",
    "sweep": "optimise.sweep",
    "transfer_function": "simulate.linear_models",
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

    import_module("estimica.report")  # fills the registry by which results show themselves
    import_module("estimica.infer")  # and has its say on their pages
    found = getattr(import_module(f"estimica.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
