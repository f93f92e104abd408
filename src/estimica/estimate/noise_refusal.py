"""What does not go together with noise that is more than one normal level, and why."""

from __future__ import annotations

from collections.abc import Sequence

from estimica.base.errors import FitError
from estimica.study.estimation import Estimation
from estimica.study.noise_model import SigmaFormula
from estimica.study.record import Measured, Record


def is_modelled(m: Measured) -> bool:
    """Whether the noise of an output is more than one normal level, known or estimated."""
    return isinstance(m.sigma, SigmaFormula) or m.limits is not None or m.distribution != "normal"


def require_noise_possible(records: Sequence[Record], estimation: Estimation) -> None:
    """Refuse ways to estimate that do not know of formulas of sigma, limits and other laws."""
    for one in records:
        for m in (m for m in one.outputs if is_modelled(m)):
            where = f"case '{one.case.name}', output '{m.name}'"
            _require_likelihood(where, m, estimation)
            _require_level(where, m)
            if isinstance(m.sigma, SigmaFormula) and estimation.transcription != "shooting":
                raise FitError(
                    "F154",
                    f"{where}: a formula of sigma needs transcription = 'shooting', not "
                    f"'{estimation.transcription}'",
                )
            if one.uncertain:
                raise FitError(
                    "F155",
                    f"{where}: {_what(m)} does not go with a sigma of input "
                    f"'{one.uncertain[0].name}'; leave one of the two out",
                )
            if m.prefilter is not None:
                raise FitError(
                    "F156",
                    f"{where}: {_what(m)} belongs to single samples, which a prefilter mixes; "
                    "leave one of the two out",
                )
            if m.distribution != "normal" and m.limits is not None:
                raise FitError(
                    "F157",
                    f"{where}: limits need normal noise, not '{m.distribution}'; leave one of the "
                    "two out",
                )


def _require_likelihood(where: str, m: Measured, estimation: Estimation) -> None:
    if estimation.criterion != "ml":
        raise FitError(
            "F152",
            f"{where}: {_what(m)} needs the likelihood, and the criterion is "
            f"'{estimation.criterion}'; write criterion = \"ml\" in [estimate]",
        )
    if estimation.loss != "squared":
        raise FitError(
            "F153",
            f"{where}: {_what(m)} gives the likelihood of the noise, and loss = "
            f"'{estimation.loss}' would change it; leave the loss out, or write "
            'distribution = "laplace" for noise with outliers',
        )


def _require_level(where: str, m: Measured) -> None:
    """Only the level of normal noise without limits follows from the residuals at once."""
    if not isinstance(m.sigma, (float, SigmaFormula)):
        raise FitError(
            "F158",
            f"{where}: {_what(m)} needs a sigma; where it is not known write sigma = \"s\" and "
            'tune it: s = { start = 0.1, scale = "log" } in [tune]',
        )


def _what(m: Measured) -> str:
    if isinstance(m.sigma, SigmaFormula):
        return f"sigma = \"{m.sigma.text}\""
    return "a detection limit" if m.limits is not None else f"distribution = \"{m.distribution}\""
