"""Reports as Markdown: texts and tables in plain characters, figures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from estimica.base.files.write import write_text
from estimica.base.thinning import thin_page
from estimica.base.view import Listing, Page, Table, ViewElement
from estimica.base.visible import visible
from estimica.report.glossary import words_by_section
from estimica.report.matplotlib.files import FigureFolder
from estimica.report.text import printed, provenance


def write_markdown(page: Page, path: Path, format: str = "svg") -> Path:
    """Write `path` and its figures into the folder `<name>_figures` beside it."""
    folder = path.with_name(f"{path.stem}_figures")
    figures = FigureFolder(folder, format)
    text = "\n\n".join(_blocks(thin_page(page), figures, folder.name)) + "\n"
    return write_text(path, text)


def _blocks(page: Page, figures: FigureFolder, folder: str) -> Iterator[str]:
    yield f"# {_plain(page.title)}"
    if page.lead:
        yield _plain(page.lead)
    chapters = [s for s in page.sections if s.chapter]
    if chapters:
        yield "\n".join(f"- {_plain(s.heading)}" for s in chapters)
    for section, words in zip(page.sections, words_by_section(page), strict=True):
        level = "###" if chapters and not section.chapter else "##"
        if section.heading:
            yield f"{level} {_plain(section.heading)}"
        if section.text:
            yield _plain(section.text)
        for shown in section.shown:
            yield from _shown(shown, figures, folder, section.heading)
        if words:
            yield "\n".join(f"> **{_plain(w)}**: {_plain(m)}  " for w, m in words).rstrip()
    yield f"---\n\n*{provenance()}*"


def _shown(shown: ViewElement, figures: FigureFolder, folder: str, heading: str) -> Iterator[str]:
    if isinstance(shown, Table):
        yield table_markdown(shown)
    elif isinstance(shown, Listing):
        if shown.title:
            yield f"**{_plain(shown.title)}**"
        fence = _fence(shown.text)
        yield f"{fence}\n{visible(shown.text)}\n{fence}"
    else:
        file = figures.write(shown, heading)
        title = shown.title or heading
        yield f"![{_plain(title)}]({quote(f'{folder}/{file.name}')})"


def table_markdown(table: Table) -> str:
    """A table with pipes, numbers to the right."""
    numeric = [
        any(isinstance(row[k], (int, float)) and not isinstance(row[k], bool) for row in table.rows)
        for k in range(len(table.columns))
    ]
    rows = [[_cell(printed(c)) for c in row] for row in table.rows]
    head = [_cell(c) for c in table.columns]
    widths = [max(3, len(h), *(len(r[k]) for r in rows)) for k, h in enumerate(head)]
    lines = [_row(head, widths, numeric)]
    rule = ("-" * (w - 1) + ":" if n else "-" * w for w, n in zip(widths, numeric, strict=True))
    lines.append("| " + " | ".join(rule) + " |")
    lines += [_row(r, widths, numeric) for r in rows]
    parts = [f"**{_plain(table.title)}**"] if table.title else []
    parts.append("\n".join(lines))
    return "\n\n".join(parts + ([f"*{_plain(table.note)}*"] if table.note else []))


def _row(cells: list[str], widths: list[int], numeric: list[bool]) -> str:
    every = zip(cells, widths, numeric, strict=True)
    return "| " + " | ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in every) + " |"


def _cell(text: str) -> str:
    return _plain(text).replace("\n", " ").replace("|", "\\|")


def _plain(text: str) -> str:
    """Text without characters that Markdown or HTML would take for markup, such as a link."""
    return re.sub(r"([\\`*<]|(?<!\w)_|_(?!\w)|\](?=[(\[:]))", r"\\\1", visible(text))


def _fence(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)
