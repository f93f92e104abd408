"""OutputComparison: what was measured of an output and what the fitted model says of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from estimica.base.arrays import Complex, Flags, Vector
from estimica.base.errors import FitError
from estimica.base.suggest import did_you_mean
from estimica.estimate.unknowns import Unknown
from estimica.study.record.transfer import Transfer
from estimica.study.stretch import Partition

ROUNDING = 8 * float(np.finfo(float).eps)


def make_read_only(values: Iterable[object]) -> None:
    """Refuse assignments to elements of all arrays among some values."""
    for value in values:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)


@dataclass(frozen=True, eq=False)
class OutputComparison:
    """One output of one case: what was measured and what the fitted model says."""

    name: str
    column: str
    unit: str
    time: Vector
    measured: Vector
    simulated: Vector
    weight: float  # by which residuals were multiplied
    compared: Vector = field(repr=False)  # residuals as scored: transformed where the study says so
    reference: Vector = field(repr=False)  # measured values, transformed likewise
    is_input: bool = False  # an input with errors, as measured and as estimated
    #: of a frequency response, whose values are real and imaginary parts of c·G in turn
    transfer: Transfer | None = None
    prefilter: str = ""  # in words; residuals as scored and measured values are behind it
    passed: float = 1.0  # share of white noise that passes the prefilter, in variance
    transform: str = ""  # what is compared instead of the values, in words: log(y)
    #: σ of what is compared, where samples have their own
    sigma: Vector | None = field(default=None, repr=False)
    #: −1 where the value is only known to be at or below what was measured, 1 where above
    beyond: npt.NDArray[np.int8] | None = field(default=None, repr=False)
    distribution: str = "normal"  # of the noise

    def __post_init__(self) -> None:
        """Nobody changes what was compared by mistake."""
        make_read_only(vars(self).values())

    @property
    def censored(self) -> Flags:
        """Which samples are only known to lie beyond a detection limit."""
        return np.zeros(len(self.time), bool) if self.beyond is None else self.beyond != 0

    @property
    def residual(self) -> Vector:
        """Simulated − measured."""
        return self.simulated - self.measured

    @property
    def measured_response(self) -> Complex:
        """The measured frequency response, one complex number for each frequency."""
        return self._transfer.response(self.measured)

    @property
    def simulated_response(self) -> Complex:
        """The frequency response of the fitted model."""
        return self._transfer.response(self.simulated)

    @property
    def _transfer(self) -> Transfer:
        if self.transfer is None:
            raise FitError("F105", f"output '{self.name}' was measured over time; use measured")
        return self.transfer

    @property
    def rmse(self) -> float:
        """Root mean square of the residuals; of a frequency response √mean|ΔG|².

        Like the percentages it is one of the values themselves, whatever was compared of them.
        """
        missed, _ = self._judged
        return float(np.sqrt(np.mean(np.abs(missed) ** 2)))

    @property
    def fit_percent(self) -> float:
        """100 (1 − |residual| / |measured − mean|): 100 is perfect, 0 no better than the mean."""
        return _explained(*self._judged)

    @property
    def explained_percent(self) -> float:
        """The same of what was compared: of logarithms where the study says so."""
        return _explained(self.compared, self.reference) if self.transform else self.fit_percent

    @property
    def errn_percent(self) -> float:
        """100 |residual| / |measured|: the normed error."""
        residual, reference = self._judged
        size = float(np.linalg.norm(reference))
        return 100 * float(np.linalg.norm(residual)) / size if size else math.inf

    @property
    def _judged(self) -> tuple[Vector | Complex, Vector | Complex]:
        """Residuals and measured values by which the fit is judged; responses as they are.

        A transform is a matter of the search: nobody knows what 3 % of a logarithm are.
        """
        if self.transfer is None and self.transform:
            return self.residual, self.measured
        if self.transfer is None:
            return self.compared, self.reference
        return self.transfer.response(self.compared), self.transfer.response(self.reference)


def _explained(residual: Vector | Complex, reference: Vector | Complex) -> float:
    spread = float(np.linalg.norm(reference - reference.mean()))
    missed = float(np.linalg.norm(residual))
    # the mean of equal numbers differs from them by rounding
    if spread <= ROUNDING * float(np.linalg.norm(reference)):
        return 100.0 if missed == 0 else -math.inf
    return 100 * (1 - missed / spread)


@dataclass(frozen=True, eq=False)
class CaseFit:
    """One case: its outputs, and its own unknowns where it validates."""

    name: str
    role: str
    outputs: tuple[OutputComparison, ...]
    unknowns: tuple[Unknown, ...] = ()  # of a validating case; the others are in the fit
    values: Vector = field(default_factory=lambda: np.zeros(0))
    failure: str = ""  # why it could not be simulated

    def __post_init__(self) -> None:
        make_read_only([self.values])

    @property
    def names(self) -> list[str]:
        """Names of the outputs."""
        return [o.name for o in self.outputs]

    def __getitem__(self, name: str) -> OutputComparison:
        """One output."""
        for one in self.outputs:
            if one.name == name:
                return one
        raise FitError(
            "F010",
            f"case '{self.name}' has no output '{name}'"
            + (did_you_mean(name, self.names) or f" (there are {', '.join(self.names)})"),
        )


def joined_stretches(parts: Sequence[CaseFit], partition: Partition) -> tuple[CaseFit, ...]:
    """The cases as the study has them: stretches between gaps in one."""
    by_case: dict[str, list[CaseFit]] = {}
    for one in parts:
        by_case.setdefault(partition.case_of(one.name), []).append(one)
    return tuple(own[0] if len(own) == 1 else _joined(own) for own in by_case.values())


def _joined(parts: Sequence[CaseFit]) -> CaseFit:
    first, whole = parts[0], [p for p in parts if not p.failure]
    failures = [p.failure for p in parts if p.failure]
    names = dict.fromkeys(o.name for p in whole for o in p.outputs)
    return replace(
        first,
        outputs=tuple(_one_output([p[n] for p in whole if n in p.names]) for n in names),
        unknowns=tuple(u for p in parts for u in p.unknowns),
        values=np.concatenate([p.values for p in parts]),
        failure=failures[0] if failures else "",
    )


def _one_output(parts: Sequence[OutputComparison]) -> OutputComparison:
    """An output in all stretches of its case, one behind the other."""
    first, sizes = parts[0], [len(p.time) for p in parts]
    sigmas = [p.sigma for p in parts if p.sigma is not None]
    limits = [p.beyond for p in parts if p.beyond is not None]
    return replace(
        first,
        time=np.concatenate([p.time for p in parts]),
        measured=np.concatenate([p.measured for p in parts]),
        simulated=np.concatenate([p.simulated for p in parts]),
        compared=np.concatenate([p.compared for p in parts]),
        reference=np.concatenate([p.reference for p in parts]),
        passed=float(np.average([p.passed for p in parts], weights=sizes)),
        sigma=np.concatenate(sigmas) if sigmas else None,
        beyond=np.concatenate(limits) if limits else None,
    )
