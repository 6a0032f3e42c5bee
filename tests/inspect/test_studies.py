"""Lens, attribution, effects and kinds: against passes by hand, and on a model whose heads are known."""

import json
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.planted import INDUCTION, PREVIOUS, copied, copier
from helpers.tiny import ids, language_model, numbers, pictures, randomised, translation_model, vision_model

from weft.core import Added, Hidden, Pinned, PostNorm, Replaced, Scaled, Unread, Without, changed
from weft.errors import ConfigError, WeftError
from weft.inspect import reading
from weft.inspect.attribution import NotAdditive, direct, gradient_by_input, integrated_gradients
from weft.inspect.document import LookDocument, TokenGroup, plain
from weft.inspect.effects import ablation, branch_ablation, effect, knockout, occlusion, patching, pinning, steering
from weft.inspect.kinds import kinds
from weft.inspect.lens import lens
from weft.inspect.page_steps import steps_of
from weft.inspect.reading import ReadingView
from weft.inspect.streams import Read, streams_of
from weft.inspect.study import Study, pair_study, stream_study
from weft.inspect.sweeps import SWEEPS, changed_answers, sweep, sweeps
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS

TEXT = ids(1, 6)


def of_text(model: Stream, text: torch.Tensor = TEXT) -> Study:
    names = [f"t{n}" for n in range(text.shape[1])]
    return stream_study(model, Text(text), names=names, label=str, place=text.shape[1])


def of_picture() -> Study:
    return stream_study(vision_model("vit"), pictures(1), names=[f"patch {n}" for n in range(17)], label=str)


def of_pair(name: str = "transformer") -> Study:
    model, source, target = translation_model(name), ids(1, 5), ids(1, 4, seed=1)[0].tolist()
    names = {"source_names": [f"s{n}" for n in range(5)], "target_names": [f"t{n}" for n in range(4)]}
    return pair_study(model, Text(source), target, label=str, place=3, **names)


STUDIES = {
    "gpt": lambda: of_text(language_model("gpt")),
    "llama": lambda: of_text(language_model("llama")),
    "swift": lambda: of_text(language_model("swift")),
    "lstm": lambda: of_text(language_model("lstm")),
    "vit": of_picture,
    "translation": of_pair,
}
every_study = pytest.mark.parametrize("name", STUDIES)


@every_study
def test_the_lens_after_the_last_layer_is_the_answer(name: str):
    study = STUDIES[name]()
    found = lens(study)
    with torch.no_grad():
        values = study.values()[0].double().numpy()
    assert np.abs(found.values[-1] - values).max() < 1e-5
    assert found.steps[0].name == "embedding" and found.steps[-1].layer == study.trunk.layers
    assert found.steps[-1].said[0][0] == study.label(study.answer) == found.answer
    assert len(found.steps) == 1 + sum(len(added) for added in study.recorded().stream(study.stream).branches)


@every_study
def test_rows_of_a_sweep_equal_passes_with_each_change_alone(name: str):
    study = STUDIES[name]()
    other = study.recorded()
    changes = [
        (), (Without(2, branch="mix"),), (Scaled(1, branch="mix", factor=0.5), Without(2, branch="mix", tokens=(2,))),
        (Hidden((1,)),), (Replaced(1, of="other", tokens=(2,)),), (Without(1),),
    ]  # fmt: skip
    with torch.no_grad(), changed(study.model, given={"other": other}):
        together = study.values(changes)
        alone = torch.cat([study._alone(some) for some in changes])
    assert torch.allclose(together, alone, atol=1e-6) and not torch.allclose(alone[0], alone[1], atol=1e-4)


