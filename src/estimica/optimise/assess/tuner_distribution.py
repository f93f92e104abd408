"""Where a Monte Carlo draws the tuners of a fit from: its covariance, a bootstrap's sample, or the
posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from estimica.base.arrays import Vector
from estimica.base.errors import DesignError, StudyError
from estimica.estimate.fit.result import Fit
from estimica.estimate.run.fit import fit as search
from estimica.estimate.search.run import Status
from estimica.execute.carry import found_run
from estimica.execute.runs.record import StoredRun
from estimica.execute.runs.writer import NoRunWriter, RunWriter
from estimica.infer.bootstrap.result import MANY, Bootstrap
from estimica.infer.bootstrap.run import bootstrap
from estimica.infer.fit_checkpoint import checkpoint_of, fit_from_checkpoint
from estimica.infer.posterior.result import Posterior
from estimica.infer.posterior.run import sample
from estimica.optimise.assess.samples import Samples, drawn_jointly
from estimica.study.carry.names import matched_names
from estimica.study.carry.values import FoundValue, RunValues
from estimica.study.study import Study
from estimica.study.tables.inference import bootstrap_table, sample_table
from estimica.study.tables.optimisation import MontecarloTable
from estimica.study.tuner import Tuner

FIT, BOOTSTRAP, SAMPLE = "fit", "bootstrap", "sample"
SCATTERING = (FIT, BOOTSTRAP, SAMPLE)  # commands whose results say how their tuners scatter


@dataclass(frozen=True, eq=False)
class TunerDistribution:
    """Tuners with their estimates and how these scatter: a covariance, or a sample."""

    names: tuple[str, ...]
    values: Vector
    covariance: Vector | None = None
    sample: Vector | None = None  # (replicates, n)
    about: str = ""
    undetermined: Vector | None = None  # share of the sample that does not determine a tuner
    tuners: tuple[Tuner | None, ...] = ()  # as the study has them, with their scales and bounds
    units: tuple[str, ...] = ()

    def known_in(self, study: Study) -> TunerDistribution:
        """Only what a study's model knows, under its names there and in its units."""
        units = self.units or ("",) * len(self.names)
        pairs = zip(self.names, map(float, self.values), units, strict=True)
        tuners = {n: FoundValue(v, u) for n, v, u in pairs}
        try:
            match = matched_names(study, RunValues("", "", "", tuners, words=self.about))
        except StudyError as error:
            raise DesignError("O060", error.message) from None
        chosen = [self.names.index(c.origin) for c in match.carried]
        scale = np.array([c.convert.scale for c in match.carried], float)
        offset = np.array([c.convert.offset for c in match.carried], float)
        own = {t.name: t for t in study.tuners}
        return TunerDistribution(
            tuple(c.name for c in match.carried),
            self.values[chosen] * scale + offset,
            None
            if self.covariance is None
            else self.covariance[np.ix_(chosen, chosen)] * np.outer(scale, scale),
            None if self.sample is None else self.sample[:, chosen] * scale + offset,
            self.about,
            None if self.undetermined is None else self.undetermined[chosen],
            tuple(own.get(c.name) for c in match.carried),
        )

    def drawn(self, table: MontecarloTable) -> Samples:
        """As many draws as the table asks for."""
        seed = table.seed + 1  # not the draws of the other parameters
        if self.sample is not None:
            rows = np.random.default_rng(seed).integers(0, len(self.sample), table.samples)
            return Samples(self.names, self.sample[rows])
        assert self.covariance is not None
        # on a logarithmic scale by factors, so that what is positive stays so
        log = np.array([t is not None and t.scale == "log" for t in self.tuners], bool)
        log &= self.values > 0
        size = np.where(log, self.values, 1.0)
        q = np.where(log, np.log(size), self.values)
        covariance = self.covariance / np.outer(size, size)
        samples = drawn_jointly(self.names, q, covariance, table.samples, table.sampling, seed)
        with np.errstate(over="ignore"):
            free = np.where(log, np.exp(np.where(log, samples.values, 0.0)), samples.values)
        low, high = self._bounds
        return Samples(self.names, np.clip(free, low, high))

    @property
    def _bounds(self) -> tuple[Vector, Vector]:
        low = [-np.inf if t is None or t.min is None else t.min for t in self.tuners]
        high = [np.inf if t is None or t.max is None else t.max for t in self.tuners]
        return np.array(low, float), np.array(high, float)

    def remark(self, drawn: Samples) -> str:
        """What bounds have done to the draws, in words; empty where nothing."""
        remarks, own = [], drawn.values[:, : len(self.names)]
        for name, column, low, high in zip(self.names, own.T, *self._bounds, strict=True):
            share = float(np.mean((column == low) | (column == high)))
            if np.ptp(column) == 0:
                remarks.append(
                    f"'{name}' stays at {column[0]:.6g}: {self.about} has no error of it"
                )
            elif share > 0:
                remarks.append(f"'{name}' is at a bound in {100 * share:.2g} % of the samples")
        return "; ".join(remarks)


