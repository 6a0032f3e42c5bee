"""The page in a browser: Debian's Chromium, driven by Playwright, without a network. Skipped where either is missing.

`AXE_CORE=axe.min.js` (the npm package axe-core) also looks for what people who see or point badly cannot use.
"""

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.inspect.answers import LookedAnswer
from weft.inspect.document import (
    AddedParts,
    Bracket,
    ChangedAnswer,
    EffectGrid,
    GlobePlace,
    GridPlace,
    KindTable,
    LensRow,
    LensTable,
    LookDocument,
    NodePlace,
    PageImage,
    TokenGroup,
    TokenSteps,
    TreePlace,
)
from weft.inspect.figures import png_of
from weft.inspect.page.joined import framed, page
from weft.inspect.streams import Read, streams_of

AXE = os.environ.get("AXE_CORE", "")


def weights(layers: int, heads: int, queries: int, keys: int) -> np.ndarray:
    """Random weights; of a square those that see only what is before them."""
    scores = 3 * np.random.default_rng(queries).standard_normal((layers, heads, queries, keys))
    scores = np.where(np.tri(queries, dtype=bool), scores, -np.inf) if queries == keys else scores
    found = np.exp(scores - scores.max(-1, keepdims=True))
    return found / found.sum(-1, keepdims=True)


def made(scene: str, groups: list[TokenGroup], reads: list[Read], **more: Any) -> LookDocument:
    streams, notes = streams_of(reads, groups)
    answer = LookedAnswer((("yes", 0.75), ("no", 0.25)))
    return LookDocument(
        f"a {scene}", scene, f"about a {scene}", "in words", "run", "task", tuple(groups), streams, answer=answer,
        notes=notes, **more,
    )  # fmt: skip


def text_document(tokens: tuple[str, ...] = ("one", "two", "three", "two"), **more: Any) -> LookDocument:
    read = weights(2, 3, len(tokens), len(tokens))
    reads = [Read("attention", "text", "text", read), Read("through all", "text", "text", read[:1, :1], "rollout")]
    return made("text", [TokenGroup("text", tokens)], reads, start=(("token", f"text.{len(tokens)}"),), **more)


def tree_document() -> LookDocument:
    tree = TreePlace((Bracket("NP", 0, 1, 1, ((0.0, 0), (1.0, 0))), Bracket("S", 0, 2, 2, ((0.5, 1), (2.0, 0)))))
    groups = [TokenGroup("words", ("the", "cat", "sleeps"), tree), TokenGroup("parts", ("(S", "(NP"))]
    return made("tree", groups, [Read("read", "parts", "words", weights(1, 2, 2, 3))])


def picture_document() -> LookDocument:
    pixels = np.random.default_rng(0).integers(0, 255, (48, 64, 3)).astype(np.uint8)
    names = ("class", *(f"patch {r},{c}" for r in (1, 2, 3) for c in (1, 2, 3, 4)))
    groups = [TokenGroup("patches", names, GridPlace(3, 4, 1, 0))]
    reads = [Read("attention", "patches", "patches", np.abs(weights(2, 2, 13, 14)[..., :13]))]
    return made("picture", groups, reads, pictures=(PageImage("image/png", png_of(pixels), 64, 48, "noise"),))


def graph_document() -> LookDocument:
    plane = NodePlace(
        tuple((float(np.cos(n)) / 2 + 0.5, float(np.sin(n)) / 2 + 0.5) for n in range(6)), ((0, 1), (1, 2))
    )
    groups = [TokenGroup("nodes", tuple("abcdef"), plane, ("x", "y") * 3)]
    return made("graph", groups, [Read("attention", "nodes", "nodes", weights(1, 2, 6, 6))])


