"""Pages as files: HTML, or Markdown with its figures beside it, by the ending of the name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from estimica.base.errors import ReportError
from estimica.base.view import Listing, Page, Section, Table, ViewElement

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


#: results are read in this order: first what was found, then how far to trust it, then its use
CHAPTER_ORDER = (
    "fit", "residuals", "identifiability", "release", "find-noise", "bootstrap", "profile",
    "sample", "crossvalidate", "map", "backcalculate", "design-input", "optimise", "sweep",
    "montecarlo",
)  # fmt: skip


def join_pages(title: str, pages: Sequence[Page]) -> Page:
    """One document; a table or listing that an earlier chapter has shown is not shown again."""
    if len(pages) == 1:
        return pages[0]
    seen: list[Table | Listing] = []
    sections = [section for page in pages for section in _chapter(page, seen)]
    lead = f"{len(pages)} results of the same study, each in a chapter of its own."
    return Page(title, tuple(sections), lead)


def _chapter(page: Page, seen: list[Table | Listing]) -> Iterator[Section]:
    yield Section(page.title, page.lead, chapter=True)
    for section in page.sections:
        kept = tuple(s for s in section.shown if not _known(s, seen))
        seen += [s for s in kept if isinstance(s, (Table, Listing))]
        left = len(section.shown) - len(kept)
        text = f"{section.text}\n\n{_ABOVE}".strip() if left else section.text
        yield replace(section, shown=kept, text=text)


_ABOVE = "What an earlier chapter has shown is not repeated."


def _known(shown: ViewElement, seen: list[Table | Listing]) -> bool:
    return isinstance(shown, (Table, Listing)) and shown in seen
