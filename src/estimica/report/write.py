"""Pages as files: HTML, or Markdown with its figures beside it, by the ending of the name."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from estimica.base.errors import ReportError
from estimica.base.view import Page

MARKDOWN = (".md", ".markdown")
UNSUPPORTED_ENDINGS = (".pdf", ".docx", ".tex", ".png", ".svg", ".json", ".txt", ".csv")


def write_report(page: Page, path: str | PathLike[str]) -> Path:
    """Write what a result says of itself; a name that ends with .md asks for Markdown."""
    path = Path(path)
    require_report_ending(path)
    if path.suffix.lower() in MARKDOWN:
        from estimica.report.markdown import write_markdown

        return write_markdown(page, path)
    from estimica.report.html import write_html

    return write_html(page, path)


def require_report_ending(path: Path) -> None:
    """Refuse a name that promises another kind of file."""
    ending = path.suffix.lower()
    if ending in UNSUPPORTED_ENDINGS:
        hint = "; print the HTML page to get a PDF" if ending == ".pdf" else ""
        raise ReportError(
            "P022", f"cannot write '{path}': a report is an .html or an .md file{hint}"
        )