def test_an_ablation_grid_is_the_measure_without_each_head():
    study = STUDIES["gpt"]()
    found = ablation(study)
    assert found.measures.shape == (2, 4) and found.rows == ("layer 1", "layer 2") and found.columns[3] == "head 4"
    with torch.no_grad(), changed(study.model, Without(2, head=3)):
        values = study.model(Text(TEXT))[:, -1].float()
    assert found.measures[1, 2] == pytest.approx(float(study.measure(values)[0]), abs=1e-5)
    assert effect(study, Without(2, head=3)) == pytest.approx(found.differences[1, 2], abs=1e-5)
    assert np.abs(ablation(study, by="mean").measures - found.measures).max() > 1e-4
    assert branch_ablation(STUDIES["translation"]()).columns == ("mix", "read", "transform")


def test_patching_every_token_of_the_last_layer_matters_only_at_the_answer():
    model = language_model("gpt")
    study, other = of_text(model), of_text(model, ids(1, 6, seed=5))
    found = patching(study, other)
    assert found.measures.shape == (3, 6) and found.rows[0] == "embedding"
    assert np.abs(found.differences[-1, :-1]).max() < 1e-9 and abs(found.differences[-1, -1]) > 1e-3
    with torch.no_grad():
        theirs = float(study.measure(other.values())[0])
    assert found.measures[-1, -1] == pytest.approx(theirs, abs=1e-5), "the whole stream of the answer's token"
    assert patching(study, other, part="mix", head=2).measures.shape == (2, 6)


@pytest.mark.parametrize("name", ["gpt", "vit", "translation"])
def test_cells_of_sweeps_equal_their_changes_alone(name: str):
    study = STUDIES[name]()
    asked = () if study.place is None else (study.place,)
    pinned, unread = pinning(study, "first"), knockout(study)
    alone = effect(study, Pinned(2, head=1, branch="mix", weights="first"))
    assert pinned.differences[1, 0] == pytest.approx(alone, abs=1e-4)
    alone = effect(study, Unread(1, branch="mix", tokens=asked, keys=(2,)))
    assert unread.differences[0, 1] == pytest.approx(alone, abs=1e-4) and abs(alone) > 1e-6
    assert unread.said[0][1] in {study.label(i) for i in range(1000)} and 0 <= unread.chances[0, 1] <= 1
    if name == "translation":
        assert knockout(study, branch="read").measures.shape == (2, 5)


def test_steering_goes_to_the_other_input_and_no_strength_changes_nothing():
    study, other = of_text(language_model("gpt")), of_text(language_model("gpt"), ids(1, 6, seed=5))
    found = steering(study, other, (0.0, 2.0))
    assert np.allclose(found.differences[:, 0], 0, atol=1e-5) and np.abs(found.differences[:, 1]).max() > 1e-4
    given = {"a": other.recorded(), "b": study.recorded()}
    with changed(study.model, given=given):
        alone = effect(study, Added(1, of="a", minus="b", strength=2.0))
    assert found.differences[1, 1] == pytest.approx(alone, abs=1e-4)


def test_sweeps_are_values_of_a_page_and_of_a_server():
    study, other = of_text(language_model("gpt")), of_text(language_model("gpt"), ids(1, 6, seed=5))
    found, left = sweeps(study)
    assert not left and not any(SWEEPS[name].second for name in found) and "heads switched off" in found
    assert sweeps(study, most=1.0)[1], "what takes long is named"
    both, _ = sweeps(study, other)
    assert {"stream of the second input", "heads of the second input", "steered to the second input"} <= set(both)
    for one in both.values():
        cells = len(one.rows) * len(one.columns)
        assert len(one.values) == len(one.said) == len(one.chances) == len(one.words) == cells and plain(one)["words"]
    with pytest.raises(WeftError, match="second input"):
        sweep(study, "stream of the second input")
    with pytest.raises(WeftError, match="heads switched off"):
        sweep(study, "heads switched of")
    first, second = changed_answers(study, [(Without(1, head=1),), (Scaled(1, head=1, factor=1.0),)])
    assert first.after - first.before == pytest.approx(effect(study, Without(1, head=1)), abs=1e-4)
    assert second.after == pytest.approx(second.before, abs=1e-5) and second.changes == ("scaled=1.1x1",)


