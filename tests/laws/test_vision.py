"""The laws over every model for pictures in the zoo, with random weights in float64; and of autoencoder and student."""

import dataclasses

import pytest
import torch
from helpers.tiny import PICTURE_ZOO, close, pictures, randomised, vision_model

from weft.batches.samples import Classes, Samples
from weft.batches.views import Views
from weft.config import from_json
from weft.core import record
from weft.core.norms import LayerNorm
from weft.errors import ConfigError
from weft.json_text import read_json, write_json
from weft.modalities.image import PatchEmbed, Picture, cut, paste
from weft.models.distilled import Balanced, Distilled
from weft.models.stream import Stream
from weft.models.zoo.vision import Sight, VisionSize, autoencoder, distilled, mae, scale_mae, vit
from weft.objectives.classify import Classify
from weft.objectives.distil import Distil
from weft.objectives.reconstruct import Reconstruct, draw_shown

SIZE = VisionSize(dim=16, depth=3, heads=4, patch=2)


@pytest.mark.parametrize("name", PICTURE_ZOO)
def test_a_picture_is_seen_alike_alone_and_among_others(name: str):
    model, batch = vision_model(name), pictures(4)
    alone = torch.cat([model(batch[i : i + 1]) for i in range(4)])
    assert close(model(batch), alone)


@pytest.mark.parametrize("name", PICTURE_ZOO)
def test_configs_travel_as_json_and_build_the_same_weights(name: str):
    model = vision_model(name)
    again = from_json(read_json(write_json(model.config.to_json()), where=name), Stream.Config).build()
    assert {n: p.shape for n, p in model.state_dict().items()} == {n: p.shape for n, p in again.state_dict().items()}


@pytest.mark.parametrize("name", ["vit", "vit-hybrid"])
def test_looking_changes_no_output(name: str):
    model, batch = vision_model(name), pictures(2)
    before = model(batch)
    with record(model) as recorder:
        assert torch.equal(model(batch), before)
    assert all((r[0].weights().sum(-1) - 1).abs().max() < 1e-9 for r in recorder.readings.values())


@pytest.mark.parametrize("name", PICTURE_ZOO)
@pytest.mark.parametrize(("height", "width"), [(8, 12), (5, 7), (2, 16), (1, 1), (16, 8)])
def test_pictures_of_any_size_and_shape_are_read(name: str, height: int, width: int):
    assert vision_model(name)(pictures(2, height, width)).isfinite().all()


def test_what_stands_beyond_the_edge_of_a_picture_is_zero_and_nothing_of_it_is_cut_off():
    model = vision_model("vit")
    small = pictures(1, 5, 7)
    grown = model.embed.normalised(small)
    wide = torch.zeros(1, 3, 6, 8, dtype=torch.float64)
    wide[:, :, :5, :7] = grown
    assert close(model.embed.features(grown), model.embed.project(cut(wide, 2)))
    last = dataclasses.replace(small, pixels=small.pixels.clone())
    last.pixels[0, :, 4, 6] += 1  # the last pixel of the last row
    assert (model(last) - model(small)).abs().max() > 1e-6


def test_places_are_stretched_over_the_grid_that_was_learned():
    embed = vision_model("vit").embed
    same, twice = (embed.coordinates(pictures(1, side, side)) for side in (8, 16))
    assert close(same["row"].reshape(4, 4)[:, 0], torch.arange(4.0))
    assert close(twice["column"].reshape(8, 8)[0], torch.arange(8) / 2 - 0.25)


def test_patches_are_cut_and_pasted_back():
    batch = pictures(2, 5, 7).pixels
    patches = cut(batch, 3)
    assert patches.shape == (2, 6, 27)
    assert close(paste(patches, 5, 7, 3), batch)
    assert close(patches[0, 0].reshape(3, 3, 3).permute(2, 0, 1), batch[0, :, :3, :3])


def test_missing_pixels_change_nothing_whatever_stands_there():
    model, batch = vision_model("vit"), pictures(2)
    missing = torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    missing[:, :, 2:5, 3:6] = True
    one = model(Picture(batch.pixels, missing))
    other = model(Picture(batch.pixels.masked_fill(missing, float("nan")), missing))
    assert torch.equal(one, other) and one.isfinite().all()
    assert (one - model(batch)).abs().max() > 1e-6


def test_a_patch_without_known_pixels_is_not_read():
    model, batch = vision_model("vit"), pictures(1)
    missing = torch.zeros(1, 1, 8, 8, dtype=torch.bool)
    missing[:, :, :2, :2] = True
    tokens = model.embed(Picture(batch.pixels, missing))
    assert tokens.valid[0].tolist() == [True, False] + [True] * 15  # the class token, then the patches


def test_dropped_tokens_are_dropped_in_training_alone():
    model = vision_model("vit", drop=0.5)
    assert model.embed(pictures(2)).shape == (2, 17)
    assert model.train().embed(pictures(2)).shape == (2, 9)


def test_a_class_token_answers_by_its_last_norm():
    model, batch = vision_model("vit"), pictures(2)
    last = model.trunk.norm
    assert isinstance(last, LayerNorm)
    tokens = model.encode(batch)
    assert close(model(batch), model.head.out(tokens.x[:, 0]))


