"""Frequency cases: what may and what may not stand in a case whose data are frequency responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimica.study.fields.kinds import field_error
from estimica.study.response_columns import ResponseColumns

if TYPE_CHECKING:
    from estimica.study.case import Case


def require_frequency(case: Case) -> None:
    """Refuse what has no meaning in a frequency response."""
    if case.frequency is not None and case.angular_frequency is not None:
        raise field_error("C041", "give frequency (Hz) or angular_frequency (rad/s), not both")
    timely = {"time": case.time, "time_scale": case.time_scale, "begin": case.begin}
    for key, given in timely.items():
        if given is not None:
            raise field_error("C042", f"{key} has no meaning in a frequency response; leave it out")
    if case.prefilter is not None:
        raise field_error(
            "C093",
            "a prefilter works on errors over time; in a frequency response choose the frequencies "
            "by a weighting, or leave rows out",
        )
    for name, column in case.inputs.items():
        if not isinstance(column, (int, float)):
            raise field_error(
                "C043",
                f"input '{name}': in a frequency response inputs are numbers, the operating "
                f"point; write {name} = 0.0",
            )
    for name, output in case.outputs.items():
        if not isinstance(output, (str, ResponseColumns)):
            raise field_error(
                "C044",
                f"output '{name}': a frequency response has two columns; write "
                f'{name} = {{ real = "…", imag = "…" }} or {{ magnitude = "…", phase = "…" }}',
            )
    if case.free_start and case.operating_point != "start":
        raise field_error(
            "C045",
            "the steady state does not depend on start values; leave free_start out, or write "
            'operating_point = "start"',
        )


def require_time(case: Case) -> None:
    """Refuse what has a meaning in a frequency response only."""
    responses = [n for n, o in case.outputs.items() if isinstance(o, ResponseColumns)]
    if responses:
        raise field_error(
            "C046",
            f"output '{responses[0]}' is a frequency response; say which column holds the "
            'frequency, as in frequency = "f" (Hz) or angular_frequency = "w" (rad/s)',
        )
    if case.operating_point is not None:
        raise field_error("C047", "operating_point needs a frequency response; leave it out")
