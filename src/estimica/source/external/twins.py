"""All twins by the name of the external function."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from estimica.source.external.elementary import ELEMENTARY_TWINS
from estimica.source.external.files import FILE_TWINS
from estimica.source.external.fourier import FOURIER_TWINS
from estimica.source.external.host import Twin
from estimica.source.external.linear_algebra import LinearAlgebraTwins
from estimica.source.external.random_twins import RANDOM_TWINS
from estimica.source.external.strings import STRING_TWINS
from estimica.source.external.tables.twins import TABLE_TWINS

TWINS: Mapping[str, Twin] = ChainMap(
    {
        **TABLE_TWINS,
        **STRING_TWINS,
        **FILE_TWINS,
        **RANDOM_TWINS,
        **FOURIER_TWINS,
        **ELEMENTARY_TWINS,
    },
    LinearAlgebraTwins(),  # type: ignore[arg-type]
)
