import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from weft.batches.draws import Dice, beta
from weft.config import from_json
from weft.domains.pictures.encoded import geometry
from weft.domains.pictures.encoded.augment import Augment, augment, augment_with_mask, draws, mix, partner_indices
from weft.domains.pictures.encoded.tone import sharpened, strong_changes, tinted, toned
from weft.domains.pictures.settings import OPERATIONS
from weft.errors import ConfigError

EVERYTHING = Augment(shift=0.2, zoom=0.6, flip=True, turn=20.0, colour=0.5, strong=4, erase=0.5, mixup=0.4, cutmix=1.0)
ALONE = [Augment(**{name: value}) for name, value in {**vars(EVERYTHING), "strong": len(OPERATIONS)}.items()]
HOW = [Augment.none(), Augment.light(True), Augment.medium(False), Augment.heavy(True), EVERYTHING, *ALONE]


def pictures(count: int, channels: int = 3, height: int = 16, width: int = 16) -> Tensor:
    return torch.randint(0, 256, (count, channels, height, width), dtype=torch.uint8)


def name(how: Augment) -> str:
    return "-".join(n for n, value in vars(how).items() if value) or "none"


def only(operation: str, amount: float, count: int = 1) -> dict[str, np.ndarray]:
    return {n: np.full(count, amount if n == operation else 0.0) for n in OPERATIONS}


def test_draws_look_uniform_and_independent() -> None:
    drawn = draws("key", np.arange(20_000), 6)
    assert drawn.shape == (20_000, 6) and drawn.dtype == np.float64
    assert drawn.min() >= 0 and drawn.max() < 1
    assert abs(drawn.mean(0) - 0.5).max() < 0.01
    assert abs(drawn.var(0) - 1 / 12).max() < 0.002
    counts = np.stack([np.bincount((column * 64).astype(int), minlength=64) for column in drawn.T])
    assert ((counts - 20_000 / 64) ** 2 / (20_000 / 64)).sum(1).max() < 63 + 5 * math.sqrt(2 * 63)
    columns = np.concatenate([drawn[:-1].T, drawn[1:].T, draws("other", np.arange(19_999), 6).T])
    assert abs(np.corrcoef(columns)[~np.eye(18, dtype=bool)]).max() < 0.035


def test_a_row_of_draws_depends_on_its_key_and_index_only() -> None:
    indices = np.array([5, 0, 2**62, 5, 2**63 - 1])
    drawn = draws("key", indices, 4)
    assert np.array_equal(drawn[0], drawn[3]) and len(np.unique(drawn)) == 16
    assert np.array_equal(drawn[2:3, :2], draws("key", indices[2:3], 2))
    assert not np.isin(draws("kez", indices, 4), drawn).any()
    assert draws("key", indices[:0], 4).shape == (0, 4)
    with pytest.raises(ValueError, match="indices from 0, found -1"):
        draws("key", np.array([3, -1]), 1)


@pytest.mark.parametrize("parameter", [0.01, 0.2, 1.0, 5.0, 100.0])
def test_beta_has_its_moments(parameter: float) -> None:
    drawn = beta(draws("beta", np.arange(50_000), 1)[:, 0], parameter)
    variance = 1 / (4 * (2 * parameter + 1))
    kurtosis = 3 - 6 / (2 * parameter + 3)
    assert drawn.min() >= 0 and drawn.max() <= 1
    assert abs(drawn.mean() - 0.5) < 5 * math.sqrt(variance / 50_000)
    assert drawn.var() == pytest.approx(variance, rel=0.03)
    assert ((drawn - 0.5) ** 4).mean() / variance**2 == pytest.approx(kurtosis, rel=0.05)


@pytest.mark.parametrize("how", HOW, ids=name)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_picture_gets_the_same_in_every_batch(how: Augment, channels: int) -> None:
    pixels, indices = pictures(40, channels, 15, 18), np.arange(1000, 1040)
    whole = augment(pixels, indices, how, key="k")
    mixed, share = mix(whole, whole.flip(0), indices, how, key="k")
    for rows in (np.array([7]), np.array([39, 3, 3]), np.arange(1, 39)):
        part = augment(pixels[rows], indices[rows], how, key="k")
        assert torch.equal(part, whole[rows])
        mixed_part, share_part = mix(part, whole.flip(0)[rows], indices[rows], how, key="k")
        assert torch.equal(mixed_part, mixed[rows]) and torch.equal(share_part, share[rows])
    small = augment(pixels, indices, how, key="k", size=(7, 6))
    assert torch.equal(augment(pixels[5:8], indices[5:8], how, key="k", size=(7, 6)), small[5:8])