def tuner_distribution(
    study: Study,
    given: Fit | Bootstrap | Posterior | str,
    *,
    workers: int | None = 1,
    run: RunWriter | None = None,
    store: Path | None = None,
) -> TunerDistribution:
    """A fit, bootstrap or posterior; by name it is made first, or found in the store of runs."""
    if isinstance(given, str):
        if given in SCATTERING:
            given = _made(study, given, workers, run or NoRunWriter())
        else:
            return _stored(study, given, store).known_in(study)
    if isinstance(given, Posterior):
        return _of_posterior(given).known_in(study)
    if isinstance(given, Bootstrap):
        names, chosen = _tuners(given.fit)
        about = f"the bootstrap of '{given.fit.study.name}'"
        _require_replicates(about, len(given.values))
        sample, lost = given.values[:, chosen], given.undetermined[:, chosen]
        distribution = TunerDistribution(
            names,
            given.fit.values[chosen],
            None,
            sample,
            about,
            lost.mean(axis=0),
            units=_units(given.fit, chosen),
        )
        _require_trusted(about, given.failed, given.failed + given.replicates)
        return _determined(distribution.known_in(study))
    names, chosen = _tuners(given)
    if given.rough.reason:
        raise DesignError(
            "O097",
            f"the fit of '{given.study.name}' has no standard errors: {given.rough.reason}; use "
            f'source = "{BOOTSTRAP}"',
        )
    covariance = given.accuracy.covariance[np.ix_(chosen, chosen)]
    about = f"the fit of '{given.study.name}'"
    units = _units(given, chosen)
    known = TunerDistribution(names, given.values[chosen], covariance, None, about, units=units)
    return _determined(known.known_in(study))


def _of_posterior(given: Posterior) -> TunerDistribution:
    """The draws of all chains, if these agree."""
    about = f"the posterior of '{given.fit.study.name}'"
    _require_agreement(about, *given.outcome())
    names, chosen = _tuners(given.fit)
    draws = given.values.reshape(-1, given.fit.n_free)[:, chosen]
    values, units = given.fit.values[chosen], _units(given.fit, chosen)
    return TunerDistribution(names, values, None, draws, about, units=units)


def _require_agreement(about: str, status: str, message: str) -> None:
    if status != "done":
        raise DesignError("O107", f"{about} cannot be drawn from: {message}")


def _tuners(fit: Fit) -> tuple[tuple[str, ...], list[int]]:
    chosen = [k for k, u in enumerate(fit.unknowns.items) if u.kind == "tuner"]
    return tuple(fit.unknowns.items[k].name for k in chosen), chosen


def _units(fit: Fit, chosen: list[int]) -> tuple[str, ...]:
    return tuple(fit.unknowns.items[k].unit for k in chosen)


def _determined(source: TunerDistribution) -> TunerDistribution:
    """The same, if its data determine every tuner: where they do not, nobody knows its scatter."""
    if source.covariance is not None:
        lost = ~np.isfinite(np.diag(source.covariance))
        sure = bool(np.isfinite(source.covariance).all())
    else:
        assert source.undetermined is not None
        lost = source.undetermined > 0
        sure = not lost.any()
    if sure:
        return source
    bad = ", ".join(n for n, gone in zip(source.names, lost, strict=True) if gone)
    raise DesignError(
        "O061",
        f"{source.about} does not determine {bad or 'its tuners'}; fix them there, and give them a "
        "distribution of their own here",
    )


def _require_trusted(about: str, failed: int, done: int) -> None:
    if failed > MANY * done:
        raise DesignError(
            "O098",
            f"{about}: {failed} of {done} replicates failed, and those left may not scatter as "
            "the estimate does; look why they fail",
        )


def _require_replicates(about: str, count: int) -> None:
    if count < 2:
        raise DesignError("O062", f"{about} has {count} replicates to draw from; make more of them")


