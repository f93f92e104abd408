"""A table of two variables as an expression: along its rows first, then between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.source.evaluate.values import Array
from estimica.source.external.host import Host
from estimica.source.external.tables.curve import as_helpers, interpolate
from estimica.source.external.tables.points import Curve, Extrapolation, Smoothness

_HALF, _TWO, _THREE = ex.const(0.5), ex.const(2.0), ex.const(3.0)


@dataclass(frozen=True, slots=True)
class Surface:
    """Values z[i, j] at (x[i], y[j])."""

    xs: tuple[Expression, ...]
    ys: tuple[Expression, ...]
    zs: Array
    smoothness: Smoothness
    extrapolation: Extrapolation


def interpolate_surface(host: Host, surface: Surface, u1: Expression, u2: Expression) -> Expression:
    """The value of `surface` at (u1, u2)."""
    xs, ys, zs = surface.xs, surface.ys, surface.zs
    smoothness, extrapolation = surface.smoothness, surface.extrapolation
    if smoothness is Smoothness.AKIMA and len(xs) <= 2 and len(ys) <= 2:
        smoothness = Smoothness.LINEAR
    if len(xs) == 1:
        return interpolate(host, Curve(ys, tuple(zs[0]), smoothness, extrapolation), u2)
    if len(ys) == 1:
        return interpolate(host, Curve(xs, tuple(zs[:, 0]), smoothness, extrapolation), u1)
    if smoothness is Smoothness.AKIMA:
        return _bicubic(host, surface, u1, u2)
    if smoothness not in (Smoothness.LINEAR, Smoothness.CONSTANT):
        host.refuse(
            f"the smoothness {smoothness.name} of a table of two variables",
            "use linear segments, constant segments or an Akima spline",
        )
    value = _tensor(host, replace(surface, smoothness=smoothness), u1, u2)
    if smoothness is Smoothness.CONSTANT and extrapolation is Extrapolation.LAST_TWO_POINTS:
        # outside, the library goes on along the plane through four points in both directions
        inside = ex.logical_and(_within(u1, xs), _within(u2, ys))
        plane = _tensor(host, replace(surface, smoothness=Smoothness.LINEAR), u1, u2)
        return ex.conditional(inside, value, plane)
    return value


def _within(u: Expression, xs: Sequence[Expression]) -> Expression:
    return ex.logical_and(ex.relation("ge", u, xs[0]), ex.relation("le", u, xs[-1]))


def _tensor(host: Host, surface: Surface, u1: Expression, u2: Expression) -> Expression:
    def curve(xs: tuple[Expression, ...], ys: tuple[Expression, ...]) -> Curve:
        return Curve(xs, ys, surface.smoothness, surface.extrapolation)

    along = tuple(interpolate(host, curve(surface.ys, tuple(row)), u2) for row in surface.zs)
    return interpolate(host, curve(surface.xs, along), u1)


# --- Akima's surfaces (Comm. ACM 17(1), 1974) ---


def _bicubic(host: Host, surface: Surface, u1: Expression, u2: Expression) -> Expression:
    """Cubic in both directions: values and slopes across are cubic along every row."""
    by_x, by_y, by_both = (
        np.array(as_helpers(host, list(d.flat)), dtype=object).reshape(d.shape)
        for d in _derivatives(surface)
    )

    def along(values: Array, slopes: Array) -> tuple[Expression, ...]:
        return tuple(
            interpolate(host, _spline(surface, surface.ys, tuple(v), tuple(s)), u2)
            for v, s in zip(values, slopes, strict=True)
        )

    values, slopes = along(surface.zs, by_y), along(by_x, by_both)
    return interpolate(host, _spline(surface, surface.xs, values, slopes), u1)


def _spline(
    surface: Surface,
    xs: tuple[Expression, ...],
    values: tuple[Expression, ...],
    slopes: tuple[Expression, ...],
) -> Curve:
    return Curve(xs, values, Smoothness.AKIMA, surface.extrapolation, slopes=slopes)


def _derivatives(surface: Surface) -> tuple[Array, Array, Array]:
    """∂z/∂x, ∂z/∂y and ∂²z/∂x∂y at every point."""
    x, y = _extended_axis(surface.xs), _extended_axis(surface.ys)
    wide = np.array([_extended(y, list(row)) for row in surface.zs], dtype=object)
    z = np.array([_extended(x, list(column)) for column in wide.T], dtype=object).T
    across_x = _secants(x, z)  # [k, j]: from x[k] to x[k+1]
    across_y = _secants(y, z.T).T
    twist = _secants(x, across_y)  # [k, l]: the mixed difference of a cell
    shape = surface.zs.shape
    by_x, by_y, by_both = (np.empty(shape, dtype=object) for _ in range(3))
    for i, j in np.ndindex(*shape):
        by_x[i, j], wx = _mean(list(across_x[i : i + 4, j + 2]))
        by_y[i, j], wy = _mean(list(across_y[i + 2, j : j + 4]))
        cells = twist[i + 1 : i + 3, j + 1 : j + 3]
        weighted = ex.total(
            ex.mul(ex.mul(wx[k], wy[m]), cells[k, m]) for k in range(2) for m in range(2)
        )
        by_both[i, j] = ex.div(weighted, ex.mul(ex.add(*wx), ex.add(*wy)))
    return by_x, by_y, by_both


def _secants(x: Sequence[Expression], z: Any) -> Array:
    """Divided differences along the first index of z."""
    result = np.empty((len(x) - 1, z.shape[1]), dtype=object)
    for k, j in np.ndindex(*result.shape):
        result[k, j] = ex.div(ex.sub(z[k + 1, j], z[k, j]), ex.sub(x[k + 1], x[k]))
    return result


def _mean(d: Sequence[Expression]) -> tuple[Expression, tuple[Expression, Expression]]:
    """Akima's mean of the two middle secants of four, and the weights of both."""
    first = ex.call("abs", ex.sub(d[3], d[2]))
    second = ex.call("abs", ex.sub(d[1], d[0]))
    total = ex.add(first, second)
    bent = ex.relation("gt", total, ex.ZERO)
    mean = ex.div(ex.add(ex.mul(first, d[1]), ex.mul(second, d[2])), total)
    level = ex.mul(_HALF, ex.add(d[1], d[2]))
    weights = ex.conditional(bent, first, ex.ONE), ex.conditional(bent, second, ex.ONE)
    return ex.conditional(bent, mean, level), weights


