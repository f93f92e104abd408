"""What an estimate is worth: intervals, tests, identifiability, residuals."""

from __future__ import annotations

from collections.abc import Iterable

from estimica.base import show


def _residual_verdict(fit: object) -> Iterable[show.Section]:
    from estimica.estimate.fit import Fit
    from estimica.infer.residual_page import fit_section

    assert isinstance(fit, Fit)
    return fit_section(fit)


def _remarks(fit: object) -> Iterable[str]:
    from estimica.estimate.fit import Fit
    from estimica.infer.colour_remark import colour_remark

    assert isinstance(fit, Fit)
    return colour_remark(fit)


show.register_sections("fit", _residual_verdict)
show.register_remarks("fit", _remarks)
