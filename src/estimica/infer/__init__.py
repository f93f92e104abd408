"""What an estimate is worth: intervals, tests, identifiability, residuals."""

from __future__ import annotations

from collections.abc import Iterable

from estimica.base import show


def _residual_verdict(fit: object) -> Iterable[show.Section]:
    from estimica.estimate.fit import Fit
    from estimica.infer.residual_page import fit_section

    assert isinstance(fit, Fit)
    return fit_section(fit)


show.register_sections("fit", _residual_verdict)
