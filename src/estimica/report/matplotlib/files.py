"""Figures as files: what pages draw interactively, drawn by Matplotlib for paper."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from estimica.base.errors import ReportError
from estimica.base.files.write import atomic_replacement, make_folder
from estimica.base.suggest import did_you_mean
from estimica.base.thinning import thin_element
from estimica.base.view import Bars, Curves, Heat, Page, Parallel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
DPI = 160
LONGEST = 40  # characters of a file's name
Drawable = Curves | Heat | Bars | Parallel


def write_figures(page: Page, folder: str | PathLike[str], format: str = "svg") -> list[Path]:
    """Write every figure of a page into `folder`, named by number and heading."""
    figures = FigureFolder(Path(folder), format)
    for section in page.sections:
        for shown in section.shown:
            if isinstance(shown, Drawable):
                figures.write(shown, section.heading)
    return figures.written


class FigureFolder:
    """A folder that figures are written to, one after the other."""

    def __init__(self, folder: Path, format: str = "svg") -> None:
        require_format(format)
        self.folder, self.format = folder, format
        self.written: list[Path] = []

    def write(self, shown: Drawable, heading: str) -> Path:
        """Draw one more figure; where it is."""
        require_matplotlib()
        from estimica.report.matplotlib.look import matplotlib_style

        name = f"{len(self.written) + 1:02d}_{_slug(shown.title or heading)}.{self.format}"
        path = self.folder / name
        # nothing of the moment in the file: the same figure, the same bytes
        stamp = {"Date": None} if self.format == "svg" else {"CreationDate": None}
        metadata = stamp if self.format != "png" else None
        make_folder(self.folder)
        with atomic_replacement(path) as draft, matplotlib_style():
            matplotlib_figure(shown).savefig(draft, format=self.format, dpi=DPI, metadata=metadata)
        self.written.append(path)
        return path


def require_format(format: str) -> None:
    """Refuse a kind of file that nobody can write."""
    if format not in FORMATS:
        hint = did_you_mean(format, FORMATS) or f"; there are {', '.join(FORMATS)}"
        raise ReportError("P023", f"there is no format '{format}' of figures{hint}")


def matplotlib_figure(shown: Drawable) -> Figure:
    """A Matplotlib figure, in the look of the interactive ones where `look` is around it."""
    require_matplotlib()
    from estimica.report.matplotlib.figures import (
        bars_figure,
        curves_figure,
        heat_figure,
        parallel_figure,
    )

    if isinstance(shown, Curves):
        return curves_figure(thin_element(shown))
    if isinstance(shown, Heat):
        return heat_figure(shown)
    return bars_figure(shown) if isinstance(shown, Bars) else parallel_figure(shown)


def require_matplotlib() -> None:
    """Figures in files need Matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ReportError(
            "P024",
            "figures in files and Markdown need Matplotlib: pip install 'estimica[figures]', or "
            "write the report as .html",
        ) from None


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:LONGEST].strip("_") or "figure"