def _made(
    study: Study, what: str, workers: int | None, run: RunWriter
) -> Fit | Bootstrap | Posterior:
    """The fit of the cases with data, then what is asked of it; what is noted is not repeated.

    The criteria of the design do not count in it.
    """
    measured = [c for c in study.active_cases if c.data is not None]
    if not measured:
        raise DesignError(
            "O063",
            f"source = \"{what}\": study '{study.name}' has no case with data to fit; give data, "
            "or the name of a stored run",
        )
    measured_study = study.with_(cases=measured, criteria=())
    known = run.checkpoints().get("estimate")
    if known is None:
        fit = search(measured_study, workers=workers)
        if fit.outcome.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        note = checkpoint_of(fit)
        if note is not None:
            run.checkpoint("estimate", note)
            run.flush()
            fit = fit_from_checkpoint(measured_study, run.checkpoints().get("estimate", note))
    else:
        fit = fit_from_checkpoint(measured_study, known)
    if what == FIT:
        return fit
    if what == SAMPLE:
        return _sampled(study, fit, workers, run)
    table = study.tables.get("bootstrap", {})
    s = bootstrap_table(table if isinstance(table, dict) else {})
    replicates = bootstrap(
        fit,
        s.replicates,
        kind=s.kind,
        seed=s.seed,
        block_length=s.block_length,
        workers=workers,
        run=run,
    )
    if replicates.interrupted:
        raise KeyboardInterrupt
    return replicates


def _sampled(study: Study, fit: Fit, workers: int | None, run: RunWriter) -> Posterior:
    table = study.tables.get("sample", {})
    s = sample_table(table if isinstance(table, dict) else {})
    posterior = sample(
        fit,
        s.draws,
        chains=s.chains,
        warmup=s.warmup,
        method=s.method,
        acceptance=s.acceptance,
        seed=s.seed,
        workers=workers,
        run=run,
    )
    if posterior.interrupted:
        raise KeyboardInterrupt
    return posterior


def _stored(study: Study, name: str, store: Path | None) -> TunerDistribution:
    """The source that a run of `fit`, `bootstrap` or `sample` has left in the store."""
    if study.path is None and store is None:
        raise DesignError(
            "O064",
            f"source '{name}': a study that was not read from a file has no store of runs; give "
            "a fit, a bootstrap or a posterior",
        )
    run = found_run(study, name, store, SCATTERING, with_values=False).run
    command = run.summary.command
    if command not in SCATTERING:
        raise DesignError(
            "O065",
            f"source: run '{run.id}' is of '{command}', not of 'fit', 'bootstrap' or 'sample'",
        )
    parameters: Mapping[str, Any] = run.result.get("parameters", {})
    names = tuple(parameters)
    values = np.array([parameters[n]["value"] for n in names], float)
    units = tuple(str(parameters[n].get("unit") or "") for n in names)
    about = f"run '{run.id}'"
    if command == SAMPLE:
        outcome: Mapping[str, Any] = run.result.get("outcome", {})
        _require_agreement(about, str(outcome.get("status")), str(outcome.get("message")))
        draws = _draws(run, len(names))
        return TunerDistribution(names, values, None, draws, about, units=units).known_in(study)
    if command == BOOTSTRAP:
        replicates = _replicates(run, len(names))
        _require_replicates(about, len(replicates))
        failed = int(run.result.get("failed", 0))
        _require_trusted(about, failed, failed + len(replicates))
        lost = _undetermined(run, parameters)
        return _determined(
            TunerDistribution(names, values, None, replicates, about, lost, units=units).known_in(
                study
            )
        )
    matrix = run.result.get("covariance")
    if not names or matrix is None:
        raise DesignError("O066", f"{about} has no covariance to draw from; fit once more")
    covariance = np.array(matrix, float).reshape(len(names), len(names))
    known = TunerDistribution(names, values, covariance, None, about, units=units)
    return _determined(known.known_in(study))


def _undetermined(run: StoredRun, parameters: Mapping[str, Any]) -> Vector:
    """The share of the replicates that do not determine each tuner."""
    shares = [one.get("undetermined_share") for one in parameters.values()]
    if any(s is None for s in shares):
        raise DesignError(
            "O099",
            f"run '{run.id}' is of an older version and does not tell which tuners its data "
            "determine; make the bootstrap once more",
        )
    return np.array(shares, float)


def _replicates(run: StoredRun, count: int) -> Vector:
    """The tuners of all replicates, which come first among the unknowns."""
    rows = []
    for key, payload in run.checkpoints.items():
        value = payload.get("value") if isinstance(payload, Mapping) else None
        if key.startswith("replicate") and isinstance(value, Mapping) and "values" in value:
            rows.append(value["values"][:count])
    return np.array(rows, float).reshape(-1, count)


def _draws(run: StoredRun, count: int) -> Vector:
    """The tuners of all draws of all chains."""
    chains = [
        np.array(payload["value"]["values"], float)[:, :count]
        for key, payload in sorted(run.checkpoints.items())
        if key.startswith("chain") and isinstance(payload, Mapping) and "value" in payload
    ]
    return np.concatenate(chains)