@pytest.mark.parametrize("how", [h for h in HOW if name(h) not in ("none", "mixup", "cutmix")], ids=name)
def test_another_index_or_key_gives_another_change(how: Augment) -> None:
    pixels = pictures(1).expand(64, -1, -1, -1)
    first = augment(pixels, np.arange(64), how, key="k")
    for other in (augment(pixels, np.arange(64, 128), how, key="k"), augment(pixels, np.arange(64), how, key="l")):
        assert (first != other).flatten(1).any(1).float().mean() > 0.3
    assert len(torch.unique(first.flatten(1), dim=0)) >= (2 if name(how) == "flip" else 20)


@pytest.mark.parametrize("how", HOW, ids=name)
@pytest.mark.parametrize("sides", [(1, 1), (1, 7), (5, 1), (9, 14), (32, 32)])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_results_are_finite_from_0_to_1_and_of_the_size_asked_for(
    how: Augment, sides: tuple[int, int], channels: int
) -> None:
    plain = torch.tensor([0, 255, 77], dtype=torch.uint8)[:, None, None, None].expand(3, channels, *sides)
    pixels = torch.cat([pictures(9, channels, *sides), plain])
    before = pixels.clone()
    for size in (None, (8, 6), (40, 33)):
        changed = augment(pixels, np.arange(12), how, key="k", size=size)
        assert changed.shape == (12, channels, *(size or sides)) and changed.dtype == torch.float32
        mixed, share = mix(changed, changed.flip(0), np.arange(12), how, key="k")
        for values in (changed, mixed, share):
            assert torch.isfinite(values).all() and values.min() >= 0 and values.max() <= 1
    assert torch.equal(pixels, before)
    assert augment(pixels[:0], np.arange(0), how, key="k").shape == (0, channels, *sides)


def test_without_changes_pictures_are_their_bytes() -> None:
    pixels = pictures(5, 3, 7, 9)
    assert torch.equal(augment(pixels, np.arange(5), Augment.none(), key="k"), pixels.float() / 255)


def test_half_of_the_pictures_are_flipped_and_flipping_twice_is_nothing() -> None:
    pixels, how = pictures(400, 1, 3, 5), Augment(flip=True)
    once = augment(pixels, np.arange(400), how, key="k")
    flipped = (once == pixels.flip(3) / 255).flatten(1).all(1)
    same = (once == pixels / 255).flatten(1).all(1)
    assert (flipped ^ same).all() and 150 < flipped.sum() < 250
    twice = augment((once * 255).round().byte(), np.arange(400), how, key="k")
    assert torch.equal(twice, pixels / 255)


def test_shifts_move_pixels_exactly_and_mirror_the_edges() -> None:
    pixels = pictures(600, 2, 8, 16)
    moved = augment(pixels, np.arange(600), Augment(shift=0.25), key="k")
    wide = torch.from_numpy(np.pad(pixels.numpy(), ((0, 0), (0, 0), (2, 2), (4, 4)), mode="symmetric")) / 255
    found = torch.zeros(5, 9, dtype=torch.int64)
    for down in range(5):
        for across in range(9):
            part = wide[:, :, down : down + 8, across : across + 16]
            found[down, across] = (part == moved).flatten(1).all(1).sum()
    assert found.sum() == 600 and (found > 0).all()


def test_reading_by_whole_pixels_equals_reading_between_pixels() -> None:
    pixels, indices, how = pictures(50, 3, 12, 9), np.arange(50), Augment(shift=0.4, flip=True)
    # A turn too small to see is read between pixels.
    turned = augment(pixels, indices, how.replace(turn=1e-9), key="k")
    torch.testing.assert_close(augment(pixels, indices, how, key="k"), turned, rtol=0, atol=1e-4)


