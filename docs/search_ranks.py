"""How much pages count in the search box: those for users more than those for developers."""

from __future__ import annotations

from typing import Any

#: by the beginning of the path; chosen so that a page about a thing stands before the lists that
#: name it too
RANKS = {
    "inside/": 0.1,  # for developers of Estimica
    "library-examples.md": 0.1,  # one long table
    "api/": 0.3,  # repeats the words of the pages that explain them
    "coverage.md": 0.5,  # measurements
    "glossary.md": 0.5,  # leads to the pages themselves
    "examples/": 0.7,
}


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Set the rank of a page that has none of its own; MkDocs calls this for every page."""
    for begin, rank in RANKS.items():
        if page.file.src_uri.startswith(begin):
            page.meta.setdefault("search", {}).setdefault("boost", rank)
    return markdown
