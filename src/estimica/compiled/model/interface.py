"""Model: the one interface. Anything that turns inputs and parameters into outputs is one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity, as_table
from estimica.compiled.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd

    from estimica.compiled.model.observations import Observations


OperatingPoint = Literal["steady", "start"]

VARYING_ROLES = frozenset({"input", "state", "memory", "logical", "algebraic", "alias"})


class Evaluation(Protocol):
    """What a model answers at one point of the tuners; a failure is a value too."""

    @property
    def ok(self) -> bool:
        """Whether all samples were computed."""

    @property
    def text(self) -> str:
        """What happened, in words."""

    @property
    def Y(self) -> Vector:
        """Outputs, (N, ny)."""

    @property
    def YS(self) -> Vector:
        """Their derivatives with respect to the tuners, (N, ny, m)."""


class ModelResponse(Protocol):
    """A model with inputs, samples, outputs and tuners chosen: what estimators evaluate."""

    @property
    def tuners(self) -> Vector:
        """The values of the tuners at which it was set up; NaN where they have none."""

    @property
    def times(self) -> Vector:
        """Times of the samples; the numbers of the points where there is no time."""

    def at(self, theta: Vector | None = None) -> Evaluation:
        """Outputs and exact derivatives at tuner values `theta`."""


@runtime_checkable
class DifferencedResponse(ModelResponse, Protocol):
    """One whose derivatives cost runs of their own, so that one may do without them."""

    def without_derivatives(self) -> ModelResponse:
        """The same with slopes of zero, by one run each."""


class InputResponse(Protocol):
    """A model without time whose inputs move too: what fits with errors in the inputs evaluate."""

    def at(self, theta: Vector, inputs: Vector) -> Evaluation:
        """Outputs at tuner values `theta` and `inputs` (k, N), one row for each that moves.

        The derivatives by the tuners come first, then those by the inputs of the same point. A
        point that cannot be computed has numbers that are not finite.
        """


class Model(ABC):
    """The tables that every kind of model offers, and its response to an experiment."""

    restores: ClassVar[bool] = True  # from saved results, by its constructor
    name: str
    description: str

    @property
    def of_function(self) -> bool:
        """Whether it is a Modelica function: it has no time, and its studies are of points."""
        return False

    @property
    def libraries(self) -> tuple[str, ...]:
        """The Modelica libraries that were read for it, in words: name, version and place."""
        return ()

    def why_unknown(self, name: str) -> str:
        """Why a variable of its class is not computed, with what to do; "" where it has none."""
        return ""

    @abstractmethod
    def quantities(self) -> Sequence[Quantity]:
        """Every parameter and variable, in the order of the source."""

    @abstractmethod
    def output_names(self) -> Sequence[str]:
        """Names of the declared outputs."""

    @abstractmethod
    def respond(self, experiment: Experiment) -> ModelResponse:
        """An experiment set up once, to be evaluated at many values of its tuners."""

    def response(
        self,
        times: Sequence[float] | Vector,
        inputs: Mapping[str, object] | None = None,
        parameters: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        *,
        outputs: Sequence[str] | None = None,
        wrt: Sequence[str] = (),
        begin: float | None = None,
        options: Any = None,
    ) -> ModelResponse:
        """An experiment set up once, to be evaluated at many values of the tuners `wrt`."""
        return self.respond(
            Experiment(
                times, inputs or {}, parameters or {}, start or {}, outputs, wrt, begin, options
            )
        )

    def frequency_experiment(
        self,
        omega: Sequence[float] | Vector,
        inputs: Mapping[str, float] | None = None,
        parameters: Mapping[str, float] | None = None,
        start: Mapping[str, float] | None = None,
        *,
        transfers: Sequence[tuple[str, str]],
        wrt: Sequence[str] = (),
        operating_point: OperatingPoint = "steady",
    ) -> ModelResponse:
        """The frequency response at `omega` in rad/s, to be evaluated at many values of `wrt`.

        `transfers` are pairs (output, input). An evaluation has two columns for each: the real and
        the imaginary part of the transfer. The model is linearised at its steady state under the
        constant `inputs`, or at the states with which it starts.
        """
        raise ModelError(
            "M150",
            f"model '{self.name}' has no frequency response: only linear models and Modelica "
            "models have one; fit it over time, or write it as a transfer function",
        )

    def response_to_inputs(
        self,
        points: Vector,
        inputs: Mapping[str, object],
        parameters: Mapping[str, float],
        *,
        outputs: Sequence[str],
        wrt: Sequence[str],
        wrt_inputs: Sequence[str],
        options: Any = None,
    ) -> InputResponse:
        """Points to be evaluated at many values of the tuners `wrt` and the inputs `wrt_inputs`."""
        raise ModelError(
            "M166",
            f"model '{self.name}' offers no derivatives by its inputs, so that their errors cannot "
            f"be estimated; leave sigma of input '{wrt_inputs[0]}' out",
        )

    def driven_by(self, names: Sequence[str]) -> Model:
        """The model whose inputs a case names: itself, where variables cannot become inputs."""
        return self

    @property
    def inflow_names(self) -> tuple[str, ...]:
        """inStream(…) of connectors within, which formulas may use like variables."""
        return ()

    def observed(self, observations: Observations) -> Model:
        """The model with further outputs, given by formulas of its variables; kept."""
        from estimica.compiled.model.observed import ObservedModel

        return ObservedModel(self, observations)

    @property
    def has_time(self) -> bool:
        """Whether samples follow one another in time; otherwise each point stands alone."""
        return True

    @property
    def precision(self) -> float | None:
        """Relative error of the derivatives that no tolerance changes; None where those decide."""
        return None

    @property
    def derivatives(self) -> str:
        """How the derivatives are computed, where there is something to tell."""
        return ""

    @property
    def start_states(self) -> tuple[str, ...] | None:
        """The states that hold all of its past, so that it can be begun at any time.

        None where it may remember more, or where a state cannot be set.
        """
        return tuple(q.name for q in self.quantities() if q.role == "state")

    def longest_delay(self, values: Mapping[str, float]) -> float | None:
        """Seconds of the past that it remembers besides its states, at values of parameters.

        None where that is not known before a simulation.
        """
        return 0.0

    @property
    def communication(self) -> float | None:
        """The communication step in seconds, of a model that is co-simulated."""
        return None

    @property
    def parameters(self) -> pd.DataFrame:
        """Parameters and constants with their values, and which can be tuned."""
        return as_table(q for q in self.quantities() if q.role in ("parameter", "constant"))

    @property
    def inputs(self) -> pd.DataFrame:
        """Inputs of the model with the values they keep where none is given."""
        return as_table(q for q in self.quantities() if q.role == "input")

    @property
    def outputs(self) -> pd.DataFrame:
        """Variables declared as outputs; any other variable can be asked for too."""
        names = set(self.output_names())
        return as_table(q for q in self.quantities() if q.name in names)

    @property
    def states(self) -> pd.DataFrame:
        """Continuous states with their start values."""
        return as_table(q for q in self.quantities() if q.role == "state")

    @property
    def variables(self) -> pd.DataFrame:
        """Everything that changes: states, algebraic and discrete variables, removed aliases."""
        return as_table(q for q in self.quantities() if q.role in VARYING_ROLES)
