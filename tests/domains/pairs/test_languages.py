"""Translators of many languages: a user names two, and texts come out as the other library writes them."""

import json
from pathlib import Path

import pytest
import torch
from helpers.foreign import library, randomised, saved
from helpers.foreign_models.many_languages import CASES
from helpers.foreign_models.translators import END, VOCAB

import weft
from weft.errors import ConfigError, WeftError
from weft.files.languages import marks_of
from weft.runs import exporting
from weft.runs.importing import import_run

MARKS = {
    "mbart": ["en_XX", "fr_XX", "ro_RO", "zh_CN"],
    "m2m_100": ["__en__", "__fr__", "__ro__", "__zh__"],
    "nllb": ["eng_Latn", "fra_Latn", "zho_Hans", "zho_Hant"],
}
TOKENIZERS = {"mbart": "MBart50Tokenizer", "m2m_100": "M2M100Tokenizer", "nllb": "NllbTokenizerFast"}
TEXT = "w9 w5 w23 w11 w7 w30"


def words(kind: str) -> list[str]:
    """The tokens by id: marks of texts, words, marks of languages."""
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    marks = MARKS[kind]
    return [*first, *(f"w{i}" for i in range(len(first), VOCAB - len(marks))), *marks]


def translator(folder: Path, kind: str, **keys):
    """A model of their library with a tokenizer that has marks of languages, and the folder that holds both."""
    transformers, tokenizers = library(), pytest.importorskip("tokenizers")
    architecture, sizes = CASES["mbart" if kind == "mbart" else "m2m_100"]
    torch.manual_seed(6)
    builder = getattr(transformers, architecture)
    model = randomised(builder(builder.config_class(**sizes)))
    with torch.no_grad():  # so that words follow words
        model.model.decoder.layer_norm.bias.zero_()
        model.model.shared.weight.mul_(0.2)[:4] = 0
        for name, weight in model.named_parameters():
            weight.mul_(4.0 if ".layers." in name and weight.ndim == 2 else 1.0)
    model.generation_config.update(forced_eos_token_id=None, **keys.pop("generation", {}))
    names = words(kind)
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(names)}, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", *MARKS[kind]])
    made.save(str(saved(model, folder) / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": TOKENIZERS[kind], **keys}))
    return model


def generated(model, source: list[int], **options) -> list[int]:
    """What their library writes, its marks included."""
    given, how = torch.tensor([source]), {"do_sample": False, "num_beams": 1, "max_new_tokens": 16}
    return model.generate(given, attention_mask=torch.ones_like(given), **how, **options)[0].tolist()


@pytest.mark.parametrize(
    ("kind", "source", "target"),
    [
        ("mbart", "en", "ro"),
        ("m2m_100", "French", "__en__"),
        ("nllb", "fra", "zho_Hant"),
    ],
)
def test_a_named_language_gives_the_text_of_their_forced_first_token(tmp_path: Path, kind: str, source, target):
    model, names = translator(tmp_path / "a", kind), words(kind)
    run, ids = weft.load(tmp_path / "a"), [names.index(word) for word in TEXT.split()]
    first, mark = (names.index(marks_of(name, MARKS[kind])[0]) for name in (source, target))
    expected = generated(model, [first, *ids, END], forced_bos_token_id=mark)
    assert expected[:2] == [END, mark]
    line = expected[2 : expected.index(END, 2)] if END in expected[2:] else expected[2:]
    how = {"source_language": source, "target_language": target, "beam": 1, "max_tokens": 15}
    (found,) = run.predict(TEXT, **how)
    assert found["text"] == " ".join(names[id] for id in line if id > 3 and names[id] not in MARKS[kind])
    others = {run.predict(TEXT, **{**how, "target_language": other})[0]["score"] for other in MARKS[kind]}
    assert found["text"] and len(others) == len(MARKS[kind]), "the language matters"


def test_a_decoder_may_start_with_the_language_and_a_source_end_with_it(tmp_path: Path):
    """The first mBART: the text, its end, its language; decoders start with the language of the target."""
    names = words("mbart")
    model = translator(tmp_path / "a", "mbart", tokenizer_class="MBartTokenizer", src_lang="en_XX")
    config = json.loads((tmp_path / "a/generation_config.json").read_text())
    mark = names.index("ro_RO")
    (tmp_path / "a/generation_config.json").write_text(json.dumps({**config, "decoder_start_token_id": mark}))
    run, ids = weft.load(tmp_path / "a"), [names.index(word) for word in TEXT.split()]
    source = [*ids, END, names.index("en_XX")]
    expected = generated(model, source, decoder_start_token_id=mark)
    line = expected[1 : expected.index(END, 1)] if END in expected[1:] else expected[1:]
    (found,) = run.predict(TEXT, beam=1, max_tokens=16)
    assert found["text"] == " ".join(names[id] for id in line if id > 3 and names[id] not in MARKS["mbart"])
    assert run.look(TEXT, target="w5 w6").source_ids == source


def test_a_language_that_is_unknown_or_not_named_is_refused_with_the_known_ones(tmp_path: Path):
    translator(tmp_path / "a", "nllb", src_lang="eng_Latn")
    run = weft.load(tmp_path / "a")
    with pytest.raises(ConfigError, match="does not know the language 'klingon'") as error:
        run.predict(TEXT, target_language="klingon")
    assert "fra_Latn" in str(error.value) and error.value.where == "--set target_language"
    with pytest.raises(ConfigError, match="'chinese' may be zho_Hans, zho_Hant"):
        run.predict(TEXT, target_language="chinese")
    with pytest.raises(WeftError, match="the target may be in any of 4 languages, and none is named") as error:
        run.predict(TEXT)
    assert "--set target_language" in str(error.value)


def test_a_translator_between_two_languages_refuses_others(tmp_path: Path):
    transformers, tokenizers = library(), pytest.importorskip("tokenizers")
    architecture, sizes = CASES["mbart"]
    builder = getattr(transformers, architecture)
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "</s>": 1}, unk_token="a"))
    made.save(str(saved(builder(builder.config_class(**sizes)), tmp_path / "a") / "tokenizer.json"))
    with pytest.raises(ConfigError, match="no marks of languages"):
        weft.load(tmp_path / "a").predict("a", target_language="fr")


