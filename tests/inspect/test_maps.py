"""Maps over a picture: bright where most was read, in the right place, for any picture and grid."""

import json

import numpy as np
import pytest
from helpers.drawings import images, pixels, size, texts

from weft.errors import ConfigError, DataError
from weft.inspect.maps import Maps, as_text, draw, heat, to_json
from weft.inspect.views import AttentionChoice

slow = pytest.mark.slow
PHOTO = np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)
DIGIT = np.random.default_rng(1).integers(0, 256, (28, 28, 1), dtype=np.uint8)
GREY = np.full((64, 64, 3), 128, np.uint8)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pictures of one inch are drawn fast."""
    monkeypatch.setattr("weft.inspect.maps.SIDE", 1.0)


def made(picture=PHOTO, rows=7, columns=7, layers=3, heads=2, **more) -> Maps:
    weights = np.random.default_rng(2).random((layers, heads, rows, columns))
    weights /= weights.sum((2, 3), keepdims=True)
    return Maps(picture, weights, **{"rollout": weights.mean((0, 1)), **more})


def only(row: int, column: int, rows: int = 4, columns: int = 4) -> np.ndarray:
    found = np.zeros((rows, columns))
    found[row, column] = 1
    return found


def one(map: np.ndarray, **more) -> Maps:
    return Maps(GREY, map[None, None], **more)


def warm(image: np.ndarray) -> np.ndarray:
    """Red above blue: the hot end of the scale of heat."""
    return image[..., 0].astype(int) - image[..., 2]


def pictures_and_grids() -> list:
    """Every picture with one grid, every grid with one picture; all other pairs are slow."""
    pictures, grids = (PHOTO, DIGIT, DIGIT[..., 0], PHOTO[:, :9], PHOTO[:4]), ((7, 7), (14, 10), (1, 1))
    return [
        pytest.param(
            picture, *grid, id=f"{picture.shape} {grid}", marks=() if picture is PHOTO or grid == (7, 7) else slow
        )
        for picture in pictures
        for grid in grids
    ]


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("picture, rows, columns", pictures_and_grids())
def test_any_picture_and_grid_can_be_drawn(picture, rows, columns, every):
    maps = made(picture, rows, columns)
    assert min(size(draw(maps, AttentionChoice(every=every)))) > 100
    assert texts(draw(maps, AttentionChoice(every=every), format="svg"))


@pytest.mark.parametrize("row, column", [(0, 0), (0, 3), (2, 1), (3, 3)])
def test_the_picture_is_hot_where_most_was_read(row: int, column: int):
    heat = warm(images(draw(one(only(row, column)), AttentionChoice(1, 1), format="svg"))[1])
    place = np.unravel_index(heat.argmax(), heat.shape)
    assert [int(4 * at / side) for at, side in zip(place, heat.shape, strict=True)] == [row, column]
    assert heat.min() < 0 < 100 < heat.max()


def test_heat_is_smooth_between_patches():
    heat = warm(images(draw(one(only(1, 1)), AttentionChoice(1, 1), format="svg"))[1])
    assert np.abs(np.diff(heat, axis=0)).max() < 20 and np.abs(np.diff(heat, axis=1)).max() < 20


def test_the_same_reading_of_less_has_the_same_colours_and_smaller_numbers():
    maps = made()
    paler = Maps(PHOTO, maps.layers / 4, maps.rollout / 4)
    same, less = (draw(each, format="svg") for each in (maps, paler))
    assert all(np.abs(a.astype(int) - b).max() <= 1 for a, b in zip(images(same), images(less), strict=True))
    assert f"{maps.rollout.max() / 4:.2g}" in texts(less) and f"{maps.rollout.max():.2g}" in texts(same)


def test_what_is_read_evenly_looks_even():
    almost = 1 + 0.01 * np.random.default_rng(0).random((4, 4))
    heat = warm(images(draw(one(almost / almost.sum()), AttentionChoice(1, 1), format="svg"))[1])
    assert heat.max() - heat.min() < 20


def test_nothing_read_is_said_and_drawn_cold():
    svg = draw(one(np.zeros((4, 4))), format="svg")
    assert "nothing" in texts(svg) and warm(images(svg)[1]).max() < 0
    assert as_text(one(np.zeros((4, 4)))).endswith("nothing was read")


def test_the_words_say_which_layers_and_heads_are_shown():
    def said(**options) -> list[str]:
        return texts(draw(made(title="a cat"), AttentionChoice(**options), format="svg"))

    assert {"a cat", "rollout through 3 layers", "head 1", "head 2"} <= set(said())
    assert any(text.startswith("layer 3, each head by itself") for text in said())
    assert "layer 2, averaged over 2 heads" in said(layer=2) and "head 2" in said(layer=2)
    assert {"head 2, averaged over 3 layers", "layer 1", "layer 3"} <= set(said(head=2))
    assert "layer 1, head 2" in said(layer=1, head=2) and "head 1" not in said(layer=1, head=2)
    assert {"layer 1", "layer 3", "head 1", "head 2"} <= set(said(every=True))
    assert {"layer 2", "head 1"} <= set(said(every=True, layer=2)) and "layer 1" not in said(every=True, layer=2)
    without = Maps(PHOTO, made().layers)
    assert "averaged over 3 layers × 2 heads" in texts(draw(without, format="svg"))


def test_every_head_stands_in_its_row_and_column():
    layers = np.stack([[only(i, j) for j in range(3)] for i in range(2)])
    grid = warm(images(draw(Maps(GREY, layers), AttentionChoice(every=True), format="svg"))[-1])
    high, wide = grid.shape[0] / 2, grid.shape[1] / 3
    for i in range(2):
        for j in range(3):
            panel = grid[round(i * high) : round((i + 1) * high) - 8, round(j * wide) : round((j + 1) * wide) - 8]
            place = np.unravel_index(panel.argmax(), panel.shape)
            assert [int(4 * at / side) for at, side in zip(place, panel.shape, strict=True)] == [i, j]


def test_the_patch_that_reads_is_framed():
    map = np.full((4, 4), 1 / 16)
    plain, framed = (pixels(draw(one(map, asked=asked), AttentionChoice(1, 1))) for asked in (None, (3, 0)))
    place = np.argwhere((plain != framed).any(-1)).mean(0) / plain.shape[:2]
    assert plain.shape == framed.shape and place[0] > 0.6
    assert "[]" in as_text(one(map, asked=(3, 0))).splitlines()[-3]


def test_text_has_a_block_for_each_patch_and_the_fullest_where_most_was_read():
    map = only(2, 1, 3, 5) + 0.3 * only(0, 4, 3, 5)
    lines = as_text(one(map, title="a\x1b[1mb")).splitlines()
    assert lines[0] == "a\ufffd[1mb" and lines[3] == "│        ░░│" and lines[5] == "│  ██      │"
    assert lines[-1] == "██ 1, blank 0 or less"


@pytest.mark.parametrize("middle", [0.5, 0.0, 0.25])
def test_a_map_is_bright_where_the_middle_of_its_part_is(middle):
    bright = heat(only(1, 2), 80, 80, middle).sum(-1)
    bright = np.where(bright > (bright.min() + bright.max()) / 2, 1.0, 0.0)
    row, column = (np.average(np.arange(80) + 0.5, weights=bright.sum(axis)) / 20 for axis in (1, 0))
    assert (row, column) == (pytest.approx(1 + middle, abs=0.03), pytest.approx(2 + middle, abs=0.03))


def test_json_has_the_maps_as_plain_values():
    maps = made(asked=(1, 2), title="a cat")
    back = json.loads(json.dumps(to_json(maps), allow_nan=False))
    assert back["title"] == "a cat" and back["asked"] == [1, 2]
    assert np.allclose(back["layers"], maps.layers, atol=1e-6) and np.allclose(back["rollout"], maps.rollout, atol=1e-6)
    assert to_json(Maps(PHOTO, maps.layers))["rollout"] is None


@pytest.mark.parametrize("format", ["png", "svg"])
def test_drawing_twice_gives_the_same_bytes(format):
    every = AttentionChoice(every=True)
    assert draw(made(), every, format=format) == draw(made(), every, format=format)


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"rollout": np.zeros((2, 2))}, "rollout of"),
        ({"rollout": np.full((7, 7), np.nan)}, "not finite"),
        ({"picture": PHOTO / 255}, "0 to 255"),
        ({"picture": PHOTO[..., :2]}, "1 or 3"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong: dict, said: str):
    with pytest.raises(DataError, match=said):
        made(**wrong)


def test_what_is_not_there_is_refused():
    with pytest.raises(DataError, match="expected maps"):
        Maps(PHOTO, np.zeros((2, 0, 7, 7)))
    with pytest.raises(ConfigError, match="from 1 to 3"):
        draw(made(), AttentionChoice(layer=4))
    with pytest.raises(ConfigError, match="from 1 to 2"):
        draw(made(), AttentionChoice(head=0))
    with pytest.raises(ConfigError, match="no patch"):
        made(asked=(7, 0))
    with pytest.raises(ConfigError, match="png, svg or pdf"):
        draw(made(), format="gif")
