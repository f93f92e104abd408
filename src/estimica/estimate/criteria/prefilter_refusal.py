"""What does not go together with a prefilter, and why."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.errors import FitError
from estimica.study.estimation import Estimation
from estimica.study.record.samples import Record


def require_filterable(records: Sequence[Record], estimation: Estimation) -> None:
    """Refuse ways to estimate that need every residual to belong to one sample."""
    for one in records:
        for measured in one.outputs:
            if measured.prefilter is None:
                continue
            where = f"case '{one.case.name}', output '{measured.name}': with a prefilter"
            if estimation.transcription != "shooting":
                raise FitError(
                    "F101",
                    f"{where} a residual depends on all samples before it, and "
                    f"'{estimation.transcription}' cuts them apart; use transcription = 'shooting'",
                )
            if estimation.criterion not in ("oe", "ml"):
                raise FitError(
                    "F102", f"{where} the criterion must be 'oe' or 'ml', not an own one"
                )
            if estimation.loss != "squared":
                raise FitError(
                    "F103",
                    f"{where} an outlier is spread over many residuals, which loss = "
                    f"'{estimation.loss}' cannot undo; leave the loss out, or the prefilter",
                )