def test_usual_languages_are_those_of_the_folder(tmp_path: Path):
    names = words("m2m_100")
    translator(tmp_path / "a", "m2m_100", src_lang="fr", generation={"forced_bos_token_id": names.index("__ro__")})
    run = weft.load(tmp_path / "a")
    plain = run.predict(TEXT, max_tokens=9)
    assert plain == run.predict(TEXT, max_tokens=9, source_language="fr", target_language="ro")
    (tmp_path / "test.tsv").write_text(f"{TEXT}\tw5 w6 w7\n")
    losses = [
        run.evaluate(tmp_path / "test.tsv", **named)["metrics"]["loss"]
        for named in ({}, {"target_language": "ro"}, {"target_language": "en"})
    ]
    assert losses[0] == losses[1] != losses[2]


def test_several_ends_of_a_folder_all_end_a_translation(tmp_path: Path):
    names, mark = words("mbart"), words("mbart").index("ro_RO")
    model = translator(tmp_path / "a", "mbart", src_lang="en_XX", generation={"forced_bos_token_id": mark})
    source = [names.index("en_XX"), *(names.index(word) for word in TEXT.split()), END]
    line = generated(model, source, forced_bos_token_id=mark)[2:]
    other = next(id for i, id in enumerate(line) if i > 1 and id > 3 and id not in line[:i] and id != mark)
    config = json.loads((tmp_path / "a/generation_config.json").read_text())
    (tmp_path / "a/generation_config.json").write_text(json.dumps({**config, "eos_token_id": [END, other]}))
    (found,) = weft.load(tmp_path / "a").predict(TEXT, beam=1, max_tokens=15)
    assert found["text"].split() == [names[id] for id in line[: line.index(other)] if names[id] not in MARKS["mbart"]]
    assert "cut" not in found


def test_an_export_is_written_for_the_languages_that_are_named(tmp_path: Path, monkeypatch):
    translator(tmp_path / "a", "nllb")
    run, names = weft.load(tmp_path / "a"), words("nllb")
    monkeypatch.setattr(exporting, "prove", lambda *_: 0.0)
    with pytest.raises(WeftError, match="--set target_language"):
        run.export(tmp_path / "none")
    run.export(tmp_path / "hf", source_language="fr", target_language="zho_Hant")
    config = json.loads((tmp_path / "hf/generation_config.json").read_text())
    assert config["forced_bos_token_id"] == names.index("zho_Hant")
    assert library().AutoTokenizer.from_pretrained(tmp_path / "hf")(TEXT)["input_ids"][0] == names.index("fra_Latn")
    with pytest.raises(ConfigError, match="does not know the language 'klingon'"):
        run.export(tmp_path / "b", target_language="klingon")


@pytest.mark.slow
def test_a_translator_of_many_languages_learns_the_two_of_its_data_and_is_exported(tmp_path: Path):
    translator(tmp_path / "a", "nllb")
    run, _ = import_run(tmp_path / "a", tmp_path / "run")
    rows = "".join(f"w{i} w{i + 1} w{i + 2}\tw{i + 2} w{i}\n" for i in range(4, 30))
    (tmp_path / "pairs.tsv").write_text("en\tfr\n" + rows)
    tuned = weft.train(tmp_path / "pairs.tsv", out=tmp_path / "tuned", steps=2, quiet=True, from_=tmp_path / "run")
    names = words("nllb")
    marks = {end: tuned._loaded.codecs[end].marks for end in ("source", "target")}
    assert marks["source"].before == (names.index("eng_Latn"),) and marks["source"].after == (END,)
    assert marks["target"].before == (END, names.index("fra_Latn"))
    plain = tuned.predict(TEXT, max_tokens=9)
    assert plain == tuned.predict(TEXT, max_tokens=9, source_language="en", target_language="fr")
    assert tuned.export(tmp_path / "hf")["difference"] < 1e-4
    again = weft.load(tmp_path / "hf")
    assert again.predict(TEXT, max_tokens=9)[0]["text"] == plain[0]["text"]
    tokenizer = library().AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert tokenizer(TEXT)["input_ids"][0] == names.index("eng_Latn")
