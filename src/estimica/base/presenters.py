"""Who shows what: one table from things to see to the code that draws, prints and writes them.

Each is named as text and imported when it is first used. So no room upstream knows a plotting
library, and what a result shows does not depend on what happens to have been imported.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_PLOTLY = "estimica.report.plotly"
_HTML = "estimica.report.html"

#: by the kind of thing: as an interactive figure, as a fragment of HTML, as plain text
RENDERERS = {
    "Curves": {
        "figure": f"{_PLOTLY}.curves:figure",
        "html": f"{_HTML}:curves_fragment",
        "text": "estimica.report.text:curves_text",
    },
    "Table": {
        "figure": f"{_PLOTLY}.curves:table_figure",
        "html": f"{_HTML}:table_fragment",
        "text": "estimica.report.text:table_text",
    },
    "Heat": {
        "figure": f"{_PLOTLY}.heat:figure",
        "html": f"{_HTML}:curves_fragment",
        "text": "estimica.report.text:heat_text",
    },
    "Bars": {
        "figure": f"{_PLOTLY}.bars:figure",
        "html": f"{_HTML}:curves_fragment",
        "text": "estimica.report.text:bars_text",
    },
    "Parallel": {
        "figure": f"{_PLOTLY}.parallel:figure",
        "html": f"{_HTML}:curves_fragment",
        "text": "estimica.report.text:parallel_text",
    },
    "Listing": {
        "figure": f"{_PLOTLY}.curves:listing_figure",
        "html": f"{_HTML}:listing_fragment",
        "text": "estimica.report.text:listing_text",
    },
}
CORNER = f"{_PLOTLY}.corner:figure"
PAGE_WRITER = "estimica.report.write:write_report"
#: how a study takes the values of a result, and of a run in the store
USE_VALUES = "estimica.study.carry.use:study_at_result"
STORED_VALUES = "estimica.execute.carry:from_fit_values"
STUDY_WRITER = "estimica.study.written.file:write_study"
FIGURE_WRITER = "estimica.report.matplotlib.files:write_figures"

#: what rooms further down say on the page of a result
SECTIONS = {"fit": ("estimica.infer.residuals.present:fit_section",)}
#: what judges a result by what it leaves unexplained
VERDICTS = {"fit": "estimica.infer.residuals.fit_verdict:fit_verdict"}


def presenter(name: str) -> Callable[..., Any]:
    """The function that `module:function` names."""
    module, _, function = name.partition(":")
    named: Callable[..., Any] = getattr(import_module(module), function)
    return named