def globe_document() -> LookDocument:
    place = GlobePlace(
        (60.0, 20.0, -20.0), (0.0, 60.0, 120.0, 180.0), coast=(((10.0, 10.0), (40.0, 30.0), (80.0, 5.0)),)
    )
    groups = [TokenGroup("patches", tuple(f"cell {n}" for n in range(12)), place)]
    groups.append(TokenGroup("place", ("here",), boxes=(((60.0, 20.0, 60.0, 20.0),),)))
    return made(
        "globe", groups, [Read("read", "place", "patches", weights(2, 2, 1, 12), rows=("t", "u"), columns=("1", "2"))]
    )


DOCUMENTS = {
    "text": text_document,
    "tree": tree_document,
    "picture": picture_document,
    "graph": graph_document,
    "globe": globe_document,
}


class Opened:
    """A page that was opened from a file, with all that it asked for and said."""

    def __init__(self, browser: Any, path: Path, content: bytes, address: str = "", **settings: Any):
        path.write_bytes(content)
        self.context = browser.new_context(offline=True, accept_downloads=True, **settings)
        self.page = self.context.new_page()
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda one: self.asked.append(one.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda one: self.errors.append(one.text) if one.type == "error" else None)
        self.page.goto(f"file://{path}{address}")

    def drawn(self) -> "Opened":
        self.page.wait_for_selector("svg.scene")
        return self

    def until(self, condition: str) -> None:
        self.page.wait_for_function(f"() => {condition}")

    def says(self) -> str:
        return str(self.page.inner_text(".says"))

    def token(self) -> str:
        return str(self.page.get_attribute('.token[aria-selected="true"]', "data-token"))

    @property
    def network(self) -> list[str]:
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    pages: list[Opened] = []

    def opening(*documents: LookDocument, address: str = "", **settings: Any) -> Opened:
        pages.append(Opened(browser, tmp_path / f"{len(pages)}.html", page(documents), address, **settings))
        return pages[-1]

    yield opening
    for one in pages:
        assert not one.network and not one.errors, (one.network, one.errors)
        one.context.close()


@pytest.mark.parametrize("scene", DOCUMENTS)
def test_every_scene_is_drawn_light_and_dark_and_on_a_phone(opened: Any, scene: str) -> None:
    document = DOCUMENTS[scene]()
    for settings in ({"color_scheme": "dark"}, {"viewport": {"width": 360, "height": 740}}):
        one = opened(document, **settings).drawn()
        assert one.page.get_attribute("html", "data-theme") == settings.get("color_scheme", "light")
        assert one.page.evaluate("document.documentElement.scrollWidth") <= one.page.viewport_size["width"]
        for view in one.page.query_selector_all('[aria-label="view"] button'):
            view.click()
            one.page.wait_for_function(
                "(name) => document.querySelector('[aria-label=view] [aria-pressed=true]').textContent === name",
                arg=view.inner_text(),
            )
            assert one.page.query_selector("svg.scene") is not None


@pytest.mark.parametrize("width", [280, 360])
def test_long_names_of_what_is_chosen_from_fit_a_phone(opened: Any, width: int) -> None:
    name = "how the words that are written read those of the source, through all layers"
    reads = [Read(f"{name} {n}", "text", "text", weights(2, 3, 4, 4)) for n in (1, 2)]
    streams, _ = streams_of(reads, [TokenGroup("text", ("one", "two", "three", "two"))])
    (sweep,) = full_document().sweeps
    sweeps = tuple(replace(sweep, name=f"{name} {n}", stream=streams[0].name) for n in (1, 2))
    document = replace(full_document(), streams=streams, sweeps=sweeps, lens=(), additions=(), kinds=(), steps=())
    one = opened(document, viewport={"width": width, "height": 740}).drawn()
    assert one.page.locator("label select").count() > 1
    rights = one.page.eval_on_selector_all("select", "some => some.map((one) => one.getBoundingClientRect().right)")
    assert max(rights) <= width and one.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_click_on_a_token_and_on_a_head_shows_what_is_read(opened: Any) -> None:
    document = text_document()
    one = opened(document).drawn()
    one.page.click("text=three >> nth=0")
    one.page.click('button[aria-label^="layer 2, head 3"]')
    one.until("location.hash.includes('layer=2')")
    row = document.streams[0].weights.head(1, 2)[2]
    best = ("one", "two", "three")[int(row.argmax())]
    assert one.says().startswith(f"“three” reads most: {best} {100 * row.max():.0f} %")
    one.page.click("text=is read by")
    one.until("document.querySelector('.says').textContent.includes('is read most by')")


