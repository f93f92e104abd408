"""A page that is kept up to date while a design is searched: open it in a browser."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from estimica.base.errors import WriteError
from estimica.base.files.write import write_text
from estimica.base.view import Curve, Curves, Page, Panel, Section, ViewElement

if TYPE_CHECKING:
    from estimica.optimise.criteria.indicators import IndicatorCurves
    from estimica.optimise.optimum.run import DesignProgress
    from estimica.study.study import Study

EVERY = 5.0  # s between two states of the page; chosen: it loads anew each time
RELOAD = f'<meta http-equiv="refresh" content="{EVERY:.0f}">'


class LivePage:
    """Writes the indicators of the best design so far beside those of the start."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path, self._study = path, study
        self._written = 0.0
        self._trouble: WriteError | None = None
        self._first: list[IndicatorCurves] | None = None
        self._costs: list[tuple[int, float]] = []

    def tell(self, progress: DesignProgress) -> None:
        """Renew the page, now and then; where it cannot be written the search goes on."""
        self._costs.append((progress.evaluations, progress.cost))
        if self._first is None:
            self._first = progress.indicators()
        if monotonic() - self._written >= EVERY:
            try:
                self._write(progress)
                self._trouble = None
            except WriteError as error:
                self._trouble = error
            self._written = monotonic()

    def last(self) -> Path:
        """Where the page is; an error where it could not be written the last time."""
        if self._trouble is not None:
            raise self._trouble
        return self.path

    def _write(self, progress: DesignProgress) -> None:
        import numpy as np

        from estimica.optimise.criteria.indicators import comparison_figures
        from estimica.report.html import page_html

        designs = [("start", self._first or []), ("best so far", progress.indicators())]
        counts, costs = np.array(self._costs, float).T
        curve = Curve("best", counts, costs, stepped=True)
        way = Curves((Panel("what the search goes by", (curve,)),), "", "design", whole=True)
        words = f"{progress.evaluations} designs; so far {progress.text}."
        shown: tuple[ViewElement, ...] = (way, *comparison_figures(designs))
        page = Page(f"Design of {self._study.name}", (Section("So far", words, shown),))
        write_text(self.path, page_html(page).replace("<head>", f"<head>{RELOAD}", 1))
