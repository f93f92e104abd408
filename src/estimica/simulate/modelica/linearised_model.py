"""LinearisedModel: what models of equations offer besides simulation, linear about a point."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from estimica.base.arrays import Complex, Vector
from estimica.base.errors import ModelError, SimulationError
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import OperatingPoint
from estimica.simulate.timed_model import TimedModel, finite_number

if TYPE_CHECKING:
    from estimica.simulate.frequency_run import FrequencyRun
    from estimica.simulate.modelica.frequency import ModelicaFrequency
    from estimica.simulate.response import Response
    from estimica.structure.sorted_system import SortedSystem

Numbers = Mapping[str, float]


class LinearisedModel(TimedModel):
    """Frequency responses of the equations, linearised symbolically at an operating point."""

    system: SortedSystem

    @abstractmethod
    def respond(self, experiment: Experiment) -> Response:
        """An experiment set up once, to be evaluated at many values of its tuners."""

    def frequency_experiment(
        self,
        omega: Sequence[float] | Vector,
        inputs: Numbers | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        transfers: Sequence[tuple[str, str]],
        wrt: Sequence[str] = (),
        operating_point: OperatingPoint = "steady",
    ) -> ModelicaFrequency:
        """Real and imaginary parts of G(jω) for each (output, input), for many tuner values.

        `omega` in rad/s; `inputs` are numbers, those of the operating point, which is the steady
        state found from the start values, or the start itself.
        """
        from estimica.simulate.frequency_run import checked_frequencies
        from estimica.simulate.modelica.frequency import ModelicaFrequency

        self._require_continuous()
        if operating_point not in ("steady", "start"):
            raise ModelError(
                "M161", f"operating_point '{operating_point}' is none of steady, start"
            )
        known = self.system.inputs
        for _, name in transfers:
            if name not in known:
                hint = did_you_mean(name, known) or f" (inputs: {', '.join(known)})"
                raise ModelError("M162", f"'{self.name}' has no input '{name}'{hint}")
        held = {n: finite_number(n, v) for n, v in (inputs or {}).items()}
        outputs = list(dict.fromkeys(y for y, _ in transfers))
        response = self.respond(
            Experiment([0.0], held, parameters or {}, start or {}, outputs, wrt)
        )
        places = [(outputs.index(y), known.index(u)) for y, u in transfers]
        return ModelicaFrequency(
            response, checked_frequencies(omega), places, steady=operating_point == "steady"
        )

    def frequency_response(
        self,
        omega: Sequence[float] | Vector,
        inputs: Numbers | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        output: str | None = None,
        input: str | None = None,
        operating_point: OperatingPoint = "steady",
    ) -> Complex:
        """G(jω) at angular frequencies in rad/s: (N,), or (N, ny, nu) of several signals."""
        found, _ = self.frequency_sensitivities(
            omega, inputs, parameters, start,
            output=output, input=input, operating_point=operating_point,
        )  # fmt: skip
        return found

    def frequency_sensitivities(
        self,
        omega: Sequence[float] | Vector,
        inputs: Numbers | None = None,
        parameters: Numbers | None = None,
        start: Numbers | None = None,
        *,
        wrt: Sequence[str] = (),
        output: str | None = None,
        input: str | None = None,
        operating_point: OperatingPoint = "steady",
    ) -> tuple[Complex, Complex]:
        """(G(jω), dG/dθ), the derivatives by `wrt` along the last axis.

        A steady operating point moves with the tuners: the derivatives know it.
        """
        self._require_continuous()
        outputs = [output] if output is not None else self.output_names() or self._outputs(None)
        names = [input] if input is not None else self.system.inputs
        experiment = self.frequency_experiment(
            omega, inputs, parameters, start,
            transfers=[(y, u) for y in outputs for u in names],
            wrt=wrt, operating_point=operating_point,
        )  # fmt: skip
        G, dG = _complex(self._found(experiment.at()))
        shape = (len(G), len(outputs), len(names))
        G, dG = G.reshape(shape), dG.reshape(*shape, dG.shape[-1])
        return (G[:, 0, 0], dG[:, 0, 0]) if shape[1:] == (1, 1) else (G, dG)

    @abstractmethod
    def _outputs(self, outputs: Sequence[str] | None) -> tuple[str, ...]:
        """The outputs that are meant where none is named."""

    def _found(self, run: FrequencyRun) -> FrequencyRun:
        if not run.ok:
            raise SimulationError("R043", f"'{self.name}': {run.text}")
        return run

    def _require_continuous(self) -> None:
        if not self.system.inputs:
            raise ModelError(
                "M163",
                f"'{self.name}' has no inputs, so it has no frequency response; declare the "
                "variable that is moved as an input",
            )
        if self.system.memories:
            listed = ", ".join(f"'{n}'" for n in self.system.memories[:3])
            raise ModelError(
                "M164",
                f"'{self.name}' has discrete variables ({listed}); a frequency response needs a "
                "model that is continuous in time",
            )


def _complex(run: FrequencyRun) -> tuple[Complex, Complex]:
    return run.Y[:, ::2] + 1j * run.Y[:, 1::2], run.YS[:, ::2] + 1j * run.YS[:, 1::2]