def test_the_frame_of_what_is_picked_covers_no_letter(opened: Any) -> None:
    one = opened(text_document()).drawn()
    room = one.page.evaluate(
        "() => { const one = document.querySelector('.mean.picked'), words = document.createRange();"
        " words.selectNodeContents(one); const inside = words.getBoundingClientRect();"
        " return inside.left - one.getBoundingClientRect().left }"
    )
    assert room >= 3, "the frame is three pixels wide, and one of them is outside"


def test_all_is_reached_by_keys(opened: Any) -> None:
    one = opened(text_document()).drawn()
    keys = one.page.keyboard
    for key in ("ArrowLeft", "ArrowLeft", "]", ".", "."):
        keys.press(key)
    one.until("location.hash.includes('head=2')")
    assert one.token() == "text.2" and "layer=1" in one.page.url and "layer 1, head 2" in one.page.inner_text(".now")
    keys.press("v")
    one.page.wait_for_selector('svg[aria-label^="lines"]')
    keys.press("m")
    one.until("document.querySelector('.now').textContent.includes('mean of 6')")
    keys.press("?")
    assert one.page.query_selector("dl.help") is not None
    for _ in range(40):
        keys.press("Tab")
        if one.page.evaluate("document.activeElement.dataset.token") == "text.2":
            break
    else:
        pytest.fail("no token is reached by the tab key")
    keys.press("ArrowRight")
    one.until("document.activeElement.dataset.token === 'text.3'")


def test_the_address_opens_where_it_was(opened: Any) -> None:
    one = opened(text_document(), address="#layer=2&head=1&token=text.2&t=0.5&view=lines").drawn()
    assert one.token() == "text.2" and one.page.query_selector('svg[aria-label^="lines"]') is not None
    assert "layer 2, head 1, temperature 0.5" in one.page.inner_text(".now")
    wrong = opened(text_document(), address="#layer=99&head=x&token=nothing.7&view=<b>").drawn()
    assert "mean of 6 heads" in wrong.page.inner_text(".now")


def test_the_temperature_sharpens_what_is_read(opened: Any) -> None:
    one = opened(text_document(), address="#layer=1&head=1").drawn()
    shares = (
        "() => [...document.querySelectorAll('aside .numbers td.number')].map((one) => parseFloat(one.textContent))"
    )
    before = max(one.page.evaluate(shares))
    one.page.fill('input[type="range"]', "-0.5")
    one.until("location.hash.includes('t=0.32')")
    row = text_document().streams[0].weights.head(0, 0)[3].astype(np.float64) ** (1 / 0.32)
    assert max(one.page.evaluate(shares)) == pytest.approx(100 * (row / row.sum()).max(), abs=1) and before < 100


HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eabc\u202c",
    "שלום",
    "a" * 10_000,
    "\x1b[31m",
    "${7*7}",
)


def test_hostile_tokens_are_only_words(opened: Any) -> None:
    one = opened(text_document(HOSTILE), viewport={"width": 360, "height": 740}).drawn()
    one.page.on("dialog", lambda dialog: pytest.fail("a token ran"))
    assert one.page.evaluate("document.querySelectorAll('script').length") == 2
    assert one.page.evaluate("document.querySelectorAll('#page img[src=x]').length") == 0
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert "</script>" in one.page.inner_text(".token >> nth=0")


