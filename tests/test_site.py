"""The site of the documentation: its groups, the API reference, and what its search box finds."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import estimica as es

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
REFERENCE = {p.stem: p.read_text(encoding="utf-8") for p in sorted((DOCS / "api").glob("*.md"))}


def test_the_pages_stand_in_seven_groups_by_task() -> None:
    groups = [next(iter(group)) for group in yaml.safe_load(SETTINGS)["nav"]]
    assert groups == ["Start", "Tutorials", "How-to", "Models", "Statistics", "Design", "Reference"]


def test_the_reference_has_every_public_name_once() -> None:
    told = [
        n for text in REFERENCE.values() for n in re.findall(r"^::: estimica\.(\w+)$", text, re.M)
    ]
    public = [name for name in es.__all__ if not name.startswith("_")]
    assert sorted(told) == sorted(public), "docs/api has a line '::: estimica.NAME' for each"


def test_the_first_page_of_the_reference_leads_to_every_public_name() -> None:
    listed = re.findall(r"\]\[estimica\.(\w+)\]", REFERENCE["index"])
    missing = {name for name in es.__all__ if not name.startswith("_")} - set(listed)
    assert not missing, "docs/api/index.md lists them by page"


def test_every_public_name_has_a_docstring() -> None:
    for name in es.__all__:
        if not name.startswith("_"):
            assert (getattr(es, name).__doc__ or "").strip(), name
