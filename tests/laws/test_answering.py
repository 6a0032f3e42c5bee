"""The laws of the package, over every model of the zoo that answers questions about pictures."""

from dataclasses import replace

import pytest
import torch
from helpers.tiny import VOCAB, close, ids, pictures, randomised

from weft.batches.samples import PaddedIds, Samples
from weft.config import from_json
from weft.core.cache import Cache
from weft.core.recording import record
from weft.domains.captions.encoded.questions import QuestionBatch
from weft.errors import ConfigError
from weft.modalities.picture_text import PictureText, PictureTextEmbed
from weft.modalities.text import Text
from weft.models.grounded import Grounded, places_by_owner
from weft.models.seq2seq import Seq2Seq
from weft.models.zoo import Size
from weft.models.zoo.answering import ANSWER_ENCODERS, ANSWER_MODELS, Words
from weft.models.zoo.vision import Sight, VisionSize, small_net
from weft.objectives import TargetToken

every_model = pytest.mark.parametrize("name", sorted(ANSWER_MODELS))
OWNER = torch.tensor([0, 0, 1, 2])
QUESTIONS = PaddedIds(ids(4, 5, seed=3), torch.tensor([5, 3, 4, 2]))
ANSWERS = ids(4, 6, seed=1)


def answerer(name: str) -> Seq2Seq:
    size = VisionSize(dim=16, depth=2, heads=2, patch=2, net=small_net(8, (0, 1)))
    encoder = ANSWER_ENCODERS[name](size, Sight(8, 8), outputs=None)
    config = ANSWER_MODELS[name](encoder, Size(dim=16, depth=2, heads=2, context=12), Words(VOCAB, 8))
    return randomised(config.build()).double().eval()


def asked() -> PictureText:
    return QuestionBatch(pictures(3), QUESTIONS, OWNER).raw()


@every_model
def test_stepping_with_a_cache_is_one_full_pass(name: str) -> None:
    model = answerer(name)
    memory, cache = model.memorise(asked()), Cache(4)
    steps = torch.cat([model.step(Text(ANSWERS[:, t : t + 1]), memory, cache) for t in range(6)], 1)
    assert close(steps, model(asked(), Text(ANSWERS)))


@every_model
def test_a_picture_read_once_for_several_questions_is_one_picture_for_each(name: str) -> None:
    model = answerer(name)
    together = model(asked(), Text(ANSWERS))
    for row, owner in enumerate(OWNER.tolist()):
        one = Text(QUESTIONS.ids[row : row + 1, : QUESTIONS.lengths[row]])
        alone = model(PictureText(pictures(3)[owner : owner + 1], one), Text(ANSWERS[row : row + 1]))
        assert close(together[row : row + 1], alone)


@every_model
def test_what_stands_at_the_padding_of_questions_changes_nothing(name: str) -> None:
    model, other = answerer(name), QUESTIONS.ids.clone()
    other[~QUESTIONS.real] = (other[~QUESTIONS.real] + 1) % VOCAB
    changed = replace(asked(), text=Text(other, QUESTIONS.real, padded_behind=True))
    assert close(model(asked(), Text(ANSWERS)), model(changed, Text(ANSWERS)))


@every_model
def test_an_answer_depends_on_every_part_of_the_picture_and_every_word_of_the_question(name: str) -> None:
    model = answerer(name)
    whole = model(asked(), Text(ANSWERS))
    for corner in ((0, 0), (-1, -1)):
        seen = pictures(3)
        seen.pixels[:, :, corner[0], corner[1]] += 1
        assert not close(whole, model(replace(asked(), picture=seen), Text(ANSWERS)), 1e-6)
    for word in range(2):
        other = QUESTIONS.ids.clone()
        other[:, word] = (other[:, word] + 1) % VOCAB
        text = Text(other, QUESTIONS.real, padded_behind=True)
        assert not close(whole, model(replace(asked(), text=text), Text(ANSWERS)), 1e-6)


JOINT = ("joint", "transformer")


@pytest.mark.parametrize("name", JOINT)
def test_words_of_a_question_read_the_picture_and_the_picture_reads_them(name: str) -> None:
    model = answerer(name)
    with record(model.source) as recorder, torch.no_grad():
        model.memorise(asked())
    weights = torch.stack([readings[0].weights() for readings in recorder.readings.values()])
    embed = model.source.embed
    assert isinstance(embed, PictureTextEmbed)
    grid, words = embed.places(asked())
    assert words.stop == weights.shape[-1] and grid.stop == words.start and grid.stop - grid.start == 16
    for row, length in enumerate(QUESTIONS.lengths.tolist()):
        real = slice(words.start, words.start + length)
        assert (weights[:, row, :, real, grid] > 0).all() and (weights[:, row, :, grid, real] > 0).all()
        assert (weights[:, row, :, :, words.start + length :] == 0).all()


def test_a_picture_has_keys_and_values_once_for_all_its_questions() -> None:
    model = answerer("swift")
    with record(model.source) as recorder, torch.no_grad():
        model.memorise(asked())
    across = [readings[0] for readings in recorder.readings.values() if readings[0].attention.cross]
    assert len(across) == 2 and all(reading.k.shape[0] == 3 for reading in across)  # three pictures, four questions


def test_the_decoder_reads_what_the_picture_added_to_a_question_and_not_the_question() -> None:
    model = answerer("swift")
    assert isinstance(model.source, Grounded)
    for block in model.source.text.trunk.blocks:
        for out in (block.mix.out, block.read.out, block.transform.down):
            out.weight.data.zero_()
    assert not model.memorise(asked()).x.any()


def test_questions_of_each_picture_get_as_many_places() -> None:
    place, rows = places_by_owner(torch.tensor([0, 0, 0, 1, 3, 3]), 4)
    assert place.tolist() == [0, 1, 2, 3, 9, 10] and rows == 12


@every_model
def test_configs_travel_as_json(name: str) -> None:
    model = answerer(name)
    again = from_json(model.config.to_json(), Seq2Seq.Config).build()
    assert {n: p.shape for n, p in model.state_dict().items()} == {n: p.shape for n, p in again.state_dict().items()}


def test_questions_and_answers_of_one_stream_have_one_table() -> None:
    model = answerer("joint")
    assert model.source.embed.table is model.target.embed.table  # type: ignore[union-attr]


def test_a_part_of_the_questions_takes_its_pictures_along() -> None:
    model, objective = answerer("swift"), TargetToken.Config().build()
    samples = Samples(QuestionBatch(pictures(3), QUESTIONS, OWNER), PaddedIds(ANSWERS, torch.tensor([6, 4, 5, 3])))
    whole, parts = objective(model, samples), [objective(model, samples[:1]), objective(model, samples[1:])]
    assert [len(samples[:1].given.picture), len(samples[2:].given.picture), len(samples[4:])] == [1, 2, 0]
    assert whole.count == sum(part.count for part in parts) == 14
    assert close(whole.total, parts[0].total + parts[1].total)


def test_a_question_beside_a_picture_is_read_in_both_directions() -> None:
    embed, source = answerer("joint").config.source.embed, answerer("swift").config.source
    assert isinstance(embed, PictureTextEmbed.Config) and isinstance(source, Grounded.Config)
    with pytest.raises(ConfigError, match="both directions"):
        embed.replace(text=embed.text.replace(reading="line"))
    with pytest.raises(ConfigError, match="both directions"):
        source.replace(text=source.text.replace(embed=source.embed.replace(reading="line")))