def test_nothing_but_the_page_s_own_script_runs(opened: Any) -> None:
    one = opened(text_document()).drawn()
    ran = one.page.evaluate(
        "() => { const one = document.createElement('script'); try { one.text = 'window.ran = 1'; }"
        " catch { return 'refused' } document.body.append(one); return window.ran ?? 'stopped' }"
    )
    assert ran in ("refused", "stopped")
    one.errors.clear()


def test_what_is_shown_is_saved_as_png_svg_pdf_and_json(opened: Any, tmp_path: Path) -> None:
    one = opened(text_document(), address="#layer=1&head=2").drawn()
    files = {}
    for kind in ("PNG", "SVG", "PDF", "JSON"):
        with one.page.expect_download() as waiting:
            one.page.click(f"text=save {kind}")
        files[kind] = Path(waiting.value.path()).read_bytes()
    assert files["PNG"].startswith(b"\x89PNG") and len(files["PNG"]) > 5000
    table = int(files["PDF"].split(b"startxref\n")[1].split()[0])
    assert (
        files["PDF"].startswith(b"%PDF-1.4")
        and files["PDF"][table:].startswith(b"xref")
        and b"\xff\xd8" in files["PDF"]
    )
    assert (
        files["SVG"].startswith(b"<svg")
        and b"three" in files["SVG"]
        and b"class=" not in files["SVG"].replace(b'class="scene"', b"")
    )
    found = json.loads(files["JSON"])
    kept = text_document().streams[0].weights.head(0, 1)
    assert (found["layer"], found["head"], found["run"]) == (1, 2, "run") and np.allclose(
        found["weights"], kept, atol=1e-4
    )


def test_two_documents_stand_beside_each_other_with_their_difference(opened: Any, tmp_path: Path) -> None:
    one = opened(text_document()).drawn()
    other = tmp_path / "other.html"
    other.write_bytes(page([text_document(("four", "five", "six", "seven"))]))
    one.page.set_input_files('input[type="file"]', str(other))
    one.until("document.querySelectorAll('svg.scene').length === 2")
    one.page.check(".compare input[type=checkbox]")
    one.until("document.querySelectorAll('svg.scene').length === 3")
    assert "nothing in common): 0" in one.page.inner_text(".middle")


def test_the_panels_stand_where_the_document_has_their_tables(opened: Any) -> None:
    lens = LensTable("text", 3, (LensRow("layer 1", (("no", 0.6), ("yes", 0.4))), LensRow("layer 2", (("yes", 0.75),))))
    grid = EffectGrid(
        "heads off", "log-odds of yes", 1.1, ("1", "2"), ("1", "2", "3"), (0.5, 0, 0, 0, -0.25, 0), "attention"
    )
    added = AddedParts("text", 3, "the score of yes", (("embedding", 0.5), ("layer 1, head 1", -0.2)), 0.3)
    changed = ChangedAnswer(
        ("without 1.1",), LookedAnswer((("yes", 0.75),)), LookedAnswer((("no", 0.9),)), "log-odds of yes", 1.1, -2.2
    )
    kinds = KindTable("attention", ("previous", "", "first", "", "", ""), (0.9, 0, 0.8, 0, 0, 0))
    assert opened(text_document()).drawn().page.query_selector(".panel") is None
    full = text_document(lens=(lens,), sweeps=(grid,), additions=(added,), changed=(changed,), kinds=(kinds,))
    one = opened(full).drawn()
    said = one.page.inner_text(".panels")
    assert "logit lens" in said and "heads off" in said and "the score of yes" in said and "1.100 → -2.200" in said
    assert "effect" in one.page.inner_text(".heads select"), "heads are coloured by their effect where it is known"
    one.page.select_option(".heads select", "kind")
    one.until("document.querySelector('.heads').textContent.includes('pre = previous')")
    one.page.click(".sweep .cell >> nth=4")
    one.until("location.hash.includes('layer=2') && location.hash.includes('head=2')")


