"""The page in a browser: its size, the time to its first picture beside an empty page, and the time of a head.

    python bench/page.py                          # Debian's Chromium by Playwright; --browser PATH for another one

512 tokens, 12 layers x 12 heads of random attention. Goals: at most 3 MB, the first picture within 1.5 of the load of
an empty page, a head that was not shown before within 50 ms. Times are medians, of both pages in turn.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from weft.inspect.answers import LookedAnswer
from weft.inspect.document import LookDocument, TokenGroup
from weft.inspect.page.joined import page
from weft.inspect.streams import Read, streams_of

TOKENS, LAYERS, HEADS = 512, 12, 12
EMPTY = "<!doctype html><meta charset=utf-8><title>empty</title><p id=here>here</p>"
DRAWN = ".middle svg, .middle canvas"
KEY = """async (key) => {
  const before = document.querySelector(".now").textContent, start = performance.now();
  dispatchEvent(new KeyboardEvent("keydown", { key }));
  while (document.querySelector(".now").textContent === before) await new Promise((done) => setTimeout(done));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - start;
}"""


def document() -> LookDocument:
    """A text whose heads read at random what stands before."""
    drawn = np.random.default_rng(0)
    scores = 3 * drawn.standard_normal((LAYERS, HEADS, TOKENS, TOKENS), np.float32)
    scores[..., ~np.tri(TOKENS, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    groups = (TokenGroup("text", tuple(f"token{n}" for n in range(TOKENS))),)
    streams, notes = streams_of((Read("attention", "text", "text", weights),), groups)
    answer = LookedAnswer((("yes", 0.75), ("no", 0.25)))
    return LookDocument(
        "a text", "text", "a text", "in words", groups=groups, streams=streams, answer=answer, notes=notes
    )


def opened(browser: Any, path: Path, until: str) -> tuple[float, Any]:
    """The seconds from asking for a file until an element is there, in a window of its own, and the page."""
    tab = browser.new_context(offline=True).new_page()
    start = time.perf_counter()
    tab.goto(f"file://{path}", wait_until="commit")
    tab.wait_for_selector(until, state="attached")
    return time.perf_counter() - start, tab


def measured(browser: Any, folder: Path, rounds: int) -> dict[str, float]:
    """Size and times."""
    full, empty = folder / "full.html", folder / "empty.html"
    full.write_bytes(page([document()]))
    empty.write_text(EMPTY)
    first, plain, heads = list[float](), list[float](), list[float]()
    for number in range(rounds + 1):
        for path, until, times in ((empty, "#here", plain), (full, DRAWN, first)):
            seconds, tab = opened(browser, path, until)
            times += [seconds] if number else []  # the first round warms the browser
            if path is full and number == rounds:
                tab.wait_for_timeout(1000)
                heads = [tab.evaluate(KEY, key) for key in ["]", *"." * HEADS, "]", *"," * (HEADS - 1)]]
            tab.context.close()
    ratio = statistics.median(first) / statistics.median(plain)
    return {
        "MB of the page": round(full.stat().st_size / 1e6, 2),
        "empty page, ms": round(1000 * statistics.median(plain)),
        "first picture, ms": round(1000 * statistics.median(first)),
        "first picture / empty page": round(ratio, 2),
        "a head, ms": round(statistics.median(heads)),
        f"the slowest of {len(heads)}, ms": round(max(heads)),
    }


def main() -> None:
    """Print the figures as JSON."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browser", default="/usr/bin/chromium")
    parser.add_argument("--rounds", type=int, default=7)
    said = parser.parse_args()
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=said.browser)
        print(json.dumps(measured(browser, Path(folder), said.rounds), indent=2))
        browser.close()


if __name__ == "__main__":
    main()
