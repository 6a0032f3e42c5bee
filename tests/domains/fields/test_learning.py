"""The codec that is learned from fields: its climate, the blend of guesses, surprises; and its file."""

import numpy as np
import pytest
import torch
from helpers.fields import GLOBE, codec_of, plain_codec, process, stretch_of
from safetensors.numpy import load, save

from weft.batches.draws import draws
from weft.config import from_json
from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.codec.first_guess import Blend, first_guess
from weft.domains.fields.encoded.hiding import Chance, Hiding
from weft.domains.fields.encoded.learning import learned_codec
from weft.domains.fields.encoded.windows import WindowReader
from weft.domains.fields.reading.climatology import learn
from weft.domains.fields.reading.grid import FieldGrid, FieldSpan
from weft.errors import ConfigError, DataError
from weft.json_text import read_json, write_json
from weft.modalities.field import FieldEmbed

REGION = FieldGrid(np.linspace(60.0, 30.0, 16), np.linspace(-20.0, 30.0, 20))


@pytest.fixture(scope="module")
def learned() -> FieldCodec:
    return codec_of(stretch_of(process(120)))


def test_values_become_anomalies_and_come_back(learned):
    values = process(10, seed=3)
    values[0, 0, 0, :3] = np.nan
    season, hour = np.linspace(0, 0.9, 10), np.zeros(10)
    anomalies = learned.anomalies(values, season, hour)
    np.testing.assert_allclose(learned.values(anomalies, season, hour), values, rtol=1e-5, atol=1e-5)
    assert np.isnan(anomalies[0, 0, 0, :3]).all()
    known = learned.anomalies(stretch_of(process(120)).fields.read(0, 120), np.zeros(120), np.zeros(120))
    squares = (known**2 * GLOBE.weights[:, None]).mean((0, 2, 3))  # by area
    np.testing.assert_allclose(squares, 1, atol=0.02)


def test_a_codec_comes_back_from_its_folder_bit_for_bit(learned):
    files = dict(learned.files())
    config = from_json(read_json(write_json(learned.config.to_json()), where="config"), FieldCodec.Config)
    again = FieldCodec(config, read=files.__getitem__)
    assert again.same(learned) and dict(again.files()) == files
    for name, array in learned.climate.arrays().items():
        np.testing.assert_array_equal(again.climate.arrays()[name], array)
    assert all(torch.equal(getattr(again.blend, n), getattr(learned.blend, n)) for n in vars(again.blend))
    np.testing.assert_array_equal(again.surprises, learned.surprises)
    assert not learned.same(plain_codec())


