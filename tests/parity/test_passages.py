"""Answers in passages: windows, answers and scores as the Hugging Face library computes them, and there again."""

from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
from helpers.foreign import library, randomised, same_files, saved
from helpers.foreign_models.encoders import DISTIL, FAMILIES
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

import weft

PASSAGE = "Ada sells wool near the old mill. Ben keeps the mill and knows 12 songs. " * 6
QUESTION, WINDOW, OVERLAP = "Who keeps the mill?", 40, 10
MARKS = {"bert": ("[CLS]", "[SEP]", "[PAD]", "[UNK]"), "roberta": ("<s>", "</s>", "<pad>", "<unk>")}


def tokenizer_of(stem: str):
    """A tokenizer as BERT or RoBERTa has it, made for the passage."""
    cls, sep, pad, unknown = MARKS["roberta" if stem == "Roberta" else "bert"]
    if stem == "Roberta":
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=[cls, pad, sep, unknown],
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    else:
        made = tokenizers.Tokenizer(models.WordPiece(unk_token=unknown))
        made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=61, special_tokens=[pad, unknown, cls, sep])
    made.train_from_iterator([PASSAGE, QUESTION], trainer)
    ids = (sep, made.token_to_id(sep)), (cls, made.token_to_id(cls))
    made.post_processor = processors.RobertaProcessing(*ids) if stem == "Roberta" else processors.BertProcessing(*ids)
    # BertTokenizer and RobertaTokenizer of the library say it so; a bare file names no inputs
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if stem in ("Bert", "Albert") else [])]
    return library().PreTrainedTokenizerFast(
        tokenizer_object=made, cls_token=cls, sep_token=sep, pad_token=pad, unk_token=unknown, model_input_names=names
    )


@pytest.fixture(scope="module", params=["Bert", "Roberta", "DistilBert"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights that finds answers, with its tokenizer."""
    stem, place = request.param, tmp_path_factory.mktemp("their")
    words = tokenizer_of(stem)
    keys = {**(DISTIL if stem == "DistilBert" else FAMILIES[stem]), "vocab_size": len(words)}
    kind = getattr(library(), f"{stem}ForQuestionAnswering")
    torch.manual_seed(3)
    saved(randomised(kind(kind.config_class(**keys))), place / stem)
    words.save_pretrained(place / stem)
    return place / stem


def theirs(folder: Path) -> tuple[str, float]:
    """The likeliest span of all windows: p(first) p(last) over the passage and the first mark."""
    words = library().AutoTokenizer.from_pretrained(folder)
    kind = getattr(library(), f"{folder.name}ForQuestionAnswering")
    given = words(QUESTION, PASSAGE, truncation="only_second", max_length=WINDOW, stride=OVERLAP, padding=True,
                  return_overflowing_tokens=True, return_offsets_mapping=True, return_tensors="pt")  # fmt: skip
    places, _ = given.pop("offset_mapping"), given.pop("overflow_to_sample_mapping")
    with torch.inference_mode():
        found = kind.from_pretrained(folder).eval()(**given)
    best = (-1.0, "")
    for row in range(len(places)):
        inside = np.array([side == 1 for side in given.sequence_ids(row)])
        kept = torch.from_numpy(np.concatenate([[True], inside[1:]]))
        first, last = (part[row].double().masked_fill(~kept, -torch.inf).softmax(-1) for part in (found[0], found[1]))
        for i in np.flatnonzero(inside):
            for j in range(i, min(i + 15, np.flatnonzero(inside)[-1] + 1)):
                text = PASSAGE[places[row][i][0] : places[row][j][1]].strip()
                best = max(best, (float(first[i] * last[j]), text))
    return best[1], best[0]


def test_a_long_passage_gets_the_same_answer_with_the_same_score(folder: Path):
    (found,) = weft.load(folder).predict(PASSAGE, question=QUESTION, window=WINDOW, overlap=OVERLAP)
    text, score = theirs(folder)
    assert found["text"] == text and found["score"] == pytest.approx(score, abs=2e-6)


@pytest.mark.slow
def test_an_export_answers_the_same_and_is_the_same_from_then_on(folder: Path, tmp_path: Path):
    run = weft.load(folder)
    done = run.export(tmp_path / "a")
    assert done["difference"] < 1e-5 and done["same_answers"] > 0
    again = weft.load(tmp_path / "a")
    asked = {"question": QUESTION, "context": PASSAGE}
    assert again.predict(asked) == run.predict(asked)
    again.export(tmp_path / "b")
    assert same_files(tmp_path / "a", tmp_path / "b", but={"README.md"})