def test_a_cell_of_a_sweep_shows_the_answer_before_and_after(opened: Any) -> None:
    grid = EffectGrid(
        "stream of the second input", "log-odds of yes", 1.1, ("embedding", "layer 1"), ("one", "two"),
        (0.0, -3.5, 0.25, 0.0), change="with", answer="yes", chance=0.75, said=("yes", "no", "yes", ""),
        chances=(0.75, 0.08, 0.8, 0.0), words=("replaced=0@1", "replaced=0@2", "replaced=1@1", ""), group="text",
    )  # fmt: skip
    one = opened(text_document(sweeps=(grid,))).drawn()
    assert one.page.locator(".sweep .cell").count() == 3, "where nothing is changed there is no cell"
    one.page.click(".sweep .cell >> nth=1")
    one.page.wait_for_selector(".changed.one")
    said = one.page.inner_text(".changed.one")
    assert "--set replaced=0@2" in said and "yes 75 %" in said and "yes 8.0 %" in said and "1.100 → -2.400" in said
    assert "cell=1.2" in one.page.evaluate("location.hash") and one.token() == "text.2"


def full_document(**more: Any) -> LookDocument:
    """A text with every panel."""
    lens = LensTable("text", 3, (LensRow("layer 1", (("no", 0.6), ("yes", 0.4))), LensRow("layer 2", (("yes", 0.75),))))
    grid = EffectGrid(
        "heads switched off", "log-odds of yes", 1.1, ("layer 1", "layer 2"), ("head 1", "head 2", "head 3"),
        (0.5, 0.0, 0.0, 0.0, -0.25, 0.0), "attention", answer="yes", chance=0.75, said=("yes",) * 6,
        chances=(0.8, 0.7, 0.7, 0.7, 0.6, 0.7),
        words=("without=1.1", "", "without=1.3", "without=2.1", "without=2.2", ""),
    )  # fmt: skip
    added = AddedParts("text", 3, "the score of yes", (("embedding", 0.5), ("layer 1, head 1", -0.2)), 0.3)
    kinds = KindTable("attention", ("previous", "", "first", "", "", ""), (0.9, 0, 0.8, 0, 0, 0))
    steps = TokenSteps("attention", 3, zlib.compress(json.dumps([[step_numbers()] * 3] * 2).encode()))
    notes = ("A note.",)
    made = text_document(lens=(lens,), sweeps=(grid,), additions=(added,), kinds=(kinds,), steps=(steps,), **more)
    return replace(made, notes=notes)


def step_numbers() -> dict[str, Any]:
    """The numbers of one head, as `page_steps` writes them."""
    both = [[0.5, -1.0], [1.0, 2.0]]
    return {
        "q": [1.0, 2.0], "d": 2, "e": 2, "keys": [0, 1], "k": both, "v": both, "scores": [1.0, 2.0],
        "scaled": [0.7, 1.4], "weights": [0.33, 0.67],
        "factor": 0.7, "formula": "q·k", "why": "", "bias": None, "out": [0.8, 1.0],
        "others": 0, "rest": 0.0, "closed": 2,
    }  # fmt: skip


def test_sweeps_steps_saving_and_comparing_need_no_mouse(opened: Any) -> None:
    one = opened(full_document(), text_document(("four", "five", "six", "seven"))).drawn()
    keys = one.page.keyboard

    def reach(selector: str) -> None:
        for _ in range(80):
            keys.press("Tab")
            if one.page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        pytest.fail(f"{selector} is not reached by the tab key")

    reach(".sweep .cell")
    keys.press("ArrowRight")  # past a place where nothing can be changed
    keys.press("Enter")
    one.page.wait_for_selector(".changed.one")
    assert "cell=1.3" in one.page.url and "--set without=1.3" in one.page.inner_text(".changed.one")
    keys.press("ArrowDown")
    assert one.page.evaluate("document.activeElement.title").startswith("layer 1"), (
        "below it there is nothing to change"
    )
    reach("details.steps summary")
    keys.press("Enter")
    one.until("location.hash.includes('panel=steps')")
    with one.page.expect_download() as saved:
        one.page.focus("body")
        reach("header nav button:nth-child(5)")
        keys.press("Enter")
    assert saved.value.suggested_filename.endswith(".json")
    reach(".compare input[type=checkbox]")
    keys.press("Space")
    one.until("document.querySelectorAll('svg.scene').length === 3")