def damaged(kind: str, content: bytes) -> bytes:
    arrays = load(content)
    if kind == "cut":
        return content[: len(content) // 2]
    if kind == "another grid":
        return save({n: np.ascontiguousarray(a[..., :5]) if a.ndim > 1 else a for n, a in arrays.items()})
    if kind == "without blend":
        return save({n: a for n, a in arrays.items() if n != "in_space"})
    if kind == "not finite":
        return save(arrays | {"spread": np.full_like(arrays["spread"], np.nan)})
    if kind == "blend of other layers":
        return save(arrays | {"in_time": arrays["in_time"][:1].copy()})
    if kind == "blend not finite":
        return save(arrays | {"variance": np.full_like(arrays["variance"], np.nan)})
    if kind == "surprises of another grid":
        return save(arrays | {"surprises": np.ascontiguousarray(arrays["surprises"][..., :5])})
    return b"nothing"


@pytest.mark.parametrize(
    "kind",
    ["empty", "cut", "another grid", "without blend", "not finite", "blend of other layers", "blend not finite",
     "surprises of another grid"],
)  # fmt: skip
def test_a_damaged_or_foreign_climatology_is_refused_by_name(learned, kind):
    content = damaged(kind, learned.files()["climate.safetensors"])
    codec = FieldCodec(learned.config, read=lambda name: content)
    with pytest.raises(DataError, match="climate.safetensors"):
        codec.climate, codec.blend, codec.surprises


def test_a_model_of_another_run_is_refused(learned):
    fits = {"layers": 2, "times": 5, "wraps": True}
    learned.check_fit(FieldEmbed.Config(**fits), "model")
    for wrong in ({"layers": 3}, {"times": 6}, {"wraps": False}):
        with pytest.raises(ConfigError, match="different runs"):
            learned.check_fit(FieldEmbed.Config(**fits | wrong), "model")


def test_the_blend_is_better_than_both_of_its_parts():
    fields = stretch_of(process(120, layers=1, grid=REGION, keep=0.8), REGION)
    train, later = FieldSpan(fields.fields, 0, 90), FieldSpan(fields.fields, 90, 120)
    codec = codec_of(train)
    reader = WindowReader(later, codec)
    ones, zeros = (torch.full_like(codec.blend.in_time, value) for value in (1.0, 0.0))
    blends = {"both": codec.blend, "time": Blend.of_time_alone(1), "space": Blend(ones, zeros, ones)}
    hiding = Hiding((1, 5, *REGION.shape), 3)
    errors, spreads = {name: [] for name in blends}, []
    for end, row in zip(reader.ends[::4], draws("try", reader.ends[::4], 4096), strict=True):
        truth = torch.from_numpy(reader.read(int(end))[0])[None]
        known = truth.isfinite() & torch.from_numpy(~hiding.blocks(Chance(row)))[None]
        scored = truth.isfinite() & ~known
        time, memory = torch.arange(-2.0, 3.0)[None], torch.from_numpy(codec.climate.correlation)
        for name, blend in blends.items():
            guess, variance = first_guess(truth.nan_to_num(0.0), known, time, memory, blend, wraps=False)
            errors[name].append((guess - truth)[scored] ** 2)
        guess, variance = first_guess(truth.nan_to_num(0.0), known, time, memory, codec.blend, wraps=False)
        spreads.append(variance[scored])
    found = {name: float(torch.cat(parts).mean()) for name, parts in errors.items()}
    assert found["both"] < 0.9 * min(found["time"], found["space"]), found
    assert 0.5 < float(torch.cat(spreads).mean()) / found["both"] < 2  # the blend knows how good it is


def test_surprises_have_variance_one_and_no_numbers_that_are_none():
    values = process(50)
    values[np.random.default_rng(1).random(values.shape) < 0.2] = np.nan
    values[:, 1, 2, 4] = np.nan  # never known
    surprises = codec_of(stretch_of(values)).surprises
    assert np.isfinite(surprises).all() and len(surprises) == 32
    size = (surprises**2).mean(0)
    assert size[1, 2, 4] == 0
    size[1, 2, 4] = 1
    np.testing.assert_allclose(size, 1, atol=2e-3)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_few_fields_give_a_codec(count):
    codec = learned_codec(stretch_of(process(count)), 1, 1)
    assert all(np.isfinite(part).all() for part in codec.climate.arrays().values())
    assert codec.blend.in_space.isfinite().all() and len(codec.surprises) >= 1


def test_constant_fields_have_a_safe_scale():
    codec = codec_of(stretch_of(np.full((20, 2, 6, 12), 5.0, np.float32)))
    assert all(scale > 0 for scale in codec.config.scale)
    assert np.isfinite(codec.anomalies(np.full((1, 2, 6, 12), 6.0), np.zeros(1), np.zeros(1))).all()


def test_nothing_behind_the_stretch_is_learned_from():
    values = process(60)
    clean = codec_of(FieldSpan(stretch_of(values).fields, 0, 40))
    values[40:] = 1e5
    again = codec_of(FieldSpan(stretch_of(values).fields, 0, 40))
    assert clean.same(again)
    np.testing.assert_array_equal(learn(FieldSpan(stretch_of(values).fields, 0, 40)).spread, clean.climate.spread)


def test_places_are_points_on_the_sphere_or_the_plane(learned):
    place = learned.place.numpy()
    np.testing.assert_allclose((place**2).sum(0) / (place**2).sum(0).max(), 1, atol=1e-5)  # one globe
    flat = codec_of(stretch_of(process(20, grid=REGION), FieldGrid(REGION.y, REGION.x, "plane"))).place.numpy()
    assert not flat[2].any() and np.abs(flat).max() == 1 and flat[1, 0, 0] > flat[1, -1, 0]
