"""The page about the study file says what the reader does."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from estimica.study.tables.schema import study_schema

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = (DOCS / "study-file.md").read_text(encoding="utf-8")


def test_the_tables_of_keys_are_not_stale() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(DOCS)!r}); from study_file_tables import *; "
        "old = PAGE.read_text(encoding='utf-8'); sys.exit(with_tables(old) != old)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0, "run python docs/study_file_tables.py"


def test_every_table_of_the_schema_is_on_the_page() -> None:
    shown = set(re.findall(r"<!-- keys of (\w+) -->", PAGE))
    tables = {n for n, d in study_schema()["$defs"].items() if "properties" in d}
    assert shown == tables | {"StudyFile"}


@pytest.mark.parametrize("text", re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
def test_the_examples_of_the_page_are_valid(text: str) -> None:
    Draft202012Validator(study_schema()).validate(tomllib.loads(text))
