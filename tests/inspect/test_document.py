"""What a page shows: JSON both ways, weights within a budget, and one file that needs nothing else."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.pages import document

import weft
from weft.core.changes import Without
from weft.errors import DataError
from weft.inspect.answers import LookedAnswer
from weft.inspect.document import (
    Bracket,
    EffectGrid,
    GlobePlace,
    GridPlace,
    LensRow,
    LensTable,
    LookDocument,
    NodePlace,
    PageImage,
    PageTable,
    TokenGroup,
    TreePlace,
)
from weft.inspect.packed import BUDGET, EdgeWeights, pack, packed
from weft.inspect.page import joined
from weft.inspect.streams import Read, streams_of


def causal(heads: int, tokens: int, sharpness: float = 4.0) -> np.ndarray:
    """(1, heads, tokens, tokens) of what tokens read that see only what is before them."""
    chance = np.random.default_rng(0)
    scores = sharpness * chance.standard_normal((1, heads, tokens, tokens), np.float32)
    scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def example() -> LookDocument:
    places = [TreePlace((Bracket("S", 0, 1, 1, ((0.0, 0), (1.0, 0))),)), GridPlace(1, 1, 1, 0)]
    places += [NodePlace(((0.0, 0.5), (1.0, 0.5)), ((0, 1),)), GlobePlace((45.0,), (0.0, 10.0), coast=(((1.0, 2.0),),))]
    groups = tuple(TokenGroup(f"group {n}", ("a", "</script>"), place) for n, place in enumerate(places))
    streams, _ = streams_of([Read("attention", "group 0", "group 1", causal(2, 2))], groups)
    return LookDocument(
        "a title", "text", "about", "text", "run", "task", groups, streams, (PageImage("image/png", b"\x89PNG", 1, 1),),
        LookedAnswer((("x", 0.5), ("y", None))), (("layer", "1"),),
        lens=(LensTable("group 0", 1, (LensRow("1", (("x", 0.5),)),)),),
        sweeps=(EffectGrid("heads", "log-odds", 1.0, ("1",), ("1", "2"), (0.5, -0.5), "attention"),),
        tables=(PageTable("t", ("a",), (("b",),)),), notes=("n",),
    )  # fmt: skip


def test_a_document_is_the_same_after_json() -> None:
    again = LookDocument.from_json(json.loads(json.dumps(example().to_json())))
    assert again == example() and again.streams[0].weights.head(0, 1).shape == (2, 2)


@pytest.mark.parametrize(
    "where, value", [("scene", "sound"), ("groups", [{"name": 1}]), ("more", 1), ("streams", [{"weights": {}}])]
)
def test_what_is_no_document_is_refused(where: str, value: object) -> None:
    with pytest.raises((DataError, TypeError)):
        LookDocument.from_json({**example().to_json(), where: value})


def test_weights_that_fit_no_tokens_are_refused() -> None:
    with pytest.raises(DataError, match="expected weights of"):
        replace(example(), groups=example().groups[:1])


def test_packed_weights_are_near_the_weights() -> None:
    weights = causal(3, 40)
    by_row, by_head = pack(weights), pack(weights, "head")
    assert by_row.form == "causal" and len(by_row.pieces) == 3
    for head in range(3):
        given = weights[0, head]
        assert np.abs(by_row.head(0, head) - given).max(1) == pytest.approx(0, abs=0.0025)
        assert (np.abs(by_row.head(0, head) - given) <= 0.003 * given.max(1, keepdims=True) + 1e-6).all()
        assert np.abs(by_head.head(0, head) - given).max() < 0.0025
    assert np.abs(by_row.mean_head() - weights.mean((0, 1))).max() < 0.0025
    full = np.random.default_rng(0).random((2, 1, 5, 7), np.float32) - 0.5
    assert pack(full).signed and np.abs(pack(full).head(1, 0) - full[1, 0]).max() < 0.004


def test_weights_along_edges_stay_on_their_edges() -> None:
    edges = EdgeWeights(np.array([0, 0, 2]), np.array([1, 2, 0]), np.array([[0.25, 1], [0.75, 0], [1, 0.5]]), 4)
    found = pack([edges, edges])
    assert len(found.lists) == 2 and found.listed == (0, 0, 0, 0, 1)
    other = EdgeWeights(np.array([3, 0]), np.array([3, 1]), np.ones((2, 2)), 4)
    assert pack([edges, other]).mean_head()[0] == pytest.approx([0, 0.8125, 0.1875, 0], abs=0.003)
    assert found.head(1, 0)[0] == pytest.approx([0, 0.25, 0.75, 0], abs=0.003) and found.head(0, 1)[2, 0] > 0.49


def test_a_page_of_many_tokens_leaves_out_small_weights_and_says_so() -> None:
    groups = (TokenGroup("text", tuple("abcdefgh" * 8)),)
    reads = [Read("attention", "text", "text", causal(6, 64, 2.0))]
    fine, said = streams_of(reads, groups)
    assert fine[0].weights.scale == "row" and not said
    small, said = streams_of(reads, groups, budget=2 * fine[0].weights.size // 5)
    assert small[0].weights.size <= 2 * fine[0].weights.size // 5 and small[0].weights.least >= 1 / 128
    assert "are left out" in said[0]


@pytest.mark.slow
def test_512_tokens_of_144_heads_take_at_most_3_megabytes() -> None:
    groups = (TokenGroup("text", ("word",) * 512),)
    weights = np.concatenate([causal(12, 512, 5.0) for _ in range(12)])
    streams, notes = streams_of([Read("attention", "text", "text", weights)], groups)
    page = joined.page([LookDocument("t", "text", "a", "t", groups=groups, streams=streams, notes=notes)])
    assert len(page) <= 3_000_000 and sum(one.size for one in packed({"a": weights}).values()) <= BUDGET


def test_entropy_and_reach_of_heads_are_those_of_their_weights() -> None:
    before = np.eye(6, k=-1, dtype=np.float32)[None, None]
    before[..., 0, 0] = 1
    even = np.full((1, 1, 6, 6), 1 / 6, np.float32)
    (found,), _ = streams_of(
        [Read("a", "text", "text", np.concatenate([before, even], 1))], [TokenGroup("text", ("x",) * 6)]
    )
    assert found.entropy == pytest.approx((0, np.log2(6)), abs=1e-3) and found.unit == "tokens"
    assert found.reach == pytest.approx((5 / 6, 35 / 18), abs=1e-3)


def test_a_page_needs_nothing_else_and_runs_its_own_script_alone() -> None:
    page = joined.page([example()]).decode()
    script = re.search(r'<script type="module">(.*?)</script>', page, re.S)
    assert script is not None and script[1] == joined.script()
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page and "default-src 'none'" in page
    assert page.count("<script") == 2 and page.count("</script>") == 2, "a token cannot end the script"
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert document(page.encode()) == example()


def test_the_page_stays_small() -> None:
    modules = joined.in_order()
    assert modules[-1] == "main.js" and modules[0] == "lit-html.js"
    assert sum(joined.module(name).count("\n") for name in modules) <= 2500
    assert len(joined.page([example()])) <= 120_000


def test_a_page_has_what_a_study_of_the_input_finds(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("the cat sat on the mat and the dog sat on the log. " * 60)
    sizes = {"dim": 8, "depth": 2, "heads": 2, "context": 16, "batch": 4, "tokenizer": "characters"}
    run = weft.train(book, task="language-model", steps=2, out=tmp_path / "run", quiet=True, baselines=False, **sizes)
    found = document(run.look("the cat").page())
    tokens = len(found.groups[0].tokens)
    assert [one.token for one in found.lens] == list(range(tokens)) and len(found.lens[0].steps) > 2
    assert found.answer is not None
    assert found.lens[-1].steps[-1].said[0][1] == pytest.approx(found.answer.said[0][1], 1e-4)
    heads = next(one for one in found.sweeps if one.stream == "attention")
    assert (len(heads.rows), len(heads.columns)) == (2, 2) and len(heads.values) == len(found.kinds[0].kinds) == 4
    assert sum(value for _, value in found.additions[0].parts) == pytest.approx(found.additions[0].total, abs=1e-3)
    assert {"gradient x input", "integrated gradients", "occlusion"} < {one.by for one in found.streams}
    with run.changed(Without(1, branch="mix"), Without(1, branch="transform")):
        view = run.look("the cat")
    (changed,) = document(view.page()).changed  # drawn later, and under the changes that held
    assert changed.changes[0].startswith("without") and changed.before != changed.after
    assert changed.plain.said[0][1] == pytest.approx(found.answer.said[0][1], 1e-4)