def test_the_steps_of_a_page_are_those_of_the_readings():
    study = of_text(language_model("gpt"))
    kept = study.recorded(keep=("readings",))
    layers = [one["mix"][0] for one in kept.stream("").readings]
    weights = np.stack([one.weights()[0].numpy() for one in layers])
    groups = (TokenGroup("text", study.tokens[""]),)
    streams, _ = streams_of([Read("attention", "text", "text", weights)], groups)
    document = LookDocument("a", "text", "b", "c", groups=groups, streams=streams)
    found = steps_of(document, kept)
    assert [one.token for one in found] == list(range(6))
    one = json.loads(zlib.decompress(found[3].heads))[1][0]
    assert one["keys"][0] == int(weights[1, 0, 3].argmax()) and one["closed"] == 2
    assert one["weights"] == pytest.approx(np.sort(weights[1, 0, 3])[::-1][:4], abs=1e-4)
    assert one["scaled"][0] == pytest.approx(one["scores"][0] * one["factor"], rel=1e-3)
    other = streams_of([Read("attention", "text", "text", weights[:, :, ::-1, ::-1].copy())], groups)[0]
    assert not steps_of(LookDocument("a", "text", "b", "c", groups=groups, streams=other), kept)


def test_hidden_tokens_of_a_source_and_of_a_text_count():
    found = occlusion(STUDIES["gpt"]())
    assert np.isnan(found.measures[0, -1]) and (np.abs(found.differences[0, :-1]) > 1e-6).all()
    source = occlusion(STUDIES["translation"](), stream="source")
    assert source.columns == ("s0", "s1", "s2", "s3", "s4") and (np.abs(source.differences) > 1e-6).all()


@pytest.mark.parametrize("name", ["gpt", "llama", "swift", "vit"])
def test_direct_parts_add_up_to_the_measure(name: str):
    study = STUDIES[name]()
    found = direct(study)
    assert abs(found.missing) < 1e-5 * max(1, abs(found.measure))
    heads = [part for part in found.parts if part.branch == "mix"]
    assert len(heads) == 8 and len({part.name for part in found.parts}) == len(found.parts)
    whole = direct(study, heads=False)
    for layer in (1, 2):
        apart = sum(part.value for part in heads if part.layer == layer)
        (together,) = (part.value for part in whole.parts if part.layer == layer and part.branch == "mix")
        biased = study.trunk.blocks[0].mix.out.bias is not None
        assert biased or apart == pytest.approx(together, abs=1e-8)


def test_direct_parts_are_refused_in_words_where_the_stream_is_no_sum():
    config = LANGUAGE_MODELS["gpt"]
    from helpers.tiny import SIZE, VOCAB

    post = config(SIZE, vocab=VOCAB)
    post = post.replace(trunk=post.trunk.replace(block=post.trunk.block.replace(wiring=PostNorm.Config())))
    for model, said in ((post.build(), "normalised after each branch"), (language_model("lstm"), "")):
        model = randomised(model).double().eval()
        if said:
            with pytest.raises(NotAdditive, match=said):
                direct(of_text(model))


@pytest.mark.parametrize("name", ["gpt", "vit", "translation"])
def test_integrated_gradients_add_up_to_the_rise_from_nothing(name: str):
    study = STUDIES[name]()
    found = integrated_gradients(study, steps=200)
    assert found.completeness == pytest.approx(1, abs=0.02) and len(found.tokens) == len(found.values)
    slope, x = gradient_by_input(study), study.embed().x
    step = 1e-4
    tokens, memory = study.begun()
    moved = tokens.with_x(torch.cat([x[:, :1] * (1 + step), x[:, 1:]], 1))
    with torch.no_grad():
        before, after = (study.measure(study.read(study.trunk(one, memory), study.place)) for one in (tokens, moved))
    assert slope.values[0] == pytest.approx(float(after - before) / step, rel=0.02, abs=2e-3)


