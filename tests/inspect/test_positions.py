"""Positions of texts as a picture: sines and cosines, a learned table, turns."""

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.commands import TINY_SETTINGS, text
from helpers.pages import document

import weft
from weft.core import Attention, Block, Mlp, PerToken, Trunk
from weft.errors import WeftError
from weft.inspect.positions import LinePositionsView, line_codes
from weft.modalities.text import TextEmbed
from weft.models import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.position import Add, Learned, Rotary, Sinusoidal

SIZE = Size(dim=16, depth=1, heads=2, context=24)


def composed(place: Add.Config | None, turn: Rotary.Config | None = None) -> Stream:
    mix = Attention.Config(heads=2, turn=turn)
    trunk = Trunk.Config(block=Block.Config(mix=mix, transform=Mlp.Config()), depth=1)
    embed = TextEmbed.Config(vocab=9, context=24, place=place)
    return Stream.Config(dim=16, embed=embed, trunk=trunk, head=PerToken.Config()).build()


def test_sines_and_cosines_are_those_of_the_paper() -> None:
    found = line_codes(composed(Add.Config(code=Sinusoidal.Config())))
    place, pair = np.arange(24)[:, None], np.arange(8)
    angles = place / 10000 ** (pair / 8)
    assert np.allclose(found.values, np.concatenate([np.sin(angles), np.cos(angles)], 1), atol=1e-5)
    assert found.by_distance()[0] == pytest.approx(1) and found.by_distance()[1] < 1
    assert "sines and cosines" in found.kind


def test_a_table_is_shown_as_it_was_learned() -> None:
    model = composed(Add.Config(code=Learned.Config(size=24)))
    with torch.no_grad():
        model.embed.place.code.table.weight[3] = 7.0  # type: ignore[union-attr, operator, index]
    assert (line_codes(model).values[3] == 7).all()


def test_turns_are_as_alike_as_a_query_and_a_key_of_ones() -> None:
    model = composed(None, Rotary.Config())
    found = line_codes(model)
    turn = next(part for part in model.modules() if isinstance(part, Rotary))
    cos, sin = turn({"position": torch.arange(24)[None]}, torch.float64)
    assert np.allclose(found.values, cos[0, :, 0].numpy(), atol=1e-6)
    same = cos[0, 5] * cos[0, 9] + sin[0, 5] * sin[0, 9]
    assert found.alike[5, 9] == pytest.approx(float(same.mean()), abs=1e-6)


def test_a_recurrent_model_has_none() -> None:
    model = LANGUAGE_MODELS["lstm"](SIZE, vocab=9, dropout=0.0).build()
    with pytest.raises(WeftError, match="no code for positions"):
        line_codes(model)


@pytest.mark.parametrize("model", ["gpt", "swift"])
def test_it_is_drawn_written_and_said(model: str) -> None:
    view = LinePositionsView(line_codes(LANGUAGE_MODELS[model](SIZE, vocab=9, dropout=0.0).build()))
    assert (
        view.picture()[:4] == b"\x89PNG"
        and b"<svg" in view.picture("svg")
        and document(view.page()).pictures[0].width > 300
    )
    assert "distance" in view.text() and len(view.to_json()["alike"]) == 24


def test_a_run_shows_its_positions_without_a_text(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text(text())
    run = weft.train(path, out=tmp_path / "run", model="gpt", steps=1, quiet=True, **TINY_SETTINGS)
    assert "learned table" in run.look(what="positions").text()
    with pytest.raises(WeftError):
        run.look()