def test_the_numbers_of_a_token_are_unfolded_step_by_step(opened: Any) -> None:
    def head(layer: int, number: int) -> dict[str, Any]:
        return {
            "formula": "q·k", "factor": 0.5, "why": "", "d": 4, "e": 4, "q": [1.0, 2.0, 3.0, layer + number / 10],
            "keys": [3, 1], "k": [[1.0] * 4] * 2, "v": [[2.0] * 4] * 2, "scores": [4.0, 2.0], "scaled": [2.0, 1.0],
            "bias": None, "weights": [0.7, 0.2], "out": [0.5, 0.25, 0.125, 9.0], "others": 1, "rest": 0.1, "closed": 0,
        }  # fmt: skip

    heads = [[head(layer, number) for number in (1, 2, 3)] for layer in (1, 2)]
    steps = TokenSteps("attention", 3, zlib.compress(json.dumps(heads).encode()))
    one = opened(text_document(steps=(steps,)), address="#layer=1&head=2&token=text.4").drawn()
    one.page.click(".steps summary")
    one.until("document.querySelector('.steps').open")
    said = one.page.inner_text(".steps")
    assert (
        "layer 1, head 2" in said and "1.200" in said and "70 %" in said and "9.000" in said and "1 more tokens" in said
    )
    one.page.keyboard.press("Escape")
    one.page.click('[data-token="text.2"]')
    one.until("!document.querySelector('.steps')")


def test_without_a_script_the_answer_and_what_was_read_are_there(opened: Any) -> None:
    one = opened(text_document(), java_script_enabled=False)
    said = one.page.inner_text("body")
    assert "answer: yes (75 %), no (25 %)" in said and "What each token reads most" in said and "in words" in said
    assert one.page.query_selector('img[alt^="attention: mean of 2 layers"]') is not None


def test_a_notebook_shows_it_in_a_frame_that_reaches_nothing(browser: Any, tmp_path: Path) -> None:
    one = Opened(browser, tmp_path / "notebook.html", f"<!doctype html>{framed(page([text_document()]))}".encode())
    inside = one.page.frame_locator("iframe")
    inside.locator("svg.scene").wait_for()
    inside.locator('[data-token="text.3"]').click()
    inside.locator('[data-token="text.3"][aria-selected="true"]').wait_for()
    assert not one.network
    one.context.close()


@pytest.mark.skipif(not AXE, reason="AXE_CORE names no axe.min.js")
@pytest.mark.parametrize("scene", [*DOCUMENTS, "every panel", "two looks"])
def test_axe_finds_nothing_serious(opened: Any, scene: str) -> None:
    documents = (full_document(),) if scene in ("every panel", "two looks") else (DOCUMENTS[scene](),)
    documents += (text_document(("four", "five", "six", "seven")),) if scene == "two looks" else ()
    for settings in ({"color_scheme": "light"}, {"color_scheme": "dark"}):
        one = opened(*documents, address="#panel=steps&cell=1.1" if len(scene) > 8 else "", **settings).drawn()
        one.page.evaluate(Path(AXE).read_text())
        found = one.page.evaluate("axe.run().then((found) => found.violations)")
        serious = [
            (each["id"], each["nodes"][0]["html"][:120]) for each in found if each["impact"] in ("serious", "critical")
        ]
        assert not serious