def _extended_axis(x: Sequence[Expression]) -> list[Expression]:
    """Two more places beyond each end, as far apart as the last ones are."""
    if len(x) == 2:
        return _straight(x)
    return [
        ex.sub(ex.mul(_TWO, x[0]), x[2]),
        ex.sub(ex.add(x[0], x[1]), x[2]),
        *x,
        ex.sub(ex.add(x[-1], x[-2]), x[-3]),
        ex.sub(ex.mul(_TWO, x[-1]), x[-3]),
    ]


def _extended(x: Sequence[Expression], z: Sequence[Expression]) -> list[Expression]:
    """Two more values beyond each end, on the parabola through the last three."""
    if len(z) == 2:
        return _straight(z)
    left = _beyond(x[4], x[3], x[2], x[1], x[0], z[2], z[1], z[0])
    right = _beyond(x[-5], x[-4], x[-3], x[-2], x[-1], z[-3], z[-2], z[-1])
    return [left[1], left[0], *z, *right]


def _straight(z: Sequence[Expression]) -> list[Expression]:
    def on(a: Expression, b: Expression, k: Expression, m: Expression) -> Expression:
        return ex.sub(ex.mul(k, a), ex.mul(m, b))

    return [
        on(z[0], z[1], _THREE, _TWO),
        on(z[0], z[1], _TWO, ex.ONE),
        *z,
        on(z[1], z[0], _TWO, ex.ONE),
        on(z[1], z[0], _THREE, _TWO),
    ]


def _beyond(
    x1: Expression, x2: Expression, x3: Expression, x4: Expression, x5: Expression,
    z1: Expression, z2: Expression, z3: Expression,
) -> tuple[Expression, Expression]:  # fmt: skip
    """The values at x4 and x5 after those at x1, x2, x3: secants change by equal amounts."""
    first = ex.div(ex.sub(z2, z1), ex.sub(x2, x1))
    second = ex.div(ex.sub(z3, z2), ex.sub(x3, x2))
    third = ex.sub(ex.mul(_TWO, second), first)
    z4 = ex.add(z3, ex.mul(ex.sub(x4, x3), third))
    fourth = ex.sub(ex.add(third, second), first)
    return z4, ex.add(z4, ex.mul(ex.sub(x5, x4), fourth))