def test_several_class_tokens_stand_in_front_and_the_first_answers():
    one = vision_model("vit")
    config = one.config.replace(embed=one.config.embed.replace(class_tokens=2))
    model, batch = randomised(config.build()).double().eval(), pictures(2)
    tokens = model.embed(batch)
    assert tokens.shape == (2, 18) and close(tokens.x[:, :2], model.embed.summary.expand(2, -1, -1))
    assert close(model(batch), model.head.out(model.encode(batch).x[:, 0]))
    shown = draw_shown(masked_with(2), batch, 0.75)
    assert masked_with(2)(batch, shown).shape == (2, 16, 12)


def test_pictures_written_when_there_was_one_class_token_at_most_are_read():
    config = vision_model("vit").config
    old = config.to_json()
    assert old["embed"].pop("class_tokens") == 1
    for before, now in ((True, 1), (False, 0)):
        old["embed"]["class_token"] = before
        assert from_json(old) == config.replace(embed=config.embed.replace(class_tokens=now))
    old["embed"]["class_token"] = 3
    with pytest.raises(ConfigError, match="class_token"):
        from_json(old)


def test_the_order_of_patches_matters_only_by_their_places():
    """Without places a picture is a set of patches; with them it is not."""
    model, batch = vision_model("vit", summary="mean"), pictures(1)
    moved = Picture(batch.pixels.roll(2, 3))  # by one patch, around the edge
    assert (model(moved) - model(batch)).abs().max() > 1e-6
    bare = model.config.replace(embed=model.config.embed.replace(place=None)).build().double().eval()
    bare.load_state_dict(model.state_dict(), strict=False)
    assert close(bare(moved), bare(batch))


def test_mixed_pictures_count_for_both_classes_by_their_shares():
    model, batch, objective = vision_model("vit").train(), pictures(3), Classify.Config().build()
    a, b = torch.tensor([0, 1, 2]), torch.tensor([3, 4, 0])
    first, second = (objective(model, Samples(batch, Classes(labels))).total for labels in (a, b))
    share = torch.full((3,), 0.25, dtype=torch.float64)
    both = objective(model, Samples(batch, Classes(a, b, share)))
    assert abs(float(both.total) - float(0.25 * first + 0.75 * second)) < 1e-9 and both.count == 3


def test_smoothing_softens_training_and_no_evaluation():
    model, objective = vision_model("vit"), Classify.Config(smoothing=0.3).build()
    batch = Samples(pictures(2), Classes(torch.tensor([0, 1])))
    plain = Classify.Config().build()
    assert close(objective(model.eval(), batch).total, plain(model, batch).total)
    assert abs(float(objective(model.train(), batch).total) - float(plain(model, batch).total)) > 1e-3


def test_colours_and_channels_must_fit():
    with pytest.raises(ConfigError, match="channels"):
        vision_model("vit")(Picture(torch.rand(1, 1, 8, 8, dtype=torch.float64)))
    with pytest.raises(ConfigError, match="for each of 3"):
        PatchEmbed.Config(grid=(2, 2), mean=(0.1, 0.2))


# Masked autoencoders


def masked(build=mae):
    return randomised(autoencoder(build(SIZE, Sight(8, 8))).build()).double().eval()


def masked_with(class_tokens: int):
    config = autoencoder(mae(SIZE, Sight(8, 8)))
    embed = config.encoder.embed.replace(class_tokens=class_tokens)
    return randomised(config.replace(encoder=config.encoder.replace(embed=embed)).build()).double().eval()


def test_the_encoder_never_sees_what_is_hidden():
    model, batch = masked(), pictures(2)
    shown = draw_shown(model, batch, 0.75)
    assert shown.shape == (2, 4)
    hidden = torch.ones(2, 16, dtype=torch.bool).scatter(1, shown, False)
    other = pictures(2, seed=1).pixels
    veil = paste(hidden[..., None].expand(-1, -1, 4), 8, 8, 2)
    changed = Picture(torch.where(veil, other, batch.pixels))
    assert close(model(batch, shown), model(changed, shown))
    with record(model.encoder) as recorder:
        model(batch, shown)
    assert next(iter(recorder.readings.values()))[0].k.shape[2] == 5  # the class token and a quarter of the patches


