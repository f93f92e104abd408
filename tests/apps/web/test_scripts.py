"""No text of a study, store, model, data file, name or upload becomes a program in a browser."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, TimeoutError, sync_playwright
from tests.apps.web.browser import CHROMIUM, FLAGS, Address, served
from tests.apps.web.hostile import (
    HIDDEN,
    PAYLOADS,
    attacked_folder,
    attacked_store,
    file_name,
    labels,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
ALL = " ".join(PAYLOADS)
#: in every frame, before anything else runs
HOOK = """
  window.__hits = [];
  window.__pwned = (n) => { window.__hits.push(n); console.log("PWNED " + n + " " + location); };
  window.alert = window.prompt = window.confirm = (n) => window.__pwned(n);
"""
#: what ran, what would run with a click or a look, and what is seen that should not be
FOUND = """() => {
  const out = window.__hits.map((n) => "ran " + n);
  for (const e of document.querySelectorAll("*")) for (const a of e.attributes) {
    const value = a.value.trim().toLowerCase();
    if (/^on/.test(a.name)) out.push(`<${e.tagName} ${a.name}>`);
    if (/^(href|src|action|formaction|xlink:href|srcdoc|data)$/.test(a.name)
        && /^(javascript|vbscript|data:text)|<script/.test(value)) out.push(`${a.name}=${value}`);
    if (a.name === "style" && /javascript|@import/.test(value)) out.push(`style ${value}`);
  }
  for (const s of document.querySelectorAll("script:not([type='application/json']):not([type=importmap])"))
    if (/^\\s*__pwned/.test(s.textContent)) out.push("a script");
  if (/[\\x00-\\x08\\x0e-\\x1f\\u202e]/.test(document.documentElement.innerText + document.title))
    out.push("hidden characters");
  return out;
}"""
#: whether all is there; figures are drawn when they come near
READY = """() => {
  const left = [...document.querySelectorAll(".est-figure[role=img]")].find((f) => !f.dataset.drawn && !f.textContent);
  if (left) left.scrollIntoView();
  return document.querySelector(".est-title") && !document.querySelector(".q-spinner")
    && (!left || performance.now() > 6000);  // by hand there is none where the study cannot run
}"""
PARTS = (
    "", "model", "tune", "case", "case/0", "starts", "criterion", "criterion/0", "indicator", "indicator/0",
    "estimate", "solver", "execute", "static", "release", "bootstrap", "profile", "crossvalidate",
    "input_design", "optimise", "sweep", "montecarlo", "backcalculate", "hand", "runs", "file",
)  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


class Watched:
    """A page with the hook in all its frames; every address that it opens is looked at."""

    def __init__(self, browser: Browser, address: Address) -> None:
        self.address = address
        self.context: BrowserContext = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.add_init_script(HOOK)
        address.let_in(self.context)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(60_000)  # models are compiled meanwhile
        self.ran: list[str] = []
        self.opened = 0
        self.page.on("console", lambda m: self.ran.append(m.text) if "PWNED" in m.text else None)
        self.page.on("dialog", lambda d: (self.ran.append(f"dialog {d.message}"), d.dismiss()))

    def visit(self, path: str) -> None:
        """Open a page, wait until all of it is there, and look."""
        self.page.goto(f"{self.address}{path}")
        try:
            self.page.wait_for_function(READY)
        except TimeoutError:
            pytest.fail(
                f"{path[:200]} does not come to an end: {''.join(self.address.said)[-3000:]}"
            )
        self.look(path)

    def look(self, where: str) -> None:
        """Nothing has run, and nothing would."""
        self.opened += 1
        for frame in self.page.frames:
            assert frame.evaluate(FOUND) == [], where
        assert self.ran == [], where

    def report(self, run: str, out: Path) -> None:
        """A report opened from the disk, where no header of ours protects it."""
        answer = self.context.request.get(f"{self.address}/results/{run}/report.html")
        assert answer.ok, answer.text()
        assert "attachment" in answer.headers["content-disposition"]
        out.write_bytes(answer.body())
        self.page.goto(out.as_uri())
        self.page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        self.look(f"report of {run}")
        self.page.mouse.move(640, 450)
        self.look(f"report of {run}")


def bad_id(folder: Path) -> None:
    """A store whose run has an attack for its id."""
    attacked_store(folder, "a")
    connection = sqlite3.connect(folder / ".estimica" / "runs.sqlite")
    connection.execute("UPDATE run SET id = ? WHERE status = 'done'", (PAYLOADS[0],))
    connection.commit()
    connection.close()


@pytest.fixture(scope="module")
def quick(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Watched, list[str]]]:
    """One folder in which every text is all payloads at once, and one with an id of a run."""
    folder = tmp_path_factory.mktemp("attacked")
    runs = attacked_folder(folder, ALL + HIDDEN.replace("\0", ""))
    (folder / "estimica-forms.toml").write_text(labels(ALL), encoding="utf-8")
    (folder / "id").mkdir()
    (folder / "id" / "a.toml").write_text('[static]\nexpression = "a*x"\n[tune]\na = 1\n')
    bad_id(folder / "id")
    env = {"ESTIMICA_TRUST": "", "ESTIMICA_STATE": str(folder / ".state")}
    with served(folder, env=env) as address:
        watched = Watched(browser, address)
        yield watched, runs
        watched.context.close()


def test_no_script_runs_on_pages(quick: tuple[Watched, list[str]]) -> None:
    watched, runs = quick
    for path in (
        "/",
        "/study/all.toml?at=case/0",
        f"/runs/{runs[0]}",
        f"/compare?runs=::{runs[0]},::{runs[1]}",
        f"/study/{quote(ALL, safe='')}",
    ):
        watched.visit(path)


def test_no_script_runs_in_reports(quick: tuple[Watched, list[str]], tmp_path: Path) -> None:
    watched, runs = quick
    watched.report(runs[0], tmp_path / "report.html")


def test_a_prepared_id_of_a_run_reaches_no_page(quick: tuple[Watched, list[str]]) -> None:
    """It came into a string of properties, in which `:name="…"` is JavaScript."""
    watched, _ = quick
    for path in ("/study/id/a.toml?at=runs", f"/runs/id/{quote(PAYLOADS[0], safe='')}"):
        watched.visit(path)
        assert "was not written by Estimica alone" in watched.page.inner_text("body")


@pytest.fixture(scope="module")
def whole(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Watched, dict[int, list[str]]]]:
    """A folder for each payload."""
    folder = tmp_path_factory.mktemp("whole")
    runs = {k: attacked_folder(folder / f"p{k}", text) for k, text in enumerate(PAYLOADS, 1)}
    (folder / "estimica-forms.toml").write_text(labels(ALL), encoding="utf-8")
    env = {"ESTIMICA_TRUST": "", "ESTIMICA_STATE": str(folder / ".state")}
    with served(folder, env=env) as address:
        watched = Watched(browser, address)
        watched.visit("/")
        yield watched, runs
        watched.context.close()


@pytest.mark.slow
@pytest.mark.parametrize("k", range(1, len(PAYLOADS) + 1))
def test_no_script_runs_with_any_payload_anywhere(
    whole: tuple[Watched, dict[int, list[str]]], tmp_path: Path, k: int
) -> None:
    """Every text × every payload, all pages and reports."""
    watched, runs = whole
    for path in _addresses(f"p{k}", PAYLOADS[k - 1], runs[k]):
        watched.visit(path)
    for run in runs[k][:2]:
        watched.report(f"p{k}/{run}", tmp_path / "report.html")
    _acted(watched, f"p{k}", PAYLOADS[k - 1])


def _addresses(folder: str, text: str, runs: list[str]) -> Iterator[str]:
    for at in PARTS:
        yield f"/study/{folder}/all.toml?at={at}"
    yield f"/study/{folder}/all.toml?at=tune/{quote(text, safe='')}"
    for at in ("", "model", "tune", "case", "case/0", "hand", "runs", "file"):
        yield f"/study/{folder}/works.toml?at={at}"
    for at in ("", "case/0", "case/1"):
        yield f"/study/{folder}/sheets.toml?at={at}"
    for at in ("", "tune", "hand"):
        yield f"/study/{folder}/{quote(file_name(text), safe='')}.toml?at={at}"
    for run in runs:
        yield f"/runs/{folder}/{run}"
    yield f"/compare?runs={','.join(f'{folder}::{run}' for run in runs)}"
    odd = quote(text, safe="")
    yield from (f"/study/{odd}", f"/runs/{odd}", f"/runs/{folder}/{odd}")
    yield from (f"/study/{folder}/all.toml?at={odd}", f"/compare?runs={odd},{odd}")


def _acted(watched: Watched, folder: str, text: str) -> None:
    """What is told after a click: notifications, the question about code, uploads."""
    page = watched.page
    watched.visit(f"/study/{folder}/all.toml")
    page.get_by_role("button", name="Optimise", exact=True).click()
    page.locator(".q-notification").first.wait_for()
    watched.look("a notification")
    watched.visit(f"/study/{folder}/{quote(file_name(text), safe='')}.toml")
    if page.get_by_role("button", name="Agree …").count():
        page.get_by_role("button", name="Agree …").click()
        page.get_by_role("dialog").get_by_label("Code").wait_for()
        watched.look("the question about code")
        page.get_by_role("button", name="No", exact=True).click()
    watched.visit("/new")
    sent = {"name": f"{text}.csv", "mimeType": "text/csv", "buffer": b"\x7fELF"}
    page.locator("input[type=file]").last.set_input_files(sent)  # type: ignore[arg-type]
    page.locator(".q-notification").first.wait_for()
    watched.look("an upload")
