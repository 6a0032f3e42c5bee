"""Exported folders answer texts in the Hugging Face library as weft does: its tokenizer, its settings, its texts."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.foreign import changed, library, perturbed, randomised, saved
from helpers.foreign_models.pictures import VIT

import weft
from weft.domains.texts.views.vectors import TextVectors, text_vectors
from weft.errors import ConfigError, DataError
from weft.generate.decode import Decoding, decode
from weft.generate.sampling import Sampling
from weft.interop import Marks, proof, read_folder, reference_run, write_folder
from weft.interop.generation import read_generation, write_generation
from weft.interop.pictures import seen
from weft.interop.sentence_modules import read_modules, write_modules
from weft.interop.signatures import TextPooling
from weft.interop.tokenizer_files import marked_tokenizer
from weft.modalities import tokenizer_making
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer
from weft.models.zoo import ENCODER_MODELS, Size, gpt
from weft.models.zoo.translation import transformer
from weft.runs import exporting
from weft.runs.exporting import export_run
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.proof import Proof

TEXTS = ["Do you like tea?", "Yes, I like tea. Do you?", "tea"]
SIZE = Size(dim=16, depth=2, heads=2, context=64)
KINDS = ["bytes", "characters", "bpe"]


def made(kind: str, *, mask: bool = False) -> Tokenizer:
    return tokenizer_making.train(
        kind, ["Do you like tea? Yes, I like tea. " * 20], 280 if kind == "bpe" else None, mask=mask
    )


def translator(folder: Path, kind: str = "bpe", *, ending: float = 3, **how: Any) -> Path:
    """A folder of a translator with random weights."""
    words = made(kind)
    torch.manual_seed(3)
    model, marks = perturbed(transformer(SIZE, vocab=words.size)), Marks(words.end, (words.end,), words.end, words.end)
    with torch.no_grad():
        model.source.embed.table.weight[words.end] *= ending  # so that some texts end by themselves
    written = write_generation(Decoding(**how).to_json(), longest=64, marks=marks)
    text = marked_tokenizer(words, (), (words.end,))
    write_folder(folder, model, tokenizer_json=text, marks=marks, generation=written)
    return folder


@pytest.mark.parametrize(
    "how", [{}, {"beam": 3, "length_penalty": 1.5, "early_stopping": True}, {"beam": 1, "never": (5, 9)}]
)
def test_a_translator_writes_the_same_text_there(tmp_path: Path, how: dict[str, Any]) -> None:
    transformers, folder = library(), translator(tmp_path / "a", **how, max_tokens=20)
    reader = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    theirs = [
        reader.decode(model.generate(**reader(text, return_tensors="pt"))[0], skip_special_tokens=True)
        for text in TEXTS
    ]
    found = weft.load(folder).predict(TEXTS)
    assert [one["text"] for one in found] == [text.strip() for text in theirs]
    assert any("cut" not in one for one in found)


@pytest.mark.parametrize("forced_end", [False, True])
def test_beams_at_the_limit_are_ranked_by_score_alone_as_there(tmp_path: Path, forced_end: bool) -> None:
    transformers, folder = library(), translator(tmp_path / "a", ending=1.5, max_tokens=20, forced_end=forced_end)
    reader, ours, words = transformers.AutoTokenizer.from_pretrained(folder), read_folder(folder), made("bpe")
    assert ours.predict.get("forced_end", False) == forced_end and ours.predict["max_tokens"] == 20
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    ended = set()
    for beams, weight, limit in itertools.product((2, 4), (0.0, 1.5), (3, 6)):
        how = Decoding(beam=beams, best=beams, length_penalty=weight, forced_end=forced_end)
        found = decode(ours.model, words.encode_all(TEXTS), end=words.end, limits=[limit] * len(TEXTS), how=how)
        for text, best in zip(TEXTS, found, strict=True):
            how_there = {"num_beams": beams, "length_penalty": weight, "max_new_tokens": limit + forced_end}
            ids = theirs.generate(**reader(text, return_tensors="pt"), **how_there)[0]
            assert words.decode(best[0].ids) == reader.decode(ids, skip_special_tokens=True), (how_there, text)
            ended.add(tuple({h.ended for h in best}))
    assert forced_end or (True, False) in ended or (False, True) in ended  # some ended beside others that were cut


def test_a_prompt_has_the_marks_around_it_that_its_makers_put_there(tmp_path: Path) -> None:
    transformers, words = library(), made("bpe")
    text, marks = marked_tokenizer(words, (words.end,), (words.end,)), Marks(words.end, (words.end,), words.end)
    model = perturbed(gpt(SIZE, vocab=words.size))
    how = {"do_sample": False, "max_new_tokens": 8, "forced_eos_token_id": words.end}
    write_folder(tmp_path / "a", model, tokenizer_json=text, marks=marks, generation=how)
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "a")
    model, run = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "a"), weft.load(tmp_path / "a")
    for text in TEXTS:
        given = reader(text, return_tensors="pt")
        assert given["input_ids"][0, -1] == words.end
        new = model.generate(**given)[0, given["input_ids"].shape[1] :]
        assert run.predict(text)[0]["text"] == reader.decode(new, skip_special_tokens=True)


def test_a_language_model_goes_on_with_the_same_text_there(tmp_path: Path) -> None:
    transformers, words = library(), made("bpe")
    text, marks = marked_tokenizer(words, (words.end,), ()), Marks(words.end, (words.end,), words.end)
    how = write_generation(Sampling(temperature=0.0, repetition_penalty=1.2, max_tokens=20).to_json(), longest=64)
    write_folder(
        tmp_path / "a", perturbed(gpt(SIZE, vocab=words.size)), tokenizer_json=text, marks=marks, generation=how
    )
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "a")
    model, run = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "a"), weft.load(tmp_path / "a")
    for text in TEXTS:
        given = reader(text, return_tensors="pt")
        assert given["input_ids"][0].tolist() == [words.end, *words.encode(text).tolist()]
        new = model.generate(**given)[0, given["input_ids"].shape[1] :]
        assert run.predict(text)[0]["text"] == reader.decode(new, skip_special_tokens=True)


@pytest.mark.parametrize("kind", KINDS)
def test_blanks_are_filled_with_the_same_words_there(tmp_path: Path, kind: str) -> None:
    transformers, words = library(), made(kind, mask=True)
    model = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=words.size, head="fill"))
    text, marks = marked_tokenizer(words, *words.marks), Marks(words.end, (words.end,), words.end)
    write_folder(tmp_path / "a", model, tokenizer_json=text, marks=marks)
    filler, run = transformers.pipeline("fill-mask", model=str(tmp_path / "a")), weft.load(tmp_path / "a")
    for text in ("Do you like ___?", "___ like tea."):
        theirs = [one["token"] for one in filler(text.replace("___", filler.tokenizer.mask_token), top_k=9)]
        known = [words.decode([id]) for id in theirs if id not in words.special]
        assert [one["token"] for one in run.predict(text)[0]["candidates"]] == known[:5]


def test_the_name_of_a_special_token_in_a_text_is_text_as_their_library_can_read_it_too(tmp_path: Path) -> None:
    words, text = made("bpe"), "Do you <|end|> like tea?"
    write_folder(tmp_path / "a", perturbed(gpt(SIZE, vocab=words.size)), tokenizer_json=words.to_json())
    usual = library().AutoTokenizer.from_pretrained(tmp_path / "a")
    assert words.end in usual(text)["input_ids"] and words.end not in words.encode(text)
    plain = library().AutoTokenizer.from_pretrained(tmp_path / "a", split_special_tokens=True)
    assert plain(text)["input_ids"] == words.encode(text).tolist()


def test_a_model_with_more_ids_than_its_tokenizer_writes_and_is_exported(tmp_path: Path) -> None:
    transformers, words = library(), made("bpe")
    model, many = perturbed(gpt(SIZE, vocab=3 * words.size)), 3 * words.size  # most of what it writes has no name
    beyond = Marks(bos=many + 5, eos=(many + 5,))  # as a small model keeps them from a larger one
    how = {"do_sample": False, "max_new_tokens": 12}
    write_folder(tmp_path / "a", model, tokenizer_json=words.to_json(), marks=beyond, generation=how)
    reader, theirs = (
        getattr(transformers, kind).from_pretrained(tmp_path / "a")
        for kind in ("AutoTokenizer", "AutoModelForCausalLM")
    )
    assert reader.eos_token is None
    given = reader("Do you like", return_tensors="pt")
    new = theirs.generate(**given)[0, given["input_ids"].shape[1] :]
    assert any(id >= words.size for id in new) and len(new) == 12
    assert weft.load(tmp_path / "a").predict("Do you like")[0]["text"] == reader.decode(new, skip_special_tokens=True)


def test_special_tokens_that_a_model_has_no_vectors_for_are_left_out(tmp_path: Path) -> None:
    words = made("bpe")
    write_folder(tmp_path / "a", perturbed(gpt(SIZE, vocab=words.size)), tokenizer_json=words.to_json())
    data = json.loads(words.to_json())
    data["added_tokens"].append({**data["added_tokens"][-1], "id": words.size, "content": "[PAD]"})
    (tmp_path / "a/tokenizer.json").write_text(json.dumps(data))
    found = read_folder(tmp_path / "a")
    assert any("no vectors for are left out: [PAD]" in line for line in found.warnings)
    assert Tokenizer.from_json(found.tokenizer_json or "").names == words.names


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_with_marks_is_of_the_same_kind_and_reads_the_same(kind: str) -> None:
    words = made(kind, mask=True)
    again = Tokenizer.from_json(marked_tokenizer(words, (words.end,), ()))
    assert (again.kind, again.names, again.marks) == (kind, words.names, ((words.end,), ()))
    assert again.encode("Yes, ☕ tea").tolist() == words.encode("Yes, ☕ tea").tolist()
    assert marked_tokenizer(again, (), (words.end,)) == again.to_json()


def test_a_settings_file_means_what_it_means_there() -> None:
    def read(writing: Any, **data: Any) -> tuple[dict[str, Any], list[str]]:
        marks = Marks(eos=(2,), first=data.get("forced_bos_token_id"))
        return read_generation(data, writing, context=64, marks=marks, where="generation_config.json")

    assert read("answers", bos_token_id=1, eos_token_id=2) == ({}, [])  # nothing is said of texts
    greedy = {"temperature": 0.0, "beam": 1, "length_penalty": 1.0, "early_stopping": False}
    assert read("answers", max_length=20) == ({**greedy, "max_tokens": 19}, [])
    assert read("answers", max_length=512, num_beams=4, bad_words_ids=[[7]])[0] == {**greedy, "beam": 4, "never": [7]}
    drawn = {"temperature": 0.6, "top_p": 0.9, "top_k": 50, "repetition_penalty": 1.0}
    assert read("continues", do_sample=True, temperature=0.6, top_p=0.9) == (drawn, [])
    (remark,) = read("answers", num_beams=4, no_repeat_ngram_size=3, min_length=10, repetition_penalty=1.1)[1]
    assert all(name in remark for name in ("no_repeat_ngram_size", "min_length", "repetition_penalty"))
    (remark,) = read("continues", num_beams=4, max_length=20)[1]
    assert "num_beams" in remark and "max_length" in remark
    forced = read("answers", max_length=20, eos_token_id=2, forced_eos_token_id=2, num_beams=4)
    assert forced == ({**greedy, "beam": 4, "forced_end": True, "max_tokens": 18}, [])
    assert "max_tokens" in (one := read("continues", max_new_tokens=20, forced_eos_token_id=2))[0] and one[1] == []
    assert one[0]["max_tokens"] == 19
    assert "forced_eos_token_id" in read("answers", max_length=20, forced_eos_token_id=3)[1][0]
    assert "forced_bos_token_id" in read("continues", max_length=20, forced_bos_token_id=3)[1][0]
    for bad in (
        {"num_beams": 0},
        {"forced_eos_token_id": "2"},
        {"top_p": "all"},
        {"do_sample": 1},
        {"suppress_tokens": ["a"]},
    ):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            read("answers", max_length=20, **bad)


def test_settings_that_were_written_come_back() -> None:
    for how in (
        Decoding(beam=3, never=(4,), max_tokens=9),
        Decoding(beam=3, max_tokens=9, forced_end=True),
        Decoding(temperature=0.5, top_k=3),
        Sampling(max_tokens=20),
    ):
        writing: Any = "answers" if isinstance(how, Decoding) else "continues"
        written = write_generation(how.to_json(), longest=64, marks=Marks(eos=(2,)))
        found, remarks = read_generation(written, writing, context=64, marks=Marks(eos=(2,)), where="")
        back = type(how)(**{name: tuple(value) if name == "never" else value for name, value in found.items()})
        if how.temperature > 0 and isinstance(how, Decoding):  # nothing is searched
            back = back.replace(beam=how.beam, length_penalty=how.length_penalty)
        assert remarks == [] and back == how


def test_words_of_another_answer_take_an_export_back(tmp_path: Path) -> None:
    proof = Proof("text", ["tea"], ["Tee"])
    with pytest.raises(DataError, match=r"answers \['The'\] to 'tea', the run answers 'Tee'"):
        proof.compare([["The"]], tmp_path)
    proof.compare([[" Tee"]], tmp_path)
    proof.compare([["Tea", "Te"]], tmp_path)  # from a tie on, other texts are as right
    with pytest.raises(DataError, match="Tx"):
        proof.compare([["Txe", "Tx"]], tmp_path)
    Proof("label", ["a"], ["x"]).compare([["x", "y"]], tmp_path)  # as good as each other
    several = Proof("label", ["a"], [["x", "y"]])  # of those that may be given, y is as likely as not
    several.compare([[["x"], ["x", "y"]]], tmp_path)
    several.compare([[["x", "y"], ["x", "y", "z"]]], tmp_path)
    for sure, possible in ((["z"], ["x", "y", "z"]), (["x"], ["x"])):
        with pytest.raises(DataError):
            several.compare([[sure, possible]], tmp_path)
    with pytest.raises(DataError):
        Proof("tags", [["a", "b"]], [["O", "X"]]).compare([[["O"], ["Y"]]], tmp_path)


def test_ids_that_are_tried_are_no_marks() -> None:
    model = ENCODER_MODELS["bert"](SIZE, vocab=6, head="fill").build()
    ids = proof.trial_inputs(model, 6, {0, 1, 5})["input_ids"]
    assert set(ids.flatten().tolist()) == {2, 3, 4}


def bert(folder: Path, labels: int = 4, **keys: Any) -> Path:
    transformers = library()
    sizes = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 8,
        "vocab_size": 257,
    }
    config = transformers.BertConfig(**sizes, max_position_embeddings=16, num_labels=labels)
    return changed(saved(randomised(transformers.BertForSequenceClassification(config)), folder), **keys)


def test_labels_are_named_as_there_where_names_and_number_differ(tmp_path: Path) -> None:
    folder = bert(tmp_path / "a", num_labels=4, id2label={"0": "bad", "1": "good"})
    found = read_folder(folder)
    assert found.labels == tuple(library().AutoConfig.from_pretrained(folder).id2label.values())
    assert any("num_labels is 4 and id2label names 2" in remark for remark in found.warnings)
    assert read_folder(changed(folder, num_labels=4, id2label=None)).labels == found.labels


@pytest.mark.parametrize("keys", [{"hidden_act": "mish"}, {"model_type": "camembertt"}])
def test_arithmetic_that_is_not_known_is_never_guessed(tmp_path: Path, keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="known: ") as caught:
        read_folder(bert(tmp_path / "a", **keys))
    assert "did you mean" not in str(caught.value)
    assert json.loads((tmp_path / "a/config.json").read_text())[next(iter(keys))] in str(caught.value)


def test_labels_that_do_not_exclude_each_other_have_probabilities_of_their_own(tmp_path: Path) -> None:
    names = {"0": "a", "1": "b", "2": "c", "3": "d"}
    folder = bert(tmp_path / "a", problem_type="multi_label_classification", id2label=names)
    words = made("bytes")
    (folder / "tokenizer.json").write_text(marked_tokenizer(words, *words.marks))
    run = weft.load(folder)
    (found,) = run.predict("!$%")
    transformers = library()
    ids = torch.tensor([run._loaded.codecs["text"].encode(["!$%"], 16).rows[0].tolist()])
    shares = transformers.AutoModelForSequenceClassification.from_pretrained(folder)(ids).logits.sigmoid()[0].tolist()
    assert found["probabilities"] == pytest.approx(dict(zip("abcd", shares, strict=True)), abs=1e-5)
    assert sorted(found["labels"]) == [name for name, share in zip("abcd", shares, strict=True) if share > 0.5]
    assert run.task.shown(found).endswith("\t!$%")
    (tmp_path / "data.tsv").write_text("text\tlabel\n" + "!!\ta\n$$\tb\n" * 3)
    assert 0 <= run.evaluate(tmp_path / "data.tsv")["metrics"]["macro_f1"] <= 1  # one label a row is a short list
    with pytest.raises(ConfigError, match="regression with 4 numbers"):
        read_folder(changed(folder, problem_type="regression"))


def test_one_output_is_a_number_also_where_its_kind_is_not_said(tmp_path: Path) -> None:
    folder, words = bert(tmp_path / "a", labels=1), made("bytes")
    (folder / "tokenizer.json").write_text(marked_tokenizer(words, *words.marks))
    assert json.loads((folder / "config.json").read_text()).get("problem_type") is None
    (found,) = weft.load(folder).predict("!$%")
    ids = torch.tensor([[words.end, *words.encode("!$%").tolist(), words.end]])
    (logit,) = library().AutoModelForSequenceClassification.from_pretrained(folder)(ids).logits[0].tolist()
    assert found["value"] == pytest.approx(logit, abs=1e-5)


def test_several_labels_as_likely_as_not_are_both_right_there() -> None:
    def model() -> SimpleNamespace:
        return SimpleNamespace(logits=torch.tensor([[2.0, 0.0001, -0.0001, -2.0]]))

    kind = "multi_label_classification"
    model.config = SimpleNamespace(id2label=dict(enumerate("abcd")), problem_type=kind)  # type: ignore[attr-defined]
    assert reference_run.label(model, {}) == [["a"], ["a", "b", "c"]]


def test_an_export_that_fails_its_trial_says_that_it_was_removed_and_why(tmp_path: Path, monkeypatch) -> None:
    words = made("bytes", mask=True)
    model = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=words.size, head="fill"))
    write_folder(tmp_path / "a", model, tokenizer_json=marked_tokenizer(words, *words.marks))
    run = weft.load(tmp_path / "a")
    monkeypatch.setattr(exporting, "prove", lambda *_: 0.5)
    with pytest.raises(
        DataError, match="the export was removed, because it failed its trial: its values differ by 0.5"
    ):
        run.export(tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def pooled(folder: Path, keys: dict[str, Any], kinds: str = "Transformer Pooling Normalize") -> Path:
    """A folder with the modules of sentence-transformers."""
    modules = [{"path": f"{i}_{kind}" if i else "", "type": f"models.{kind}"} for i, kind in enumerate(kinds.split())]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling/config.json").write_text(json.dumps(keys))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 8, "do_lower_case": True}))
    return folder


@pytest.mark.parametrize("mode, of", [("cls_token", "class"), ("mean_tokens", "mean"), ("max_tokens", "max")])
def test_vectors_of_texts_are_made_as_their_modules_say(tmp_path: Path, mode: str, of: str) -> None:
    words = made("bpe")
    ours = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=words.size, head=None))
    write_folder(tmp_path / "a", ours, tokenizer_json=marked_tokenizer(words, *words.marks))
    run = weft.load(pooled(tmp_path / "a", {"pooling_mode_mean_tokens": False, f"pooling_mode_{mode}": True}))
    (found,) = run.embed("DO you like tea? Yes, I like tea, do you?")
    ids = [words.end, *words.encode("do you like tea? yes, i like tea, do you?").tolist()[:6], words.end]
    x = ours.encode(Text(torch.tensor([ids]))).x[0]
    vector = {"class": x[0], "mean": x.mean(0), "max": x.amax(0)}[of]
    assert torch.allclose(torch.from_numpy(found), torch.nn.functional.normalize(vector, dim=-1), atol=1e-6)
    plain = weft.load(pooled(tmp_path / "a", {f"pooling_mode_{mode}": True}, "Transformer Pooling"))
    assert plain.embed("tea") == pytest.approx(weft.load(tmp_path / "a").embed("tea", normalise=False))


def test_the_longest_text_and_the_usual_prompt_are_those_of_their_files(tmp_path: Path) -> None:
    def read(**files: Any) -> dict[str, Any]:
        known = {**write_modules({"summary": "mean"}, 16), "sentence_bert_config.json": {}}
        known |= {f"{name}.json": data for name, data in files.items()}
        return read_modules(known.get, "a")

    plain = {"summary": "mean", "normalise": True}
    assert read() == plain and read(tokenizer_config={"model_max_length": 16}) == {**plain, "longest": 16}
    assert read(tokenizer_config={"model_max_length": 10**30}) == plain
    both = {"tokenizer_config": {"model_max_length": 16}, "sentence_bert_config": {"max_seq_length": 20}}
    assert read(**both)["longest"] == 20
    prompts = {"prompts": {"query": "query: ", "document": None}, "default_prompt_name": "query"}
    assert read(config_sentence_transformers=prompts)["prompt"] == "query: "
    assert read(config_sentence_transformers={**prompts, "default_prompt_name": None}) == plain
    assert read(config_sentence_transformers={"default_prompt_name": "document"}) == plain
    with pytest.raises(ConfigError, match="default_prompt_name is 'passage'"):
        read(config_sentence_transformers={**prompts, "default_prompt_name": "passage"})
    with pytest.raises(ConfigError, match="processing_kwargs"):
        read(sentence_bert_config={"processing_kwargs": {"text": {"max_length": 9}}})


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("summary", ["mean", "class", "max"])
def test_a_prompt_is_read_before_each_text(tmp_path: Path, counts: bool, summary: str) -> None:
    words, prompt = made("bpe"), "Yes, "
    ours = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=words.size, head=None))
    write_folder(tmp_path / "a", ours, tokenizer_json=marked_tokenizer(words, *words.marks))
    for name, data in write_modules(
        {"summary": summary, "normalise": False, "prompt": prompt, "prompt_counts": counts}, 16
    ).items():
        (tmp_path / "a" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "a" / name).write_text(json.dumps(data))
    (found,) = weft.load(tmp_path / "a").embed("I like tea.")
    ids = [words.end, *words.encode(f"{prompt}I like tea.").tolist(), words.end]
    x = ours.encode(Text(torch.tensor([ids]))).x[0].detach()
    x = x if counts else x[1 + len(words.encode(prompt)) :]
    wanted = {"class": x[0], "mean": x.mean(0), "max": x.amax(0)}[summary]
    assert found == pytest.approx(wanted.numpy(), abs=1e-5)


def test_modules_that_make_other_vectors_are_refused_by_name(tmp_path: Path) -> None:
    folder, mean = bert(tmp_path / "a"), {"pooling_mode_mean_tokens": True}
    with pytest.raises(ConfigError, match="Transformer, Pooling, Dense; weft follows"):
        read_folder(pooled(folder, mean, "Transformer Pooling Dense"))
    with pytest.raises(ConfigError, match="pooling is pooling_mode_weightedmean_tokens; weft knows the mean"):
        read_folder(pooled(folder, {"pooling_mode_weightedmean_tokens": True}))
    with pytest.raises(ConfigError, match="mean_tokens and pooling_mode_max_tokens"):
        read_folder(pooled(folder, {**mean, "pooling_mode_max_tokens": True}))


@pytest.mark.parametrize("summary", ["mean", "class", "max"])
@pytest.mark.parametrize("normalise", [True, False])
def test_what_modules_say_is_written_again_and_is_what_a_graph_computes(summary: str, normalise: bool) -> None:
    settings = {"summary": summary, "normalise": normalise, "longest": 8, "lower": True, "prompt": "query: "}
    files = write_modules(settings, 16)
    assert read_modules(files.get, "a") == settings and write_modules({}, 16) == {}
    model = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=20, head=None))
    rows = [np.arange(2, 9), np.arange(5, 8)]
    known = text_vectors(model, rows, TextVectors(summary=summary, normalise=normalise))  # type: ignore[arg-type]
    for row, vector in zip(rows, known, strict=True):
        padded = torch.tensor([[*row, 0, 0]])
        tokens = model.encode(Text(padded, torch.tensor([[True] * len(row) + [False] * 2])))
        found = TextPooling(summary, normalise)(tokens)[0].detach()
        assert torch.allclose(found, torch.from_numpy(vector), atol=1e-5)


@pytest.mark.slow
def test_vectors_are_the_same_after_an_export(tmp_path: Path) -> None:
    words = made("bpe")
    ours = perturbed(ENCODER_MODELS["bert"](SIZE, vocab=words.size, head=None))
    write_folder(tmp_path / "a", ours, tokenizer_json=marked_tokenizer(words, *words.marks))
    run = weft.load(pooled(tmp_path / "a", {"pooling_mode_cls_token": True}, "Transformer Pooling"))
    export_run(run._loaded, tmp_path / "b")
    assert weft.load(tmp_path / "b").embed("Do you like tea?") == pytest.approx(run.embed("Do you like tea?"), abs=1e-6)


@pytest.mark.parametrize("architecture", ["DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"])
def test_a_picture_model_with_one_label_is_exported_in_its_unit(
    tmp_path: Path, architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, sizes = getattr(library(), architecture), {**VIT, "num_labels": 1}
    run = weft.load(saved(randomised(kind(kind.config_class(**sizes))), tmp_path / "a"))
    codec = NumberCodec(NumberCodec.Config(mean=3.0, spread=2.0))
    loaded = replace(run._loaded, codecs={**run._loaded.codecs, "label": codec})
    monkeypatch.setattr(exporting, "prove", lambda *_: 0.0)
    export_run(loaded, tmp_path / "b")
    again, picture = read_folder(tmp_path / "b").model, torch.randn(2, 3, 24, 24)
    expected = 2 * run.model(seen(run.model, picture)) + 3
    assert torch.allclose(again(seen(again, picture)), expected, atol=1e-5)


def test_a_text_is_certain_up_to_the_first_tie():
    def generate(**asked: Any) -> SimpleNamespace:
        return SimpleNamespace(sequences=torch.tensor([[7, 1, 0, 1]]), scores=[torch.tensor([row]) for row in rows])

    model = SimpleNamespace(generate=generate, config=SimpleNamespace(is_encoder_decoder=False))
    tokenizer = SimpleNamespace(decode=lambda ids, skip_special_tokens: "".join("ab......"[id] for id in ids.tolist()))
    given, wanted = [{"input_ids": torch.tensor([[7]])}], {"settings": {}, "limits": []}
    rows = [[0.0, 1.0], [0.5, 0.2], [0.0, 1.0]]
    assert reference_run.written(model, tokenizer, given, wanted) == [["bab"]]
    rows[1] = [0.5, 0.4999]
    assert reference_run.written(model, tokenizer, given, wanted) == [["bab", "b"]]
