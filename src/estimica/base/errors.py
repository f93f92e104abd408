"""The exceptions a user can meet. Each carries a stable code of its stage and a message that names
the thing, the value and the next step."""

from __future__ import annotations


class EstimicaError(Exception):
    """Any mistake that the user can fix; the command line prints it without a traceback."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.code, self.message)


class SourceError(EstimicaError):
    """S…: a Modelica source that cannot be read, found or flattened."""


class UnsupportedError(EstimicaError):
    """U…: a construct of the language that is refused, with its place and what to do instead."""


class StructureError(EstimicaError):
    """E…: equations that cannot be sorted: unbalanced, singular, or of too high index."""


class ModelError(EstimicaError):
    """M…: a wrong use of a loaded model: an unknown name, a value of the wrong kind."""


class SimulationError(EstimicaError):
    """R…: a run that ended early; it says when, in which state, and which equation is to blame."""


class DataError(EstimicaError):
    """D…: a table of data that cannot be read, or lacks a column."""


class TunerError(EstimicaError):
    """T…: a tuner whose start, bounds or name cannot be."""


class CaseError(EstimicaError):
    """C…: a case whose data, inputs or outputs do not fit the model."""


class StudyError(EstimicaError):
    """Q…: a study or a study file that cannot be understood, or that has several problems."""


class FitError(EstimicaError):
    """F…: a fit that cannot begin, or a wrong use of its result."""


class ReportError(EstimicaError):
    """P…: a figure, page or table that cannot be written."""


class WriteError(ReportError):
    """P001: a file that was asked for and cannot be written; what was there before still is."""


class StoreError(EstimicaError):
    """B…: a store of runs that cannot be read or written, or a run that is not in it."""


class ExecuteError(EstimicaError):
    """X…: an executor that does not exist, or workers that cannot do their work."""


class LostWorkersError(ExecuteError):
    """X…: workers that were there and are gone; nothing was wrong with the input."""


class InferError(EstimicaError):
    """I…: a question about an estimate that cannot be answered, or is wrongly put."""


class ExperimentError(EstimicaError):
    """W…: a signal, a simulated experiment or a first guess that cannot be."""


class DesignError(EstimicaError):
    """O…: a design criterion, an optimisation or an assessment that cannot be."""


class WebError(EstimicaError):
    """G…: something the workbench refuses: a name, an upload, an address, a job."""
