"""Codes: numbers in a column that are likely to mean that nothing was sampled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimica.base.problems import Problem
from estimica.data.table import Data
from estimica.study.case import Case

#: numbers that loggers write where they have none
_CODES = (
    -9999.0, -999.0, -99999.0, -999.9, -9999.9, -999.99, 9999.0, 99999.0, 999.0, -99.0, -127.0,
    850.0, 32767.0, -32768.0, 65535.0,
)  # fmt: skip
#: how many times the range of all others a code lies away from them; less may be a measurement
_FAR = 3.0


def code_problems(case: Case, data: Data, columns: Sequence[str]) -> list[Problem]:
    """Numbers far from all others that are likely to mean that nothing was sampled."""
    if case.reading is not None and case.reading.missing is not None:
        return []
    problems = []
    for name in columns:
        values = data.columns.get(name, np.zeros(0))
        coded = np.isin(values, _CODES)
        rest = values[np.isfinite(values) & ~coded]
        if not coded.any() or not len(rest):
            continue
        low, high = float(rest.min()), float(rest.max())
        reach = _FAR * max(high - low, abs(high), abs(low))
        codes = sorted({float(v) for v in values[coded] if v < low - reach or v > high + reach})
        if codes:
            listed = ", ".join(f"{c:g}" for c in codes)
            count = int(np.isin(values, codes).sum())
            message = (
                f"column '{name}' of {data.where} holds {listed} in {count} of {len(values)} rows, "
                f"far from all others ({low:g} … {high:g}), which looks like a code for no value"
            )
            advice = f"write missing = [{listed}] in [reading], or missing = [] if it was measured"
            problems.append(Problem("C134", f"case '{case.name}'", message, advice))
    return problems
