"""The page for people, in a browser: its form follows the run, answers stream in, nothing else is asked."""

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.kept_runs import RUNS
from helpers.serving import FINISHED, Running

from weft.storage.lock import RunLock
from weft.web.scanning import Scanner
from weft.web.table import RunTable


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
