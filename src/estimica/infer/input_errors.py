"""Errors in the inputs: what cannot be asked of a fit that estimates them along."""

from __future__ import annotations

from estimica.base.errors import InferError
from estimica.study.case import InputColumn
from estimica.study.study import Study


def refuse_input_errors(study: Study, what: str, instead: str) -> None:
    """Refuse a study in which an input has a sigma; `instead` says what serves."""
    for case in study.active_cases:
        for name, given in case.columns_of_inputs.items():
            if isinstance(given, InputColumn) and given.sigma is not None:
                raise InferError(
                    "I350",
                    f"{what}: study '{study.name}' estimates errors of input '{name}', whose "
                    f"residuals belong to those of the outputs point by point; {instead}",
                )
