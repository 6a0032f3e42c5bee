"""The page for people, in a browser: its form follows the run, answers stream in, nothing else is asked."""

import csv
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.kept_runs import RUNS
from helpers.serving import FINISHED, Running
from helpers.trials import DATA, EVERY, train

from weft.storage.lock import RunLock
from weft.web.scanning import Scanner
from weft.web.table import RunTable, ServedRun

AXE = os.environ.get("AXE_CORE", "")


class Visit:
    """The page in a window of its own, with all that it asked for and complained of."""

    def __init__(self, browser: Any, address: str, **settings: Any):
        self.page = browser.new_context(**settings).new_page()
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda one: self.asked.append(one.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda one: self.errors.append(one.text) if one.type == "error" else None)
        self.page.goto(address)
        self.page.wait_for_function("() => document.querySelector('#about').textContent !== ''")


@pytest.fixture
def visit(browser: Any, server: Running) -> Visit:
    return Visit(browser, f"http://127.0.0.1:{server.port}/", viewport={"width": 360, "height": 700})


def test_a_text_streams_in_and_opens_up(visit: Visit, server: Running):
    page = visit.page
    page.select_option("#run", "language-model")
    page.fill("#text", "<b>Once</b>")
    page.click("summary")
    page.fill("#set-max_tokens", "30")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#saving:not([hidden])")
    shown = page.inner_text("article pre")
    assert shown.startswith("<b>Once</b>") and len(shown) > 25 and not page.query_selector("article b")
    page.click("text=look inside")
    page.wait_for_selector("text=open what the model did")
    assert page.get_attribute("article a", "href").startswith("/look/")
    page.frame_locator("iframe").locator("h1").wait_for()
    head = page.locator(".grid button").first
    head.press("Enter")
    page.wait_for_selector("h3:has-text('after')")
    assert head.get_attribute("aria-pressed") == "true" and "→" in page.inner_text(".changes")
    page.click("text=switch all on")
    page.wait_for_function("() => !document.querySelector('.changes ol')")
    assert page.evaluate("document.documentElement.scrollWidth <= 360"), "it fits a phone"
    home = f"http://127.0.0.1:{server.port}/"
    assert not visit.errors and all(one.startswith(home) for one in visit.asked)


def test_the_form_follows_the_run_and_errors_are_words(visit: Visit):
    page = visit.page
    page.select_option("#run", "classify-images")
    assert page.query_selector("#file") and not page.query_selector("#text")
    page.click("#send")
    page.wait_for_selector(".error")
    assert "choose a picture first" in page.inner_text(".error")
    page.select_option("#run", "classify-text")
    page.fill("#text", "the soup was fine")
    page.click("#send")
    page.wait_for_selector(".share")
    assert page.locator("article").first.inner_text().count("%") == 2
    page.click("summary")
    page.fill("#set-top", "many")
    page.click("#send")
    page.wait_for_function("() => document.querySelectorAll('.error').length === 2")


def test_several_inputs_become_a_table_that_is_saved(visit: Visit):
    page = visit.page
    page.select_option("#run", "classify-text")
    page.fill("#text", 'the soup was fine\n\n=cold, "soup"')
    page.check("#each")
    page.click("#send")
    page.wait_for_selector("article table.lines")
    assert page.locator("article tbody tr").count() == 2
    with page.expect_download() as saved:
        page.click("text=save this table")
    names, *rows = list(csv.reader(saved.value.path().read_text().splitlines()))
    assert names[0] == "asked" and "label" in names
    assert [row[0] for row in rows] == ["the soup was fine", '\'=cold, "soup"'], "no spreadsheet computes a text"
    given = {"name": "soups.csv", "mimeType": "text/csv", "buffer": b'id,text\n1,"good, ""hot"" soup"\n2,cold\n'}
    page.set_input_files("#file", files=[given])
    page.wait_for_selector("text=2 inputs")
    page.click("#send")
    page.wait_for_function("() => document.querySelectorAll('article').length === 2")
    page.locator("article").first.locator("tbody tr").nth(1).wait_for()
    assert 'good, "hot" soup' in page.locator("article").first.inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= 360") and not visit.errors


def test_a_run_in_training_is_drawn_and_becomes_one_that_answers(browser: Any, tmp_path: Path):
    run = shutil.copytree(RUNS / "language-model" / "begun", tmp_path / "story")
    with RunLock(run):
        table = RunTable.of([run])
        scanner = Scanner(table, [run])
        scanner.look()
        table.training["story"].trial()
        server = Running(table)
        try:
            page = (visit := Visit(browser, f"http://127.0.0.1:{server.port}/")).page
            page.wait_for_selector(".chart path")
            assert "step 2 of 4" in page.inner_text("#training") and "Once upon a" in page.inner_text("#training")
            assert page.locator("#ask").is_hidden()
            page.click("text=what it looks at")
            page.frame_locator("iframe").locator("h1").wait_for()
            for path in (FINISHED / "language-model").iterdir():
                shutil.copy(path, run / path.name)
        except BaseException:
            server.close()
            raise
    try:
        scanner.look()
        page.wait_for_selector("#ask:not([hidden])", timeout=15_000)
        assert "parameters" in page.inner_text("#about") and not visit.errors
    finally:
        server.close()


