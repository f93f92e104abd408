"""Laws: lines, polynomials, powers and exponentials tried on points, the most likely first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from estimica.base import view as show
from estimica.base.arrays import Indices, Vector
from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.base.text import short
from estimica.base.view import Table
from estimica.infer.backcalculation.formulas import CannotFit, Shape, constant, shapes
from estimica.infer.backcalculation.law import Law, LawParameter

#: the simplest first
KINDS = (
    "constant",
    "line",
    "power",
    "exponential",
    "logarithmic",
    "reciprocal",
    "arrhenius",
    "polynomial",
)
ERRORS = ("absolute", "relative")
TIED = 2.0  # a difference in AICc that says nothing (Burnham and Anderson 2002)
#: relative error of points that a formula meets exactly: some hundred times 2.2e-16
ROUNDING = 1e-13
#: most points that are left out one by one; more go in folds. Chosen: each is one fit of every law
LEAVE_ONE_OUT = 60
FOLDS = 10  # customary (Kohavi 1995)
#: so many points say the same in fewer folds. Chosen: it saves time, a quarter left out is no loss
MANY, FEW_FOLDS = 5000, 4
#: points that a law needs above its parameters: AICc divides by n − k − 1, k = p + 1 with the noise
SPARE = 3


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of one quantity in others, ranked by AICc, and those that could not be tried.

    Among those that AICc cannot tell from the best (within 2) the simplest comes first.
    """

    target: str
    ranked: tuple[Law, ...]
    excluded: tuple[tuple[str, str], ...]  # which law, and why
    n_points: int
    scale: float = 1.0  # size of the values that the errors of the laws refer to

    @property
    def best(self) -> Law:
        """The first of the ranking."""
        return self.ranked[0]

    @property
    def tied(self) -> tuple[Law, ...]:
        """The laws that these points cannot tell from the best one."""
        return tuple(law for law in self.ranked if law.delta < TIED)

    @property
    def verdict(self) -> str:
        """What the ranking says, in words."""
        return verdict(self)

    def __getitem__(self, name: str) -> Law:
        """The best law of this label or kind."""
        for law in self.ranked:
            if name in (law.label, law.kind):
                return law
        for label, reason in self.excluded:
            if label.split(" in ")[0] == name:
                raise InferError(
                    "I604", f"the {name} law of {self.target} was not fitted: {reason}"
                )
        labels = list(dict.fromkeys(law.label for law in self.ranked))
        hint = did_you_mean(name, labels) or f" (there are {', '.join(labels)})"
        raise InferError("I603", f"there is no law '{name}'{hint}")

    def table(self) -> show.Table:
        """A row for each law."""
        return table(self)

    def __repr__(self) -> str:
        return show.text(self.table())

    def _repr_html_(self) -> str:
        return show.html(self.table())


def fit_laws(
    target: str,
    values: Sequence[float] | Vector,
    regressors: Mapping[str, Sequence[float] | Vector],
    *,
    kinds: Sequence[str] = KINDS,
    max_degree: int = 4,
    together: int = 2,
    errors: str = "absolute",
    seed: int = 1,
) -> Laws:
    """Laws of `values` in each of the regressors and in up to `together` of them at once.

    Every law minimises the same sum, Σ (law − value)² or, with errors="relative", that of
    (law/value − 1)², so that AICc = n·log(S/n) + 2k + 2k(k+1)/(n−k−1) compares them, with k the
    parameters and the variance (Burnham and Anderson, 2002). A polynomial gets a further degree
    where that lowers AICc by more than 2. `cv_rmse` is the error at points left out of the fit,
    one by one, or in folds drawn with `seed` where there are many.
    """
    points = _Points.of(target, values, regressors, errors)
    _check_kinds(kinds)
    laws: list[Law] = []
    excluded: list[tuple[str, str]] = []
    for names, shape in _candidates(tuple(regressors), kinds, max_degree, together):
        try:
            laws.append(_fitted(shape, points, names))
        except CannotFit as reason:
            excluded.append((_label(shape), str(reason)))
    laws = _of_best_degree(laws)
    excluded = _shortest(excluded, laws)
    if not laws:
        raise InferError(
            "I602", f"no law of '{target}' can be fitted: {exclusions_in_words(excluded)}"
        )
    low = min(law.aicc for law in laws)
    total = sum(math.exp(-(law.aicc - low) / 2) for law in laws)
    folds = _folds(len(points.y), seed)
    scored = [
        replace(
            law,
            delta=law.aicc - low,
            share=math.exp(-(law.aicc - low) / 2) / total,
            cv_rmse=_left_out(law, points, folds),
        )
        for law in laws
    ]
    scored.sort(key=_rank)
    scale = float(np.sqrt(np.mean((points.weight * points.y) ** 2)))
    return Laws(target, tuple(scored), tuple(excluded), len(points.y), scale)


