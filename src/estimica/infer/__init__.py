"""What an estimate is worth: intervals, tests, identifiability, residuals."""

from __future__ import annotations

from collections.abc import Iterable

from estimica.base import view as show


def _residual_verdict(fit: object) -> Iterable[show.Section]:
    from estimica.estimate.fit.result import Fit
    from estimica.infer.residuals.present import fit_section

    assert isinstance(fit, Fit)
    return fit_section(fit)


def _remarks(fit: object) -> Iterable[str]:
    from estimica.estimate.fit.result import Fit
    from estimica.infer.residuals.fit_remark import colour_remark

    assert isinstance(fit, Fit)
    return colour_remark(fit)


show.register_sections("fit", _residual_verdict)
show.register_remarks("fit", _remarks)
