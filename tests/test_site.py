"""The site of the documentation: its groups, the API reference, and what its search box finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
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


#: what four users type, and the pages that answer it: one of them is among the first three
QUERIES = {
    "a building engineer with a month of logger files": {
        "read csv with dates": ("data/",),
        "missing values in logger data": ("data/",),
        "gap in data": ("data/",),
        "celsius to kelvin": ("data/",),
        "daylight saving": ("data/",),
        "rc model of a room": ("tutorial/room/",),
        "initial state": ("experiments/",),
        "train and validation split": ("cross-validation/", "tutorial/validation/"),
        "is my model good enough": ("faq/",),
        "residual analysis": ("residuals/",),
    },
    "a mechatronics engineer with 60 000 samples": {
        "PRBS": ("signals/",),
        "fit takes too long": ("faq/",),
        "parallel workers": ("runs/",),
        "multistart": ("estimation/",),
        "parameter bounds": ("study-file/",),
        "ZOH": ("simulation/",),
        "resample": ("data/",),
        "cost contour": ("identifiability/",),
        "motor example": ("examples/", "examples/bench/"),
        "compare two models": ("faq/",),
    },
    "a student in a notebook": {
        "install": ("getting-started/",),
        "jupyter notebook": ("python/", "tutorial/notebook/"),
        "confidence interval": ("uncertainty/",),
        "covariance": ("uncertainty/",),
        "chi-square": ("estimation/",),
        "NRMSE": ("fit/",),
        "likelihood profile": ("profile/",),
        "what does error O034 mean": ("error-codes/",),
    },
    "the owner of an FMU": {
        "fmu": ("fmu/",),
        "monte carlo": ("assessment/",),
        "nlgreyest": ("from-matlab/",),
        "cross validation": ("cross-validation/",),
        "stepwise": ("release/",),
        "requirement": ("criteria/",),
    },
}


def test_the_search_is_tried_with_thirty_queries_or_more() -> None:
    assert sum(map(len, QUERIES.values())) >= 30


@pytest.mark.parametrize("user", QUERIES)
def test_the_right_page_is_among_the_first_three_that_the_search_finds(user: str) -> None:
    queries = QUERIES[user]
    answers = _search(list(queries))
    wrong = {
        query: found[:5]
        for (query, right), found in zip(queries.items(), answers, strict=True)
        if not set(right) & set(found[:3])
    }
    assert not wrong


def _search(queries: list[str]) -> list[list[str]]:
    """The pages that the search box shows, best first: the theme's own search on the site's index.

    It runs in the Node.js that comes with Playwright, which drives the browser of other tests.
    """
    driver = pytest.importorskip("playwright._impl._driver")
    node = driver.compute_driver_executable()
    site = _site()
    (worker,) = site.glob("assets/javascripts/workers/search*.js")
    index = site / "search" / "search_index.json"
    script = Path(__file__).with_name("search_site.js")
    program = node[0] if isinstance(node, tuple) else node
    done = subprocess.run(
        [program, str(script), str(worker), str(index), json.dumps(queries)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    answers: list[list[str]] = json.loads(done.stdout)
    return answers


@cache
def _site() -> Path:
    """The site that `make docs` has built, or one built now where that is missing or older."""
    built = ROOT / "site" / "search" / "search_index.json"
    sources = [ROOT / "mkdocs.yml", *(p for p in DOCS.rglob("*") if p.is_file())]
    if built.exists() and built.stat().st_mtime >= max(p.stat().st_mtime for p in sources):
        return ROOT / "site"
    pytest.importorskip("mkdocstrings")
    folder = mkdtemp(prefix="estimica-site-")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    return Path(folder)
