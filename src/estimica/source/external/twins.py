"""All twins by the name of the external function."""

from __future__ import annotations

from estimica.source.external.host import Twin
from estimica.source.external.tables.twins import TABLE_TWINS

TWINS: dict[str, Twin] = {
    **TABLE_TWINS,
}
