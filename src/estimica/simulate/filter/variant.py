"""VariantRun: a variant of a filter, run from the start of a record with other pieces of inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import SimulationError
from estimica.compiled.filter import FilterSystem
from estimica.compiled.filter_variants import FilterVariant
from estimica.compiled.kernel import Kernel, build_kernel
from estimica.simulate.engine.options import Options, Pieces
from estimica.simulate.engine.result import Run
from estimica.simulate.engine.run import RunStart, integrate
from estimica.simulate.filter.differences.response import DifferenceRun
from estimica.simulate.filter.response import FilterConfiguration, FilterResponse

Made = Callable[[FilterSystem], FilterVariant]


@dataclass(frozen=True, eq=False)
class CompiledVariant:
    """A variant with its kernel; shared by all records of a configuration."""

    variant: FilterVariant
    kernel: Kernel


_kept: WeakKeyDictionary[FilterConfiguration, dict[Made, CompiledVariant]] = WeakKeyDictionary()


def compiled_variant(configuration: FilterConfiguration, made: Made) -> CompiledVariant:
    """The variant that `made` makes of a filter, compiled once."""
    own = _kept.setdefault(configuration, {})
    if made not in own:
        variant = made(configuration.system)
        own[made] = CompiledVariant(variant, build_kernel(variant.hybrid, variant.columns, False))
    return own[made]


def run_variant(
    response: FilterResponse,
    made: Made,
    theta: Vector | None,
    pieces: Pieces,
    times: Vector,
    tolerances: Vector | None = None,
    start_at: RunStart | None = None,
) -> Vector:
    """The columns of a variant at the times; `tolerances` are those of its further states.

    `start_at` is where the filter stands as it begins, in place of the start of the record.
    """
    c = compiled_variant(response.configuration, made)
    where = response.begun(response.values_at(theta))
    start = where.run if start_at is None else start_at
    further = np.array(c.variant.further).ravel()
    n = len(start.x) - c.kernel.hybrid.n_memory
    x = np.concatenate([start.x[:n], further, start.x[n:]])
    begun = RunStart(x, np.zeros((len(x), 0)), start.z, start.d)
    own = np.full(len(further), 1.0) if tolerances is None else tolerances
    options = _with_tolerances(response.options, n, own)
    run = integrate(c.kernel, where.point.P, begun, pieces, times, options)
    require_done(run)
    return run.Y


def require_done(run: Run | DifferenceRun) -> None:
    """Refuse to go on with half a run."""
    if not run.ok:
        where = f" at {run.time:g} s" if isinstance(run, Run) else ""
        raise SimulationError(
            "R061",
            f"the filter does not reach the end of the data: {run.text}{where}; give "
            "tighter tolerances in [solver], or look at the fit itself",
        )


def _with_tolerances(options: Options, n: int, own: Vector) -> Options:
    atol = np.asarray(options.atol, float)
    return replace(options, atol=tuple(np.concatenate([atol[:n], own, atol[n:]])), tuner_scales=())