def test_the_loss_is_that_of_hidden_and_known_pixels_alone():
    model, batch = masked(), pictures(2)
    missing = torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    missing[0, :, :3, :5] = True
    holes = Picture(batch.pixels, missing)
    loss = Reconstruct.Config(hide=0.5).build()(model, holes)
    shown = draw_shown(model, holes, 0.5)
    made = paste(model(holes, shown), 8, 8, 2)
    wrong = (made - model.encoder.embed.normalised(holes)) ** 2
    readable = model.encoder.embed.readable(holes)
    total = count = 0
    for b in range(2):
        for n in range(16):
            r, c = 2 * (n // 4), 2 * (n % 4)
            known = ~missing[b, 0, r : r + 2, c : c + 2]
            if (n in shown[b].tolist() and readable[b, n]) or not known.any():
                continue
            total += float(wrong[b, :, r : r + 2, c : c + 2][:, known].mean())
            count += 1
    assert count == loss.count and abs(total - float(loss.total)) < 1e-9


def test_missing_patches_are_hidden_by_the_same_mechanism():
    model, batch = masked(), pictures(2)
    missing = torch.zeros(2, 1, 8, 8, dtype=torch.bool)
    missing[:, :, :, :4] = True
    for seed in range(20):
        shown = draw_shown(model, Picture(batch.pixels, missing), 0.5, seed=seed)
        assert (shown % 4 >= 2).all()  # only patches of the right half
    all_but_one = ~torch.zeros_like(missing)
    all_but_one[:, :, :2, :2] = False
    alone = Picture(batch.pixels, all_but_one)
    shown = draw_shown(model, alone, 0.5)
    other = Picture(pictures(2, seed=3).pixels.where(all_but_one, batch.pixels), all_but_one)
    assert close(model(alone, shown), model(other, shown))


def test_a_place_on_the_ground_has_one_code_at_every_scale():
    embed = masked(scale_mae).encoder.embed
    fine = embed.coordinates(Picture(pictures(1, 16, 16).pixels, None, torch.tensor([0.5])))
    coarse = embed.coordinates(Picture(pictures(1, 8, 8).pixels, None, torch.tensor([1.0])))
    south = fine["south"].reshape(8, 8)[:, 0]
    assert close((south[0::2] + south[1::2]) / 2, coarse["south"].reshape(4, 4)[:, 0])
    assert not close(embed.coordinates(pictures(1))["south"], fine["south"][:, :16])


# Students and teachers


def pair():
    student = vit(SIZE, Sight(8, 8), outputs=None)
    return randomised(Distilled.Config(student=student).build()).double().eval()


def views(rows: int = 3) -> Views:
    return Views((pictures(rows, seed=1), pictures(rows, seed=2)), (pictures(rows, 4, 4, seed=3),))


def test_only_the_student_learns_and_the_teacher_follows():
    model = pair().train()
    objective = Distil.Config().build()
    objective(model, views()).total.backward()
    learning = {name.split(".")[0] for name, p in model.named_parameters() if p.grad is not None}
    assert learning == {"student", "student_says"}
    weights = dict(model.named_parameters())
    before = {name: p.detach().clone() for name, p in weights.items()}
    assert model.follow(weights, 0.0)
    for name, p in weights.items():
        if name.startswith("teacher"):
            target = before[name] + 0.01 * (before[name.replace("teacher", "student", 1)] - before[name])
            assert close(p.detach(), target)
        else:
            assert torch.equal(p, before[name])


def test_the_loss_pairs_every_wide_view_with_all_others():
    model, batch = pair(), views()
    loss = Distil.Config().build()(model, batch)
    taught = [model.taught(v) for v in batch.wide]
    said = [model(v) for v in (*batch.wide, *batch.near)]
    total = -(taught[0] * (said[1] + said[2])).sum() - (taught[1] * (said[0] + said[2])).sum()
    assert close(loss.total, total) and loss.count == 4 * 3


def test_the_centre_follows_the_teacher_in_training_alone():
    model, batch = pair(), views()
    model.taught(batch.wide[0])
    assert (model.centre == 0).all()
    model.train()
    said = model.teacher_says(model.teacher.encode(batch.wide[0]).x[:, 0]).mean(0)
    model.taught(batch.wide[0])
    assert close(model.centre, (0.1 * said).detach())


def test_balanced_answers_use_every_output_and_differ_however_alike_the_logits_are():
    logits = torch.randn(32, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    alike, shares = Balanced.Config(rounds=30).build()(5 + 1e-6 * logits), Balanced.Config(rounds=30).build()(logits)
    assert close(shares.sum(1), torch.ones(32).double()) and close(shares.mean(0), torch.full((8,), 1 / 8).double())
    assert torch.allclose(alike, shares, atol=1e-6) and shares.max() > 0.5


def test_views_are_balanced_together_and_no_centre_is_kept():
    model, batch = randomised(distilled(vit(SIZE, Sight(8, 8), outputs=None)).build()).double().train(), views()
    assert "centre" not in model.state_dict() and not model.teacher.training
    loss = Distil.Config().build()(model, batch)
    taught = model.taught(Picture(torch.cat([v.pixels for v in batch.wide]))).split(3)
    said = [model(v) for v in (*batch.wide, *batch.near)]
    total = -(taught[0] * (said[1] + said[2])).sum() - (taught[1] * (said[0] + said[2])).sum()
    assert close(loss.total, total)


def test_frozen_parts_stay_ready_for_use():
    model = vision_model("resnet")
    model.freeze("embed").train()
    assert model.head.training and not model.embed.training
    before = {n: b.clone() for n, b in model.embed.named_buffers()}
    model(pictures(4)).sum().backward()
    assert all(torch.equal(b, before[n]) for n, b in model.embed.named_buffers())
    assert all(p.grad is None for p in model.embed.parameters())
    assert model.head.out.weight.grad is not None
