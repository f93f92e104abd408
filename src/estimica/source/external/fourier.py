"""The twin of the fast Fourier transform of the Modelica Standard Library."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence

from estimica.flat import expression as ex
from estimica.flat.expression import Expression
from estimica.flat.foreign import fourier
from estimica.flat.function import Choice, FlatFunction, Foreign, flat_function, invoke
from estimica.source.evaluate.values import Value, Written, is_array, make_array
from estimica.source.external.host import Host, Twin, scalar, whole

_WHY = "it is the size of a Fourier transform"
#: points of a transform that is summed up by its definition; one of n points and one of m points
#: make one of n m points, with fewer dependencies than n² m²
_MOST_AT_ONCE = 100

Complex = tuple[Expression, Expression]


def _real_transform(host: Host, a: Sequence[Value]) -> Written:
    """samples, their number n, work, its size, amplitudes, phases; what is returned is 0 if good.

    Amplitudes are divided by the number n/2 + 1 of frequencies.
    """
    count = whole(host, a[1], _WHY)
    if count % 2:
        return Written({}, ex.ONE)
    if whole(host, a[3], _WHY) < 3 * count + 2 * (count // 2 + 1):
        return Written({}, ex.const(2))
    assert is_array(a[0])
    samples = [(scalar(x), ex.ZERO) for x in a[0]]
    lines = _transform(samples, host.condition())[: count // 2 + 1]
    amplitudes = [ex.div(_size(*line), ex.const(len(lines))) for line in lines]
    phases = [ex.call("atan2", im, re) for re, im in lines]
    return Written({4: make_array(amplitudes), 5: make_array(phases)}, ex.ZERO)


def _size(re: Expression, im: Expression) -> Expression:
    """Its slope is not asked for where it is zero, which has none there."""
    square = ex.add(ex.mul(re, re), ex.mul(im, im))
    if square.op == "const":
        return ex.call("sqrt", square)
    positive = ex.relation("gt", square, ex.ZERO)
    return ex.conditional(ex.node("noEvent", positive), ex.call("sqrt", square), ex.ZERO)


def _transform(x: Sequence[Complex], active: Expression) -> list[Complex]:
    """The transform of all points; zeros as long as `active` does not hold (Cooley and Tukey)."""
    n = len(x)
    few = max((k for k in range(2, math.isqrt(n) + 1) if n % k == 0), default=1)
    if n <= _MOST_AT_ONCE or few == 1:
        return _at_once(x, active)
    many = n // few
    columns = [_transform(x[k::many], active) for k in range(many)]
    result: list[Complex] = [(ex.ZERO, ex.ZERO)] * n
    for line in range(few):
        turned = [_turned(columns[k][line], line * k / n) for k in range(many)]
        for k, point in enumerate(_transform(turned, active)):
            result[line + few * k] = point
    return result


def _turned(z: Complex, turn: float) -> Complex:
    """z exp(-2 pi i turn)."""
    factor = cmath.exp(-2j * math.pi * turn)
    c, s = ex.const(factor.real), ex.const(factor.imag)
    re, im = z
    return (
        ex.sub(ex.mul(c, re), ex.mul(s, im)),
        ex.add(ex.mul(c, im), ex.mul(s, re)),
    )


def _at_once(x: Sequence[Complex], active: Expression) -> list[Complex]:
    n = len(x)
    given = [z[0] for z in x] + [z[1] for z in x]
    if all(e.op == "const" for e in (active, *given)):
        found = tuple(map(ex.const, fourier([n, *(e.value for e in given)])))
    else:
        found = invoke(_function(n), [active, *given])
    return list(zip(found[:n], found[n:], strict=True))


def _function(n: int) -> FlatFunction:
    given = tuple(f"{part}{k + 1}" for part in ("re", "im") for k in range(n))
    results = tuple(f"line_{g}" for g in given)
    sums = Foreign("fourier", results, (ex.const(n), *map(ex.name, given)))
    return flat_function(
        "fourier", ("active", *given), results, (Choice(ex.name("active"), (sums,)),)
    )


FOURIER_TWINS: dict[str, Twin] = {"ModelicaFFT_kiss_fftr": _real_transform}
