"""First guesses for the workbench: the columns of a data file, and what they show at sight."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from estimica.base.thinning import thin_element
from estimica.base.view import figure

Answer = dict[str, Any]
POINTS = 2000  # of one curve; chosen: a figure is sent and drawn at once


def columns(study: Path, data: str) -> Answer:
    """The columns of a data file, and which of them look like a step or a frequency response."""
    from estimica.base.errors import EstimicaError
    from estimica.data.readers import read_data
    from estimica.experiment.guess.of_data import GuessColumns, step_columns
    from estimica.study.draft.columns import spectrum_of, time_column

    table = read_data(study.parent / data)
    spectrum = spectrum_of(table)
    time = time_column(table)
    names = [n for n in table.names if n != time]
    try:
        output, input_ = step_columns(table, GuessColumns())
    except EstimicaError:
        output, input_ = "", ""
    return {
        "names": names,
        "time": time,
        "input": input_ or "",
        "output": output,
        "response": dict(spectrum.parts) | {spectrum.key: spectrum.column} if spectrum else {},
    }


def guess(study: Path, data: str, columns: dict[str, Any]) -> Answer:
    """The first guess with its table, its words and its construction lines."""
    from estimica.data.readers import read_data
    from estimica.experiment.guess.of_data import GuessColumns, guess_of_data
    from estimica.report.plotly.compact_json import figure_json

    found = guess_of_data(read_data(study.parent / data), GuessColumns(**columns))
    table = found.table()
    return {
        "title": table.title,
        "note": table.note,
        "columns": list(table.columns),
        "rows": [list(row) for row in table.rows],
        "sentence": found.sentence,
        "figure": json.loads(
            figure_json(figure(thin_element(replace(found.curves(), title=""), POINTS)))
        ),
    }
