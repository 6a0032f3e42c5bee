"""The page for people, in a browser: its form follows the run, answers stream in, nothing else is asked."""

from typing import Any

import pytest
from helpers.serving import Running

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
    page.wait_for_selector("#save:not([hidden])")
    shown = page.inner_text("article pre")
    assert shown.startswith("<b>Once</b>") and len(shown) > 25 and not page.query_selector("article b")
    page.click("text=look inside")
    page.wait_for_selector("text=open what the model did")
    assert page.get_attribute("article a", "href").startswith("/look/")
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
    page.wait_for_selector("meter")
    assert page.locator("article").first.inner_text().count("%") == 2
    page.click("summary")
    page.fill("#set-top", "many")
    page.click("#send")
    page.wait_for_function("() => document.querySelectorAll('.error').length === 2")


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
