"""Several pages as one document: a chapter for each, what they share told once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from estimica.base.view import Listing, Page, Section, Table, ViewElement

#: results are read in this order: first what was found, then how far to trust it, then its use
CHAPTER_ORDER = (
    "fit", "residuals", "identifiability", "release", "bootstrap", "profile", "sample",
    "crossvalidate", "map", "backcalculate", "design-input", "optimise", "sweep", "montecarlo",
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