def test_the_area_that_zoom_keeps_is_uniform_and_inside_the_picture() -> None:
    placed = geometry.place(
        Augment(zoom=0.7), Dice("k", np.arange(20_000)), only("turn", 0.0, 20_000), (32, 32), (32, 32)
    )
    assert isinstance(placed, geometry.Affine)
    area = np.sort(placed.kept.prod(1))
    assert abs(area - (0.3 + 0.7 * (np.arange(20_000) + 0.5) / 20_000)).max() < 0.01
    assert (abs(placed.centre) + placed.kept <= 1 + 1e-12).all()
    assert abs(placed.centre.mean(0)).max() < 0.01
    shape = placed.kept[:, 0] / placed.kept[:, 1]
    assert shape.min() >= 3 / 4 - 1e-12 and shape.max() <= 4 / 3 + 1e-12 and abs(np.log(shape).mean()) < 0.01


def test_zoom_reads_the_part_it_says() -> None:
    across = torch.arange(64, dtype=torch.uint8).expand(20, 1, 48, 64)
    how, dice = Augment(zoom=0.8), Dice("k", np.arange(20))
    placed = geometry.place(how, dice, only("turn", 0.0, 20), (48, 64), (48, 64))
    assert isinstance(placed, geometry.Affine)
    line = augment(across, np.arange(20), how, key="k")[:, 0, 20].double().numpy() * 255
    places = (2 * np.arange(64) + 1) / 64 - 1
    wanted = (placed.centre[:, :1] + placed.kept[:, :1] * places + 1) / 2 * 64 - 0.5
    assert abs(line - np.clip(wanted, 0, 63)).max() < 1e-3


