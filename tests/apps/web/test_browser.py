"""The workbench in a real browser: from a model and a table to a fit and its report."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.apps.web.browser import IN_BROWSER, SLOW, Address, choose, until

from estimica.apps.cli.demo.boiler import write_demo

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    write_demo(folder, 1)
    (folder / "boiler.toml").rename(folder / "ready.toml")
    return folder


def estimica(*arguments: object) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "estimica", *map(str, arguments), "--json"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


#: whether something, as the tree of the study, lies over the title
COVERED = """() => {
  const title = document.querySelector(".est-title"), at = title.getBoundingClientRect();
  const top = document.elementFromPoint(at.left + 5, at.top + at.height / 2);
  return !(title.contains(top) || top.contains(title));
}"""


def _column(study: Path, kind: str, name: str) -> object:
    entry = tomllib.loads(study.read_text())["case"][0].get(kind, {}).get(name)
    return entry.get("column") if isinstance(entry, dict) else entry


def test_from_model_and_table_to_report(page: Page, address: str, folder: Path) -> None:
    page.goto(address)
    page.get_by_role("button", name="New study").click()
    choose(page, "Model of the folder", "DrumBoiler.mo")
    choose(page, "Data files, one for each case", "run1.csv")
    page.get_by_label("Name of the study").fill("made")
    page.get_by_role("button", name="Propose a study").click()
    page.wait_for_url(re.compile("/study/made.toml"))
    study = folder / "made.toml"
    assert tomllib.loads(study.read_text())["model"]["source"] == "DrumBoiler.mo"

    # the mapping: time is found by itself, columns have other names than variables
    page.goto(f"{address}/study/made.toml?at=case/0")
    expect(page.locator(".est-figure[data-drawn]")).to_have_count(1)
    case = tomllib.loads(study.read_text())["case"][0]
    for kind, names in (
        ("input", {"uc": "valve", "fc": "fuel"}),
        ("output", {"E": "power", "P": "pressure"}),
    ):
        for name, column in names.items():
            if name not in case.get(f"{kind}s", {}):
                choose(page, f"Add an {kind}", name)
            choose(page, f"Column of {name}", column)
            # the tables are drawn anew then, and what is typed meanwhile is lost
            until(lambda k=f"{kind}s", n=name, c=column: _column(study, k, n) == c, page)
            page.wait_for_timeout(500)
    # the tuners
    page.goto(f"{address}/study/made.toml?at=tune")
    wanted = {"T_D": (250, 10, 500), "T_R": (30, 1, 100), "A4": (0.5, 0, 1)}
    for name in ("w_E", "w_P", "x10", "x20", *wanted):
        if page.get_by_label(f"start of {name}", exact=True).count() == 0:
            choose(page, "Add a tuner", name)
            page.get_by_role("button", name="Add", exact=True).click()
            expect(page.get_by_label(f"start of {name}", exact=True)).to_be_visible()
    for name, numbers in wanted.items():
        for field, value in zip(("start", "min", "max"), numbers, strict=True):
            box = page.get_by_label(f"{field} of {name}", exact=True)
            box.fill(str(value))
            box.press("Enter")
    page.goto(f"{address}/study/made.toml")
    expect(page.get_by_text("The study is in order")).to_be_visible()

    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    expect(page.locator(".est-figure[data-drawn]").first).to_be_visible()
    run = page.url.rpartition("/")[2]
    with page.expect_download() as download:
        page.get_by_role("button", name="Report").click()
    report = Path(download.value.path()).read_text(encoding="utf-8")
    assert "T_D" in report
    assert "<!doctype html>" in report[:200].lower()

    # the file is what the command line takes, and gives the same
    stored = estimica("runs", "show", run, "--store", folder / ".estimica" / "runs.sqlite")
    again = estimica("fit", study, "--no-store")
    assert again["outcome"]["status"] == "converged"
    for name, entry in again["parameters"].items():
        assert stored["result"]["parameters"][name]["value"] == entry["value"]


def test_invalid_bound_is_told_at_its_field(page: Page, address: str) -> None:
    page.goto(f"{address}/study/ready.toml?at=tune/T_D")
    box = page.get_by_label("Min", exact=True)
    box.fill("600")
    box.press("Enter")
    expect(page.get_by_text("min 600 is above max 500", exact=False).first).to_be_visible()
    box.fill("ten")
    box.press("Enter")
    expect(page.get_by_text("'ten' is not a number")).to_be_visible()
    box.fill("10")
    box.press("Enter")
    expect(page.get_by_text("min 600")).to_have_count(0)


def begin(page: Page, address: str, study: str, button: str) -> str:
    """Run a command on a study and come to the page of its run."""
    page.goto(f"{address}/study/{study}")
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_url(re.compile("/runs/"))
    return page.url


def test_a_run_is_live_after_a_reload_and_in_a_second_tab_and_can_be_stopped(
    page: Page, address: str, folder: Path
) -> None:
    ready = (folder / "ready.toml").read_text(encoding="utf-8")
    long = f"{ready}\n[bootstrap]\nreplicates = 50000\n"  # it does not end while it is watched
    (folder / "long.toml").write_text(long, encoding="utf-8")
    url = begin(page, address, "long.toml", "Bootstrap")
    expect(page.locator(".est-live .est-status.running")).to_be_visible()
    expect(page.get_by_text(re.compile(r"[1-9]\d* of 50000 replicates"))).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile(r"[1-9]\d* of 50000 replicates"))).to_be_visible()
    other = page.context.new_page()
    other.goto(url)
    expect(other.get_by_text(re.compile(r"[1-9]\d* of 50000 replicates"))).to_be_visible()
    page.get_by_role("button", name="Stop and keep the best so far").click()
    for tab in (page, other):
        expect(tab.locator(".est-status.interrupted")).to_be_visible()
        expect(tab.get_by_text(re.compile("interrupted after")).first).to_be_visible()
        expect(tab.get_by_text("Estimates", exact=True)).to_be_visible()  # those of the best so far


def test_undo_and_edits_from_elsewhere(page: Page, address: str, folder: Path) -> None:
    study = folder / "ready.toml"
    before = study.read_text(encoding="utf-8")
    page.goto(f"{address}/study/ready.toml?at=tune")
    box = page.get_by_label("max of T_R", exact=True)
    box.fill("120")
    box.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_enabled()
    for _ in range(50):  # an edit of another test may have enabled the button before
        written = study.read_text(encoding="utf-8")
        if written != before:
            break
        page.wait_for_timeout(100)
    assert tomllib.loads(written)["tune"]["T_R"]["max"] == 120
    assert [line.partition("#")[2] for line in before.splitlines()] == [
        line.partition("#")[2] for line in written.splitlines()
    ], "comments are kept"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("max of T_R", exact=True)).to_have_value("100")
    assert study.read_text(encoding="utf-8") == before
    study.write_text(before.replace("max = 100 }", "max = 90 }", 1), encoding="utf-8")
    expect(page.get_by_label("max of T_R", exact=True)).to_have_value("90")
    study.write_text(before, encoding="utf-8")


def test_foreign_code_asks_before_it_runs(page: Page, address: Address, folder: Path) -> None:
    mark = folder / "ran"
    program = f"open({str(mark)!r}, 'w').close()\ndef f(u, t, K=1.0):\n    return K * u\n"
    (folder / "code.py").write_text(program)
    (folder / "code.toml").write_text(
        '[model]\nsource = "code.py:f"\n[tune]\nK = 1\n[[case]]\nname = "a"\ndata = "run1.csv"\n'
        'time = "time"\ninputs = { u = "valve" }\noutputs = { y = "power" }\n'
    )
    page.goto(f"{address}/study/code.toml?at=model")
    expect(page.get_by_text("Run code of this study?")).to_be_visible()
    expect(page.get_by_text(re.compile("code.py.*sha256"))).to_be_visible()
    page.goto(f"{address}/study/code.toml")
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.get_by_role("dialog").get_by_text("Run code of this study?")).to_be_visible()
    old = address.code()
    page.get_by_role("button", name="No", exact=True).click()
    assert not mark.exists()
    page.get_by_role("button", name="Fit", exact=True).click()
    dialog = page.get_by_role("dialog")
    agree = dialog.get_by_role("button", name="I trust these files")
    for wrong in ("", "AAA-AAA", old):  # a click alone, a guess, the code of an earlier question
        dialog.get_by_label("Code").fill(wrong)
        agree.click()
        expect(dialog.get_by_text("this is not the code that the terminal shows")).to_be_visible()
    code = address.code()
    (folder / "code.py").write_text(f"{program}# changed\n")  # since it was shown
    dialog.get_by_label("Code").fill(code)
    agree.click()
    expect(page.get_by_text("a file was changed since it was shown")).to_be_visible()
    assert not mark.exists()
    page.get_by_role("button", name="Fit", exact=True).click()
    dialog.get_by_label("Code").fill(address.code().lower().replace("-", " "))
    dialog.get_by_label("Code").press("Enter")
    page.wait_for_url(re.compile("/runs/"))
    assert mark.exists()


def test_sliders_redraw_curves_and_fit(page: Page, address: str) -> None:
    page.goto(f"{address}/study/ready.toml?at=hand")
    told = page.get_by_text(re.compile(r"fit E -?[\d.]+ %"))
    expect(told).to_be_visible()
    before = told.inner_text()
    slider = page.get_by_label("Slider of T_D").locator("[tabindex]")
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(told).not_to_have_text(before)
    box = page.get_by_label("x10", exact=True)
    box.fill("148")
    box.press("Enter")
    expect(page.locator(".est-figure[data-drawn]")).to_have_count(1)


def test_files_are_sent_and_wrong_ones_refused(page: Page, address: str, folder: Path) -> None:
    page.goto(f"{address}/new")
    send = page.locator("input[type=file]").last
    send.set_input_files({"name": "more.csv", "mimeType": "text/csv", "buffer": b"t,y\n0,1\n1,2\n"})
    expect(page.get_by_text("more.csv is in the folder now")).to_be_visible()
    assert (folder / "more.csv").read_bytes() == b"t,y\n0,1\n1,2\n"
    program = {"name": "odd.csv", "mimeType": "text/csv", "buffer": b"\x7fELF" + bytes(100)}
    send.set_input_files(program)  # type: ignore[arg-type]
    expect(page.get_by_text(re.compile("odd.csv.*(no|not) ", re.IGNORECASE)).first).to_be_visible()
    again = {"name": "more.csv", "mimeType": "text/csv", "buffer": b"x"}
    send.set_input_files(again)  # type: ignore[arg-type]
    expect(page.get_by_text("there is a file 'more.csv' already")).to_be_visible()
    assert not (folder / "odd.csv").exists()
    assert (folder / "more.csv").stat().st_size == 12


def test_missing_things_have_a_page(page: Page, address: str) -> None:
    for path, words in (
        ("/study/none.toml", "there is no file 'none.toml'"),
        ("/study/..%2F..%2Fetc%2Fpasswd", "This page cannot be shown"),
        ("/runs/nothing", "there is no run 'nothing'"),
        ("/compare", "tick at least two runs"),
        ("/study/ready.toml?at=case/7", "the study has no case number '7'"),
        ("/study/ready.toml?at=tune/T_X", "the study has no tuner 'T_X'"),
        ("/study/ready.toml?at=nonsense", "a study has no page 'nonsense'"),
    ):
        page.goto(f"{address}{path}")
        expect(page.get_by_text(words).first).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(820, "light"), (1280, "dark")])
def test_pages_fit_a_tablet_and_the_dark(
    browser: Browser, address: Address, width: int, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 1100},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    address.let_in(context)
    page = context.new_page()
    page.set_default_timeout(SLOW)
    for path in (
        "/",
        "/new",
        "/study/ready.toml",
        "/study/ready.toml?at=tune",
        "/study/ready.toml?at=case/0",
    ):
        page.goto(f"{address}{path}")
        page.locator(".est-title").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(COVERED) is False, path
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(21, 29, 35)") == (scheme == "dark")
    context.close()
