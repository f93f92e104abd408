"""Options and Pieces: what a run is given, for whoever asks for one without loading the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Vector
from estimica.base.errors import ModelError
from estimica.base.public.calls import with_known_keywords
from estimica.base.suggest import did_you_mean
from estimica.simulate.engine import layout as at

IMPLICIT_EULER = "implicit-euler"
METHODS = {
    "auto": at.AUTOMATIC,
    "explicit": at.EXPLICIT,
    "implicit": at.IMPLICIT,
    IMPLICIT_EULER: at.EULER,
}


@with_known_keywords()
@dataclass(frozen=True, kw_only=True)
class Options:
    """Tolerances and limits of a run.

    The local error of a step is at most `rtol` |x| + `atol`; for sensitivities `atol` is divided by
    the tuner's scale. `max_steps` counts between two samples or input changes.

    The tolerances are chosen: errors of a run, some hundred times `rtol` at worst, stay far below
    those of measurements (1e-3), and a fit does not end where simulations are noise.
    """

    rtol: float = 1e-6  # relative tolerance of a step
    atol: float | tuple[float, ...] = 1e-8  # one for all states, or one each
    tuner_scales: tuple[float, ...] = ()  # typical sizes of the tuners; empty: 1
    method: str = "auto"  # "explicit", "implicit", "implicit-euler"
    step: float = 0.0  # of implicit Euler, which controls no error
    sensitivities_in_error_test: bool = True  # whether they bound the step too
    max_step: float = math.inf  # with events at most a hundredth of the run
    first_step: float = 0.0  # 0: chosen
    max_steps: int = 100_000  # between two samples or input changes
    max_seconds: float = math.inf  # on the clock

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            hint = did_you_mean(self.method, METHODS)
            raise ModelError(
                "M060", f"method '{self.method}' is none of {', '.join(METHODS)}{hint}"
            )
        if self.method == IMPLICIT_EULER and not 0 < self.step < math.inf:
            raise ModelError(
                "M063",
                f"step {self.step:g}: implicit Euler has steps of one length, which it must be "
                "given: step = 0.1 (seconds)",
            )
        if self.method != IMPLICIT_EULER and self.step:
            raise ModelError(
                "M064",
                f"step {self.step:g} goes with method '{IMPLICIT_EULER}'; method '{self.method}' "
                "chooses its steps by their errors: leave step out, or set max_step",
            )
        if not 1e-15 <= self.rtol < 1:
            raise ModelError("M061", f"rtol {self.rtol:g} is not between 1e-15 and 1")
        if not np.all(np.asarray(self.atol) > 0):
            raise ModelError("M062", f"atol {self.atol} is not positive")

    @property
    def adaptive(self) -> Options:
        """The same with steps that follow the error, for runs that look for a rest."""
        return replace(self, method="auto", step=0.0) if self.step else self


def require_adaptive(options: object, model: str) -> None:
    """Refuse implicit Euler where a model has no equations that we could integrate by it."""
    if isinstance(options, Options) and options.method == IMPLICIT_EULER:
        raise ModelError(
            "M065",
            f"model '{model}' is not integrated by equations of its own, so that implicit Euler "
            'cannot be asked for; take method "auto", or a Modelica model',
        )


DEFAULT = Options()


@dataclass(frozen=True, eq=False)
class Pieces:
    """Inputs, piece by piece: u(t) = values[q] + slopes[q] (t - starts[q]) from starts[q] on."""

    starts: Vector  # (nq,), the first is the start of the run
    values: Vector  # (nq, nu)
    slopes: Vector  # (nq, nu)

    @cached_property
    def addresses(self) -> tuple[int, int, int, int]:
        """For compiled code: where starts are, how many, where values and slopes are."""
        arrays = (self.starts, self.values, self.slopes)
        assert all(a.flags.c_contiguous and a.dtype == np.float64 for a in arrays)
        starts, values, slopes = (a.ctypes.data for a in arrays)
        return starts, len(self.starts), values, slopes

    @staticmethod
    def of(
        starts: npt.ArrayLike, values: npt.ArrayLike = (), slopes: npt.ArrayLike | None = None
    ) -> Pieces:
        """Pieces from anything array-like; no slopes: constant pieces."""
        begin = np.atleast_1d(np.ascontiguousarray(starts, np.float64))
        level = np.ascontiguousarray(values, np.float64).reshape(len(begin), -1)
        rise = np.zeros_like(level) if slopes is None else np.asarray(slopes, np.float64)
        return Pieces(begin, level, np.ascontiguousarray(rise).reshape(level.shape))

    @staticmethod
    def none(start: float = 0.0) -> Pieces:
        """For a model without inputs."""
        return Pieces(np.array([start]), np.zeros((1, 0)), np.zeros((1, 0)))