@pytest.mark.parametrize("sides", [(17, 17), (11, 25)])
def test_turning_keeps_the_centre_and_the_distances_to_it(sides: tuple[int, int]) -> None:
    down, across = (torch.arange(side) - side // 2 for side in sides)
    distance = (down[:, None] ** 2 + across**2).sqrt()
    pixels = (distance * 10).round().byte().expand(30, 1, *sides)
    zeros = {n: np.zeros(30) for n in OPERATIONS}
    for amount in np.linspace(-1, 1, 7):
        placed = geometry.place(
            Augment(strong=1), Dice("k", np.arange(30)), zeros | {"turn": np.full(30, amount)}, sides, sides
        )
        turned = placed.picture(pixels / 255)[:, 0] * 25.5
        assert turned[:, sides[0] // 2, sides[1] // 2].abs().max() < 0.01
        near = (distance > 1) & (distance < 5)
        assert (turned - distance)[:, near].abs().max() < 0.3
    dot = torch.zeros(200, 1, 17, 17, dtype=torch.uint8)
    dot[:, :, 8, 8] = 255
    turned = augment(dot, np.arange(200), Augment(turn=40.0), key="k")
    torch.testing.assert_close(turned[:, 0, 8, 8], torch.ones(200), rtol=0, atol=1e-4)


def test_a_turn_goes_as_far_as_it_says() -> None:
    placed = geometry.place(Augment(turn=30.0), Dice("k", np.arange(4000)), only("turn", 0.0, 4000), (8, 8), (8, 8))
    assert isinstance(placed, geometry.Affine)
    angles = np.degrees(np.arctan2(placed.linear[:, 1, 0], placed.linear[:, 0, 0]))
    assert -30 <= angles.min() < -29.9 and 29.9 < angles.max() <= 30
    assert np.allclose(np.linalg.det(placed.linear), 1)


def test_shrinking_averages_and_sees_every_pixel() -> None:
    pixels = pictures(6, 3, 40, 60)
    small = augment(pixels, np.arange(6), Augment.none(), key="k", size=(8, 12))
    torch.testing.assert_close(small, (pixels / 255).unflatten(3, (12, 5)).unflatten(2, (8, 5)).mean((3, 5)))
    ramp = torch.arange(250, dtype=torch.uint8).expand(1, 1, 31, 250)  # 22 are averaged, and 250 is no multiple of 22
    line = augment(ramp, np.arange(1), Augment.none(), key="k", size=(31, 11))[0, 0, 3] * 255
    torch.testing.assert_close(line[1:-2], (torch.arange(1, 9) + 0.5) * 250 / 11 - 0.5, rtol=0, atol=0.01)


def test_a_mask_moves_with_its_picture() -> None:
    mask = torch.rand(64, 1, 12, 12) < 0.5
    blocks = torch.nn.functional.interpolate(mask.float(), scale_factor=2) > 0.5
    pixels = blocks.byte() * 255
    for how in (Augment.none(), Augment.light(True), Augment(zoom=0.5, flip=True, turn=15.0)):
        for size in (None, (48, 48)):
            seen, moved = augment_with_mask(pixels, blocks, np.arange(64), how, key="k", size=size)
            assert torch.equal(seen, augment(pixels, np.arange(64), how, key="k", size=size))
            assert moved.dtype == torch.bool and moved.shape == seen.shape
            sure = (seen < 0.4) | (seen > 0.6)
            assert sure.float().mean() > 0.75 and ((seen > 0.5) == moved)[sure].float().mean() > 0.98
    exact, moved = augment_with_mask(pixels, blocks, np.arange(64), Augment.light(True), key="k")
    assert torch.equal(exact > 0.5, moved)


def test_each_operation_does_what_its_name_says() -> None:
    pixels, dice, how = pictures(1) // 2 + 20, Dice("k", np.arange(1)), Augment(strong=1)
    plain = pixels / 255

    def tone(operation: str, amount: float = 1.0) -> Tensor:
        return toned(pixels, how, dice, only(operation, amount))

    torch.testing.assert_close(tone("turn"), plain)
    torch.testing.assert_close(tone("invert"), 1 - plain)
    torch.testing.assert_close(tone("brightness", 0.5), (plain * 1.3).clamp(max=1))
    torch.testing.assert_close(tone("contrast", -0.5), plain.mean() + 0.7 * (plain - plain.mean()))
    torch.testing.assert_close(tone("posterise", 0.99) * 255, (pixels // 16 * 16).float())
    torch.testing.assert_close(tone("solarise"), torch.where(plain > 0.3, 1 - plain, plain))
    stretched = tone("autocontrast")
    assert (stretched.amin((0, 2, 3)) == 0).all() and (stretched.amax((0, 2, 3)) == 1).all()
    level = tone("equalise").flatten(2).sort(2).values
    torch.testing.assert_close(level, torch.linspace(0, 1, 256).expand(1, 3, -1), rtol=0, atol=0.03)
    grey = plain.mean(1, keepdim=True).expand(-1, 3, -1, -1)
    torch.testing.assert_close(tinted(grey, how, dice, only("saturation", 1.0)), grey)
    more = tinted(plain, how, dice, only("saturation", 0.5))
    torch.testing.assert_close(more - more.mean(1, keepdim=True), 1.3 * (plain - plain.mean(1, keepdim=True)))
    assert sharpened(plain.clone(), only("sharpness", -1.0)).var() < plain.var() / 2
    assert sharpened(plain.clone(), only("sharpness", 1.0)).var() > plain.var()
    ramp = (torch.arange(16.0) / 16).expand(1, 1, 16, 16)
    torch.testing.assert_close(sharpened(ramp.clone(), only("sharpness", 1.0))[..., 1:-1], ramp[..., 1:-1])


def test_colour_keeps_grey_grey_and_the_mean_of_luminance() -> None:
    pixels = pictures(1).expand(50, -1, -1, -1)
    how, dice, zeros = Augment(colour=0.5), Dice("k", np.arange(50)), only("turn", 0.0, 50)
    weights = torch.tensor([0.299, 0.587, 0.114])[:, None, None]
    grey = (pixels / 255)[:, :1].expand(-1, 3, -1, -1)
    torch.testing.assert_close(tinted(grey, how, dice, zeros), grey)
    for saturation in (-1.0, 1.0):
        changed = tinted(pixels / 255, Augment(strong=1), dice, only("saturation", saturation, 50))
        torch.testing.assert_close((changed * weights).sum(1), (pixels / 255 * weights).sum(1))


def test_every_operation_is_drawn_and_so_many_a_picture() -> None:
    drawn = np.stack(list(strong_changes(Augment(strong=3), Dice("k", np.arange(13_000))).values()))
    assert ((drawn != 0).sum(0) == 3).all()
    assert abs((drawn != 0).sum(1) - 3000).max() < 250
    assert drawn.min() < -0.99 and drawn.max() > 0.99


def test_erasing_fills_one_rectangle_of_some_pictures() -> None:
    pixels = torch.zeros(1000, 3, 20, 30, dtype=torch.uint8)
    erased = (augment(pixels, np.arange(1000), Augment(erase=0.4), key="k") > 0).any(1)
    some = erased.flatten(1).any(1)
    assert 340 < some.sum() < 460
    for box in erased[some]:
        rows, columns = box.any(1), box.any(0)
        assert torch.equal(box, rows[:, None] & columns)
        assert rows.diff().sum() <= 2 and columns.diff().sum() <= 2
    area = erased[some].float().mean((1, 2))
    assert 0.015 < area.min() < 0.03 and 0.28 < area.max() < 0.4 and erased.any(0).all()


def test_shares_of_mixup_are_those_of_the_blend() -> None:
    pixels, partners = torch.rand(500, 3, 6, 5), torch.rand(500, 3, 6, 5)
    mixed, share = mix(pixels, partners, np.arange(500), Augment(mixup=0.8), key="k")
    weight = share[:, None, None, None]
    torch.testing.assert_close(mixed, weight * pixels + (1 - weight) * partners)
    assert share.min() < 0.05 and share.max() > 0.95


def test_shares_of_cutmix_are_areas() -> None:
    ones, zeros = torch.ones(3000, 1, 12, 20), torch.zeros(3000, 1, 12, 20)
    mixed, share = mix(ones, zeros, np.arange(3000), Augment(cutmix=1.0), key="k")
    torch.testing.assert_close(share, mixed.mean((1, 2, 3)))
    assert set(mixed.unique().tolist()) == {0.0, 1.0} and share.min() < 0.1 and share.max() == 1.0
    box = mixed[:, 0] == 0
    assert torch.equal(box, box.any(2)[:, :, None] & box.any(1)[:, None, :])


def test_pictures_take_mixup_or_cutmix_where_both_are_set_and_nothing_where_none_is() -> None:
    ones, zeros = torch.ones(1000, 1, 16, 16), torch.zeros(1000, 1, 16, 16)
    mixed, share = mix(ones, zeros, np.arange(1000), Augment(mixup=1.0, cutmix=1.0), key="k")
    torch.testing.assert_close(share, mixed.mean((1, 2, 3)))
    blended = ((mixed > 0) & (mixed < 1)).flatten(1).all(1)
    assert 430 < blended.sum() < 570
    kept, share = mix(ones, zeros, np.arange(1000), EVERYTHING.replace(mixup=0.0, cutmix=0.0), key="k")
    assert torch.equal(kept, ones) and (share == 1).all()


def test_partners_are_others_and_follow_from_the_index() -> None:
    indices = np.array([0, 1, 17, 2**62 - 1])
    partners = partner_indices(indices, key="k")
    assert partners.dtype == np.int64 and (partners > 2**59).all() and len(set(partners.tolist())) == 4
    assert partner_indices(indices[2:3], key="k")[0] == partners[2]
    assert (partner_indices(indices, key="l") != partners).all()
    with pytest.raises(ValueError, match="found -1"):
        partner_indices(np.array([-1]), key="k")


@pytest.mark.parametrize(
    "bad",
    [{"shift": -0.1}, {"zoom": 1.0}, {"turn": 200.0}, {"colour": 1.5}, {"strong": 99}, {"erase": 2.0}, {"mixup": 1e-5}],
    ids=str,
)
def test_settings_that_cannot_work_are_refused_by_name(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError) as caught:
        Augment(**bad)
    assert f"Augment.{next(iter(bad))}" in str(caught.value)


def test_every_setting_is_explained_and_travels_as_json() -> None:
    assert list(Augment.about) == [field.name for field in dataclasses.fields(Augment)]
    for how in HOW:
        assert from_json(how.to_json(), Augment) == how