def exclusions_in_words(excluded: Sequence[tuple[str, str]]) -> str:
    """Laws that were not tried, in words: those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for label, why in excluded:
        reasons.setdefault(why, []).append(label)
    return "; ".join(f"{', '.join(labels)}: {why}" for why, labels in reasons.items())


@dataclass(frozen=True, eq=False)
class _Points:
    """What laws are fitted to: points at which everything is a number."""

    target: str
    y: Vector
    regressors: Mapping[str, Vector]
    weight: Vector

    @classmethod
    def of(
        cls,
        target: str,
        values: Sequence[float] | Vector,
        regressors: Mapping[str, Sequence[float] | Vector],
        errors: str,
    ) -> _Points:
        y = np.asarray(values, np.float64)
        columns = {n: np.asarray(x, np.float64) for n, x in regressors.items()}
        for n, x in columns.items():
            if x.shape != y.shape or y.ndim != 1:
                raise InferError("I600", f"'{n}' has {x.size} values, '{target}' {y.size}")
        usable = np.isfinite(y)
        for x in columns.values():
            usable &= np.isfinite(x)
        if errors not in ERRORS:
            raise InferError(
                "I601", f"errors '{errors}'{did_you_mean(errors, ERRORS)}: absolute or relative"
            )
        y = y[usable]
        if errors == "relative" and not y.all():
            raise InferError(
                "I605", f"relative errors: '{target}' is 0 at a point; take absolute errors"
            )
        weight = 1 / np.abs(y) if errors == "relative" else np.ones(len(y))
        return cls(target, y, {n: x[usable] for n, x in columns.items()}, weight)

    def matrix(self, names: Sequence[str]) -> Vector:
        return np.array([self.regressors[n] for n in names]).reshape(len(names), len(self.y))


def _check_kinds(kinds: Sequence[str]) -> None:
    for kind in kinds:
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS) or f" (there are {', '.join(KINDS)})"
            raise InferError("I603", f"there is no law '{kind}'{hint}")
    if not kinds:
        raise InferError("I603", f"name at least one law: {', '.join(KINDS)}")


def _candidates(
    names: tuple[str, ...], kinds: Sequence[str], max_degree: int, together: int
) -> list[tuple[tuple[str, ...], Shape]]:
    candidates: list[tuple[tuple[str, ...], Shape]] = (
        [((), constant())] if "constant" in kinds else []
    )
    for count in range(1, together + 1):
        for chosen in combinations(names, count):
            # products of several regressors grow fast in number
            degree = max_degree if count == 1 else min(max_degree, 3)
            candidates += [(chosen, s) for s in shapes(chosen, kinds, degree)]
    return candidates


def _label(shape: Shape) -> str:
    return shape.label + (f" in {', '.join(shape.regressors)}" if shape.regressors else "")


def _fitted(shape: Shape, points: _Points, names: tuple[str, ...]) -> Law:
    n, p = len(points.y), len(shape.symbols)
    X = points.matrix(names)
    shape.require(X)
    if n < p + SPARE:
        few = "1 parameter needs" if p == 1 else f"{p} parameters need"
        raise CannotFit(f"{few} at least {p + SPARE} points, there are {n}")
    for name, x in zip(names, X, strict=True):
        if not np.ptp(x):
            raise CannotFit(f"{name} is {x[0]:.4g} at all points")
    parameters = shape.fit(X, points.y, points.weight)
    residual = points.weight * (shape.value(parameters, X) - points.y)
    # points that are met to rounding shall not be told apart by it
    floor = n * ROUNDING**2 * float(np.mean((points.weight * points.y) ** 2))
    square = max(float(residual @ residual), floor) or 1e-300
    stderr = _stderr(shape.slopes(parameters, X) * points.weight[:, None], square / (n - p))
    mean = np.average(points.y, weights=points.weight**2)
    total = float(((points.weight * (points.y - mean)) ** 2).sum())
    k = p + 1
    return Law(
        target=points.target,
        shape=shape,
        parameters={
            s: LawParameter(float(v), float(e))
            for s, v, e in zip(shape.symbols, parameters, stderr, strict=True)
        },
        r_squared=1 - square / total if total > 0 else math.nan,
        rmse=math.sqrt(square / n),
        aicc=n * math.log(square / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1),
    )


def _stderr(slopes: Vector, variance: float) -> Vector:
    size = np.sqrt((slopes**2).sum(axis=0))
    size[size == 0] = 1.0
    inverse = np.linalg.pinv(np.linalg.qr(slopes / size, mode="r"))
    return np.asarray(np.sqrt(variance * (inverse**2).sum(axis=1)) / size)


def _of_best_degree(laws: Sequence[Law]) -> list[Law]:
    """Of the polynomials in the same regressors only one: the next degree must earn its keep."""
    best: dict[tuple[str, ...], Law] = {}
    for law in laws:  # degrees rise
        if law.kind == "polynomial":
            rival = best.get(law.regressors)
            if rival is None or law.aicc < rival.aicc - TIED:
                best[law.regressors] = law
    return [law for law in laws if law.kind != "polynomial" or best[law.regressors] is law]


def _shortest(excluded: Sequence[tuple[str, str]], laws: Sequence[Law]) -> list[tuple[str, str]]:
    """Polynomials of high degree are not missed where one of a lower degree was fitted."""
    fitted = {law.regressors for law in laws if law.kind == "polynomial"}
    kept: list[tuple[str, str]] = []
    told: set[str] = set()
    for label, why in excluded:
        _, _, names = label.partition(" in ")
        polynomial = label.startswith("polynomial")
        if polynomial and (tuple(names.split(", ")) in fitted or names in told):
            continue
        if polynomial:
            told.add(names)
        kept.append((label, why))
    return kept


def _rank(law: Law) -> tuple[bool, int, float, int]:
    """Among laws that AICc cannot tell apart the simplest is first, then AICc decides."""
    tied = law.delta < TIED
    count = len(law.parameters) if tied else 0
    return not tied, count, round(law.delta, 6), KINDS.index(law.kind)


def _folds(n: int, seed: int) -> list[Indices]:
    if n <= LEAVE_ONE_OUT:
        return [np.array([k]) for k in range(n)]
    order = np.random.default_rng(seed).permutation(n)
    count = FOLDS if n <= MANY else FEW_FOLDS
    return [np.sort(order[k::count]) for k in range(count)]


def _left_out(law: Law, points: _Points, folds: Sequence[Indices]) -> float:
    """Root mean square of the errors at points that the fit has not seen; NaN where it fails."""
    X = points.matrix(law.regressors)
    start = np.array([p.value for p in law.parameters.values()])
    square = 0.0
    for fold in folds:
        kept = np.ones(len(points.y), bool)
        kept[fold] = False
        try:
            parameters = law.shape.fit(X[:, kept], points.y[kept], points.weight[kept], start)
        except CannotFit:
            return math.nan
        missed = law.shape.value(parameters, X[:, fold]) - points.y[fold]
        square += float(((points.weight[fold] * missed) ** 2).sum())
    return math.sqrt(square / len(points.y))


# --- how they show themselves --------------------------------------------------------------------


MOST = 12  # rows; chosen: the rest is clearly worse, and their number is told
#: relative error of points that were computed by the formula that is found. Chosen: no sensor is as
#: good, and a file with eleven digits is still seen
EXACT = 1e-10


def verdict(laws: Laws) -> str:
    """Which law is the likely one, and whether the points can say so."""
    best, tied = laws.best, laws.tied  # the simplest of them is the first
    if best.rmse <= EXACT * laws.scale and len(best.regressors) > 1:
        return (
            f"{_named(best)} meets all points to rounding: {best.short}; {laws.target} was "
            "computed from these by just that formula, or the data have no noise; look at it "
            "against something else"
        )
    if len(tied) == 1:
        words = f"{_named(best)} describes {laws.target} best: {best.short}"
        rest = [law for law in laws.ranked if law is not best]
        if rest:
            words += f"; the next, {_named(rest[0])}, is {rest[0].delta:.3g} worse in AICc"
    else:
        names = [_named(law) for law in tied]
        listed = ", ".join(names[:-1]) + " and " + names[-1]
        words = (
            f"{listed} cannot be told apart by these {laws.n_points} points (AICc within 2); the "
            f"first is {_named(best)}, {best.short}; points over a wider range would tell"
        )
    preferred = min(
        (law for law in laws.ranked if law.cv_rmse == law.cv_rmse),
        key=lambda law: law.cv_rmse,
        default=best,
    )
    if preferred not in tied:
        words += f"; cross-validation prefers {_named(preferred)}"
    return words


def _named(law: Law) -> str:
    return law.label + (f" in {' and '.join(law.regressors)}" if law.regressors else "")


def table(laws: Laws) -> Table:
    """A row for each law, the most likely first."""
    columns = ("law", "formula", "AICc above best", "weight", "RMSE", "left out", "R²")
    rows = tuple(
        (
            law.label,
            law.short,
            short(law.delta),
            round(law.share, 3),
            short(law.rmse),
            short(law.cv_rmse) if law.cv_rmse == law.cv_rmse else None,
            round(law.r_squared, 5),
        )
        for law in laws.ranked[:MOST]
    )
    note = laws.verdict + "."
    if len(laws.ranked) > MOST:
        note += f" {len(laws.ranked) - MOST} further laws are worse."
    if laws.excluded:
        note += f" Not tried: {exclusions_in_words(laws.excluded)}."
    return Table(columns, rows, f"Laws of {laws.target}", note)
