"""The page of the notebook tutorial; `python docs/notebook_page.py` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent / "tutorial"
NOTEBOOK, PAGE = HERE / "notebook.ipynb", HERE / "notebook.md"


def page(notebook: Path = NOTEBOOK) -> str:
    """The cells as Markdown: texts as they are, code in fences."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(map(_cell, cells)) + "\n"


def _cell(cell: dict[str, object]) -> str:
    source = cell["source"]
    text = "".join(source) if isinstance(source, list) else str(source)
    return text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
