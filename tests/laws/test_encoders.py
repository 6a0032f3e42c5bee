"""The laws over every text encoder of the zoo, under each of its heads, with random weights in float64."""

import pytest
import torch
from helpers.tiny import CONTEXT, ENCODER_ZOO, SIZE, VOCAB, close, encoder_model, ids, numbers
from torch import Tensor
from torch.nn import functional as F

from weft.config import from_json
from weft.core import Attention, record
from weft.errors import ConfigError
from weft.json_text import read_json, write_json
from weft.modalities.text import Text
from weft.models.stream import Stream
from weft.models.zoo import ENCODER_MODELS
from weft.training.precision import Weights

KINDS = [("fill", "class"), ("tags", "class"), ("pooled", "class"), ("pooled", "mean"), (None, "class")]
HEADS = {f"{head}, {summary}" if head == "pooled" else str(head): (head, summary) for head, summary in KINDS}
LARGE = 1025  # without the vectors for pairs and triples that small vocabularies have

every_model = pytest.mark.parametrize("name", ENCODER_ZOO)
every_head = pytest.mark.parametrize("kind", HEADS)


def model_of(name: str, kind: str, **more) -> Stream:
    head, summary = HEADS[kind]
    return encoder_model(name, head, summary=summary, **more)


def out_of(model: Stream, raw: Text) -> Tensor:
    return model.encode(raw).x if model.head is None else model(raw)


@every_model
@every_head
@pytest.mark.parametrize("before, after", [(3, 0), (0, 2), (1, 2)])
@pytest.mark.parametrize("vocab", [VOCAB, LARGE])
def test_padding_changes_nothing(name: str, kind: str, before: int, after: int, vocab: int):
    model, text = model_of(name, kind, vocab=vocab), ids(2, 5)
    padded = torch.cat([ids(2, before, seed=1), text, ids(2, after, seed=2)], 1)
    valid = torch.zeros(padded.shape, dtype=torch.bool)
    valid[:, before : before + 5] = True
    out, plain = out_of(model, Text(padded, valid)), out_of(model, Text(text))
    assert close(out if kind.startswith("pooled") else out[:, before : before + 5], plain)


@every_model
@every_head
def test_texts_of_different_lengths_in_one_batch_equal_each_alone(name: str, kind: str):
    model, text, lengths = model_of(name, kind), ids(3, 7), [1, 4, 7]
    out = out_of(model, Text(text, torch.arange(7)[None] < torch.tensor(lengths)[:, None], padded_behind=True))
    for row, length in enumerate(lengths):
        alone = out_of(model, Text(text[row : row + 1, :length]))
        assert close(out[row : row + 1] if kind.startswith("pooled") else out[row : row + 1, :length], alone)


@every_model
def test_every_token_sees_every_other_and_only_its_own_row(name: str):
    model, text = model_of(name, "tags", vocab=LARGE), ids(2, 6)
    out = model(Text(text))
    for place in range(6):
        changed = text.clone()
        changed[0, place] = (changed[0, place] + 1) % VOCAB
        apart = (model(Text(changed)) - out).abs().amax(-1)
        assert (apart[0] > 1e-9).all() and not apart[1].any()


@every_model
def test_the_order_of_words_matters(name: str):
    model, text = model_of(name, "pooled, mean", vocab=LARGE), ids(2, 6)
    assert not close(model(Text(text)), model(Text(text.flip(1))), 1e-6)


@every_model
@every_head
def test_a_config_that_travelled_as_json_builds_the_same_parameters(name: str, kind: str):
    config = model_of(name, kind, dropout=0.1).config
    again = from_json(read_json(write_json(config.to_json()), where="test"), Stream.Config)
    torch.manual_seed(7)
    one = config.build().state_dict()
    torch.manual_seed(7)
    other = again.build().state_dict()
    assert list(one) == list(other) and all(torch.equal(one[key], other[key]) for key in one)


@every_model
@every_head
def test_weights_loaded_into_a_model_built_anew_give_the_same_values(name: str, kind: str):
    model = model_of(name, kind, dtype=torch.float32)
    other = from_json(model.config.to_json()).build().eval()
    Weights(other, torch.float32).load(Weights(model, torch.float32).tensors())
    assert torch.equal(out_of(other, Text(ids(2, 6))), out_of(model, Text(ids(2, 6))))