def test_a_study_can_ask_for_another_token_and_another_answer():
    study = STUDIES["gpt"]()
    earlier = study.at(3)
    with torch.no_grad():
        values = study.model(Text(TEXT))[0, 2]
    assert earlier.answer == int(values.argmax())
    asked = study.asking(4, against=7)
    assert asked.measured == "log-odds of 4 against 7"
    with pytest.raises(ConfigError, match="one answer for all tokens"):
        of_picture().at(3)


# The truth: heads that are known.


def test_planted_heads_are_found_and_without_them_nothing_is_copied():
    model = copier()
    assert copied(model) == 1.0
    study = of_text(model, torch.cat([torch.arange(12), torch.arange(12)])[None])
    found = kinds(study)
    assert found.of("previous") == (PREVIOUS,) and found.of("induction") == (INDUCTION,)
    assert found.shares["previous"][0, 0] > 0.99 and found.shares["induction"][1, 1] > 0.6
    for layer, head in (PREVIOUS, INDUCTION):
        with changed(model, Without(layer, head=head)):
            assert copied(model) < 0.1
        other = Without(layer, head=3 - head)
        with changed(model, other):
            assert copied(model) == 1.0
    with changed(model, Pinned(1, head=1, weights="itself")):
        assert copied(model) < 0.1


def test_the_planted_heads_have_the_largest_effects_and_the_last_says_the_answer():
    model = copier()
    text = torch.cat([torch.arange(12), torch.arange(5)])[None]
    study = of_text(model, text)
    assert study.answer == 5
    table = ablation(study).differences
    assert {tuple(at + 1) for at in np.argwhere(table < -5)} == {PREVIOUS, INDUCTION}
    parts = {part.name: part.value for part in direct(study).parts}
    assert parts["layer 2 mix head 2"] == pytest.approx(study.measure(study.values()).item(), abs=1e-4)
    steps = lens(study).steps
    assert steps[-1].said[0] == ("5", pytest.approx(1.0, abs=0.01)) and steps[-2].chance < 0.1


def test_heads_of_a_line_have_entropy_and_reach():
    study = STUDIES["gpt"]()
    with changed(study.model, Pinned(1, head=1, weights="uniform"), Pinned(1, head=2, weights="previous")):
        found = kinds(study)
    assert found.entropy[0, 0] == pytest.approx(np.mean(np.log2(np.arange(1, 7)))) and found.unit == "tokens"
    assert found.reach[0, 0] == pytest.approx(np.mean(np.arange(6) / 2)) and found.entropy[0, 1] < 1e-9
    assert found.names[0][1] == "previous" and found.reach[0, 1] == pytest.approx(5 / 6)


def test_heads_of_a_grid_know_rows_and_columns_and_those_of_a_map_distances():
    found = kinds(of_picture())
    assert set(found.shares) == {"itself", "same row", "same column"} and found.unit == "patches"
    places = numbers(17, 2).numpy()
    away = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) * 1000
    far = kinds(of_picture(), distances=away, unit="km")
    assert far.unit == "km" and 100 < far.reach.mean() < away.max() and "near" in far.shares
    assert replace(found, unit="km").unit == "km"


def test_a_long_text_is_told_and_drawn_without_all_of_its_weights(monkeypatch: pytest.MonkeyPatch):
    model, text = language_model("gpt"), ids(1, 12)
    short = ReadingView(model, Text(text), [f"t{n}" for n in range(12)], "a text")
    whole = short.attention.mean().weights[0, 0]
    told = short.text()
    monkeypatch.setattr(reading, "LONG", 5)
    monkeypatch.setattr(reading, "DRAWN", 4)
    long = ReadingView(model, Text(text), [f"t{n}" for n in range(12)], "a text")
    assert long.text() == told and long.picture()[:4] == b"\x89PNG"
    drawn = long._drawn.weights[0, 0]
    assert np.allclose(drawn, whole.reshape(4, 3, 4, 3).sum(3).mean(1), atol=1e-6)
    assert long.to_json()["most_read"][3][0] == int(whole[3].argmax())
    assert long.steps(4).weights.sum() == pytest.approx(1)
    with pytest.raises(WeftError, match="12 tokens have too many weights"):
        long.attention  # noqa: B018
