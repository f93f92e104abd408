"""The twin of the fast Fourier transform of the Modelica Standard Library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.flat import expression as ex
from estimica.source.evaluate.values import Value, Written
from estimica.source.external.host import Host, Twin, constants, numbers, whole

_WHY = "it is a sample of a Fourier transform"


def _real_transform(host: Host, a: Sequence[Value]) -> Written:
    """samples, their number n, work, its size, amplitudes, phases; what is returned is 0 if good.

    Amplitudes are divided by the number n/2 + 1 of frequencies.
    """
    samples, count = numbers(host, a[0], _WHY), whole(host, a[1], _WHY)
    if count % 2:
        return Written({}, ex.ONE)
    if whole(host, a[3], _WHY) < 3 * count + 2 * (count // 2 + 1):
        return Written({}, ex.const(2))
    lines = np.fft.rfft(samples)
    return Written(
        {4: constants(np.abs(lines) / len(lines)), 5: constants(np.angle(lines))}, ex.ZERO
    )


FOURIER_TWINS: dict[str, Twin] = {"ModelicaFFT_kiss_fftr": _real_transform}