@every_model
@every_head
def test_a_batch_in_pieces_gives_the_same_gradient(name: str, kind: str):
    model, text, labels = model_of(name, kind).train(), ids(5, 6), ids(5, 6, vocab=5, seed=1)

    def gradients(size: int) -> list[Tensor]:
        model.zero_grad()
        for start in range(0, 5, size):
            out, wanted = out_of(model, Text(text[start : start + size])), labels[start : start + size]
            flat, wanted = (out, wanted[:, 0]) if out.ndim == 2 else (out.flatten(0, 1), wanted.flatten())
            F.cross_entropy(flat, wanted, reduction="sum").backward()
        return [p.grad.clone() for p in model.parameters() if p.grad is not None]

    whole, pieces = gradients(5), gradients(2)
    assert all(close(a, b, 1e-9) for a, b in zip(whole, pieces, strict=True)) and all(g.any() for g in whole)


@every_model
def test_recording_changes_no_bit_and_weights_sum_to_one_or_zero(name: str):
    model, valid = model_of(name, "pooled, class"), torch.arange(8)[None] < torch.tensor([[8], [3]])
    for raw in (Text(ids(2, 8)), Text(ids(2, 8), valid)):
        plain = model(raw)
        with record(model) as recorder:
            assert torch.equal(model(raw), plain)
    assert list(recorder.readings) == [n for n, m in model.named_modules() if isinstance(m, Attention)]
    for (reading,) in recorder.readings.values():
        assert close(reading.weights().sum(-1), torch.ones(2, SIZE.heads, 8, dtype=torch.float64))
        assert not reading.weights()[1, :, :, 3:].any()


@every_model
def test_a_class_is_told_by_the_first_token_or_by_the_mean(name: str):
    text = Text(ids(2, 6))
    first, mean = (model_of(name, f"pooled, {summary}") for summary in ("class", "mean"))
    assert close(first(text), first.head.values(first.encode(text).x[:, 0]))
    assert close(mean(text), mean.head.values(mean.encode(text).x.mean(1)))


@every_model
@every_head
def test_dropout_acts_only_while_training(name: str, kind: str):
    model, text = model_of(name, kind, dropout=0.5).train(), Text(ids(2, 6))
    assert not torch.equal(out_of(model, text), out_of(model, text))
    model.eval()
    assert torch.equal(out_of(model, text), out_of(model, text))


@every_model
def test_a_text_as_long_as_the_context_is_read(name: str):
    assert model_of(name, "fill")(Text(ids(1, CONTEXT))).shape == (1, CONTEXT, VOCAB)


@every_model
def test_outputs_that_nobody_named_and_those_that_nobody_asks_for_are_refused(name: str):
    build = ENCODER_MODELS[name]
    for head in ("pooled", "tags"):
        with pytest.raises(ConfigError, match="how many outputs"):
            build(SIZE, vocab=VOCAB, head=head)
    for head in ("fill", None):
        with pytest.raises(ConfigError, match="pooled or tags"):
            build(SIZE, vocab=VOCAB, head=head, outputs=3)


def test_bert_tells_masked_words_by_the_table_that_it_reads_with():
    model = encoder_model("bert", "fill")
    assert model.head.out.weight is model.embed.table.weight
    tokens, head = numbers(1, 3, SIZE.dim), model.head
    inner = F.gelu(tokens @ head.dense.linear.weight.T + head.dense.linear.bias)
    inner = F.layer_norm(inner, (SIZE.dim,), head.dense.norm.gain, head.dense.norm.offset, 1e-12)
    assert close(head.values(tokens), inner @ model.embed.table.weight.T + head.out.bias)


def test_bert_tells_two_texts_in_one_row_apart():
    model, text = encoder_model("bert", "tags"), ids(1, 6)
    apart = Text(text, segments=torch.tensor([[0, 0, 0, 1, 1, 1]]))
    assert not close(model(apart), model(Text(text)), 1e-6)