def test_the_token_comes_from_the_address_and_goes_no_further(browser: Any, table: RunTable):
    token = "0123456789abcdef"
    server = Running(table, token=token)
    try:
        address = f"http://127.0.0.1:{server.port}/"
        assert "needs its token" in Visit(browser, address).page.inner_text("#about")
        found = Visit(browser, f"{address}#token={token}")
        assert found.page.locator("#run option").count() == len(table)
        assert not any(token in one for one in found.asked[1:])
    finally:
        server.close()


def answered(visit: Visit, run: str, text: str) -> Any:
    """The page with an answer that is opened up, and the changes below it."""
    page = visit.page
    page.select_option("#run", run)
    page.fill("#text", text)
    page.click("#send")
    page.click("text=look inside")
    page.wait_for_selector("summary:has-text('other changes')")
    return page


def test_small_effects_are_told_in_digits_and_rounding_is_none(visit: Visit):
    before = 0.125
    effects = [0.0, 2e-7, -0.003125, 0.00025, 0.0488, -1.5, 2e-5, None]
    told = ["0", "0", "-0.0031", "0.00025", "0.049", "-1.50", "0.000020"]

    def small(route: Any) -> None:
        measures = [[None if one is None else before + one for one in effects]]
        names = [f"head {n + 1}" for n in range(len(effects))]
        grid = {"measured": "log-odds", "before": before, "rows": ["layer 1"], "columns": names, "measures": measures}
        route.fulfill(json=grid)

    visit.page.route("**/api/sweep/*", small)
    page = answered(visit, "classify-text", "the soup was fine")
    cells = page.locator(".changes table.grid").first.locator("button")
    assert cells.all_inner_texts() == told
    assert [str(one.get_attribute("aria-label")).rpartition(": ")[2] for one in cells.all()] == told
    strong = [one.evaluate("one => one.style.background.includes(' 0%')") for one in cells.all()]
    assert strong[:2] == [True, True] and not strong[5], "colour follows what the cell tells"
    effects[:] = [1e-7, -1e-7, 0.0, 0.0, 0.0, 0.0, 0.0, None]
    page.reload()
    page.wait_for_function("() => document.querySelector('#about').textContent !== ''")
    page = answered(visit, "classify-text", "the soup was cold")
    assert page.locator("table.grid button[style*=' 0%']").count() == 2 * 7
    assert not visit.errors


def test_parts_are_scaled_pinned_patched_and_steered_and_taken_back(visit: Visit, server: Running):
    page = answered(visit, "classify-text", "the soup was fine")
    page.click("summary:has-text('other changes')")

    def change(kind: str, **fields: str) -> str:
        page.select_option(".changes form select >> nth=0", kind)
        for name, value in fields.items():
            node = page.locator(f".changes form [name={name}]")
            node.select_option(value) if node.evaluate("one => one.tagName") == "SELECT" else node.fill(value)
        if page.locator(".changes label.wide input").count():
            page.fill(".changes label.wide input >> nth=0", "the soup was cold")
            page.keyboard.press("Tab")
        before = page.locator(".chip").count()
        page.click(".changes form button")
        page.wait_for_function("count => document.querySelectorAll('.chip').length > count", arg=before)
        page.wait_for_selector(".changes h3:has-text('after')")
        assert not page.locator(".changes .error:visible").count(), page.inner_text(".changes")
        return page.locator(".chip").last.inner_text()

    assert "scale" in change("Scaled", factor="0.5")
    assert "uniform" in change("Pinned", weights="uniform")
    assert "keys 2" in change("Unread", keys="2")
    assert "hide" in change("Hidden", tokens="1")
    assert page.locator("text=show the changed model above").is_enabled()
    assert "another input" in change("Replaced", layer="1")
    assert "steer" in change("Added", strength="2")
    assert not page.locator("text=show the changed model above").is_enabled(), "a look takes one input"
    assert "→" in page.inner_text(".changes")
    for left in range(5, -1, -1):
        page.locator(".chip button").last.press("Enter")
        page.wait_for_function("count => document.querySelectorAll('.chip').length === count", arg=left)
    page.select_option(".changes form select >> nth=0", "Unread")
    page.click(".changes form button")
    page.wait_for_selector(".changes .error:visible")
    page.select_option(".changes form select >> nth=0", "Scaled")
    page.fill(".changes form [name=factor]", "much")
    page.click(".changes form button")
    assert "expected a number" in page.inner_text(".changes form ~ .error")
    assert page.evaluate("document.documentElement.scrollWidth <= 360") and len(visit.errors) == 1, (
        "a 400 of the server"
    )


def test_what_is_asked_and_answered_is_shown_as_text_and_no_more(visit: Visit):
    page = visit.page
    markup = "</textarea><script>document.title='x'</script><img src=x onerror=alert(1)>"
    for hostile in (markup, "\u202egnol \u2066x", "w" * 3000, "\x1b[2J\x07", "e" + "\u0301" * 300):
        page.select_option("#run", "classify-text")
        page.fill("#text", hostile)
        page.click("#send")
        page.wait_for_selector("#send:not([disabled])")
        page.wait_for_selector("article >> nth=0")
        assert not page.query_selector("article script, article img")
        assert page.evaluate("document.documentElement.scrollWidth <= 360"), hostile[:20]
    assert page.title() == "weft" and not visit.errors


def test_a_picture_that_is_dropped_is_shown_and_named(visit: Visit, server: Running):
    page = visit.page
    page.select_option("#run", "classify-images")
    pixels = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFUlEQVR4nGP8z8DAwMDAxMDAwMAAAA0GAQMAwyhWAAAAAElFTkSuQmCC"
    page.evaluate(
        """data => {
            const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0)), carried = new DataTransfer();
            carried.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
            const how = { dataTransfer: carried, bubbles: true, cancelable: true };
            for (const kind of ["dragover", "drop"]) document.dispatchEvent(new DragEvent(kind, how));
        }""",
        pixels,
    )  # fmt: skip
    page.wait_for_selector("#shown img")
    assert page.get_attribute("#shown img", "alt") == "dropped.png"
    page.click("#send")
    page.wait_for_selector("article h2")
    assert "dropped.png" in page.inner_text("article h2")
    page.wait_for_selector("#send:not([disabled])")


def test_all_of_it_is_reached_by_the_keyboard(visit: Visit):
    page = visit.page
    page.focus("#run")
    page.keyboard.type("classify-text")
    page.wait_for_selector("#each")
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert (
        reached.index("text")
        < reached.index("each")
        < reached.index("file")
        < reached.index("SUMMARY")
        < reached.index("send")
    )
    page.focus("#text")
    page.keyboard.type("the soup was fine")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("article .share")
    page.focus("article button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid button")
    page.focus(".grid button")
    page.keyboard.press("Space")
    page.wait_for_selector(".chip")
    outlined = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outlined) != "none"


@pytest.mark.skipif(not AXE, reason="AXE_CORE names no axe.min.js")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1100), ("dark", 360)])
def test_axe_finds_nothing_serious_on_the_page(browser: Any, server: Running, scheme: str, width: int):
    size = {"width": width, "height": 800}
    visit = Visit(browser, f"http://127.0.0.1:{server.port}/", viewport=size, color_scheme=scheme, bypass_csp=True)
    page = answered(visit, "classify-text", "the soup was fine")
    page.click("summary:has-text('settings')")
    page.click("summary:has-text('other changes')")
    page.locator(".grid button").first.click()
    page.wait_for_selector("h3:has-text('after')")
    page.evaluate(Path(AXE).read_text())
    found = page.evaluate("axe.run(document, { iframes: false }).then((found) => found.violations)")
    assert not [(one["id"], one["nodes"][0]["html"][:120]) for one in found if one["impact"] in ("serious", "critical")]


FILES = {  # the run, and a file that its form takes
    "forecast": ("ripples.nc", (DATA / "ripples.nc")),
    "graph": ("villages.json", (DATA / "villages.json")),
}


@pytest.mark.parametrize("task", [pytest.param(task, marks=pytest.mark.slow) for task in FILES])
def test_files_of_other_kinds_are_chosen_and_answered(browser: Any, tmp_path: Path, task: str):
    name, path = FILES[task]
    server = Running(RunTable([ServedRun(task, train(task, EVERY[task].data, out=tmp_path / task))]))
    try:
        visit = Visit(browser, f"http://127.0.0.1:{server.port}/", viewport={"width": 360, "height": 700})
        page = visit.page
        assert Path(name).suffix in page.get_attribute("#file", "accept")
        page.set_input_files("#file", files=[{"name": name, "mimeType": "", "buffer": path.read_bytes()}])
        page.wait_for_selector(f"#shown span:has-text('{name}')")
        page.click("#send")
        page.wait_for_selector("#send:not([disabled])", timeout=60_000)
        assert not page.locator("article .error").count(), page.inner_text("article")
        page.click("text=look inside")
        page.wait_for_selector("iframe", timeout=60_000)
        assert page.evaluate("document.documentElement.scrollWidth <= 360") and not visit.errors
    finally:
        server.close()
