"""Encoder–decoders of the Hugging Face library: the same numbers, the same texts, both ways."""

from pathlib import Path

import pytest
import torch
from helpers.foreign import NO_TOKENIZER, TOLERANCE, built, difference, greedy, library, perturbed, same_files, saved
from helpers.foreign_models import many_languages, mostly_slow, translators
from helpers.foreign_models.translators import END, PAD, VOCAB
from safetensors.torch import load_file, save_file

import weft
from weft.generate.decode import Decoding, decode
from weft.interop import Marks, read_folder, write_folder
from weft.modalities.text import Text
from weft.models.zoo import Size
from weft.models.zoo.translation import transformer

CASES = {**translators.CASES, **many_languages.CASES}


def theirs(name: str):
    """One of the cases, built by their library."""
    return built(*CASES[name])


def ids(*shape: int, seed: int = 2) -> torch.Tensor:
    return torch.randint(3, VOCAB, shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_their_model_gives_the_same_values_here(tmp_path: Path, name: str):
    model, source, target = theirs(name), ids(3, 30), ids(3, 25, seed=3)
    mask = torch.arange(30) < torch.tensor([[30], [12], [1]])
    imported = read_folder(saved(model, tmp_path / "a"))
    with torch.inference_mode():
        result = model(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target)
        if imported.task is None:
            memory = imported.model.memorise(Text(source, mask))
            expected, found = result.last_hidden_state, imported.model.target.encode(Text(target), memory=memory).x
        else:
            expected, found = result.logits, imported.model(Text(source, mask), Text(target))
    assert difference(expected, found) < TOLERANCE
    forced = [said for said in imported.warnings if "forced_eos_token_id" in said]  # Marian's usual one, no end here
    assert len(forced) == (imported.task is not None and model.config.model_type == "marian")
    assert [said for said in imported.warnings if said not in forced] == [NO_TOKENIZER] * (imported.task is not None)
    assert imported.task == (None if "no head" in name else "translate")


@pytest.mark.parametrize("name", mostly_slow(name for name in CASES if "no head" not in name))
def test_their_model_writes_the_same_text_here(tmp_path: Path, name: str):
    model, source = theirs(name), ids(1, 9)
    model.generation_config.update(eos_token_id=None, forced_eos_token_id=None, pad_token_id=PAD)
    imported = read_folder(saved(model, tmp_path / "a"))
    written = model.generate(
        source, attention_mask=torch.ones_like(source), max_new_tokens=20, do_sample=False, num_beams=1
    )
    opening = imported.marks.opening()
    assert opening == [model.config.decoder_start_token_id]
    with torch.inference_mode():
        memory = imported.model.memorise(Text(source))
    assert greedy(imported.model.target, opening, 20, memory=memory) == written[0, 1:].tolist()


def test_a_text_begins_with_the_forced_token_and_ends_where_theirs_does(tmp_path: Path):
    model, source = theirs("bart"), ids(4, 9)
    source[:, -1] = END
    model.generation_config.update(forced_bos_token_id=7, forced_eos_token_id=None, no_repeat_ngram_size=None)
    imported = read_folder(saved(model, tmp_path / "a"))
    written = model.generate(
        source, attention_mask=torch.ones_like(source), max_new_tokens=21, do_sample=False, num_beams=1
    )
    opening = imported.marks.opening()
    assert opening == [PAD, 7]
    sources = [row[:-1].numpy() for row in source]  # the end of each is added
    found = decode(imported.model, sources, end=END, limits=[20] * 4, how=Decoding(beam=1), opening=opening)
    for row, (best, *_) in zip(written.tolist(), found, strict=True):
        line = row[2 : row.index(END, 2)] if END in row[2:] else row[2:]
        assert list(best.ids) == line


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_what_was_read_and_written_is_the_same_folder_from_then_on(tmp_path: Path, name: str):
    folder = saved(theirs(name), tmp_path / "theirs")
    for turn in ("a", "b"):
        imported = read_folder(folder)
        folder = tmp_path / turn
        write_folder(folder, imported.model, marks=imported.marks)
    assert same_files(tmp_path / "a", tmp_path / "b")
    original, written = load_file(tmp_path / "theirs/model.safetensors"), load_file(folder / "model.safetensors")
    assert all(torch.equal(written[key], original[key]) for key in written) and written.keys() == original.keys()


@pytest.mark.parametrize("name", mostly_slow(CASES))
def test_what_was_written_gives_the_same_values_there(tmp_path: Path, name: str):
    model, source, target = theirs(name), ids(2, 30), ids(2, 25, seed=3)
    imported = read_folder(saved(model, tmp_path / "a"))
    write_folder(tmp_path / "b", imported.model, marks=imported.marks)
    back, report = type(model).from_pretrained(tmp_path / "b", output_loading_info=True)
    assert not any(report.values())
    with torch.inference_mode():
        values = [m(input_ids=source, decoder_input_ids=target)[0] for m in (model, back.eval())]
    assert difference(*values) < TOLERANCE


def test_our_transformer_is_a_marian_there(tmp_path: Path):
    transformers, source, target = library(), ids(2, 30), ids(2, 25, seed=3)
    ours = perturbed(transformer(Size(dim=32, depth=2, heads=4, context=40), vocab=VOCAB))
    assert write_folder(tmp_path / "a", ours, marks=Marks(eos=(END,), start=END, pad=PAD)) == "marian"
    back, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "a", output_loading_info=True)
    assert not any(report.values())
    with torch.inference_mode():
        values = back.eval()(input_ids=source, decoder_input_ids=target).logits
        assert difference(values, ours(Text(source), Text(target))) < TOLERANCE
    again = read_folder(tmp_path / "a")
    assert not again.config.target.head.offsets and again.marks.start == END


@pytest.mark.parametrize("name", ["t5, unscaled", "mt5"])
def test_t5_with_a_head_of_its_own_is_read(tmp_path: Path, name: str):
    model, source, target = theirs(name), ids(2, 30), ids(2, 25, seed=3)
    folder = saved(model, tmp_path / "a")
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = torch.randn(VOCAB, 32)
    save_file(tensors, folder / "model.safetensors")
    text = (folder / "config.json").read_text()
    (folder / "config.json").write_text(text.replace('"tie_word_embeddings": true', '"tie_word_embeddings": false'))
    model.lm_head.weight = torch.nn.Parameter(tensors["lm_head.weight"])
    found = read_folder(folder)
    with torch.inference_mode():
        expected = model(input_ids=source, decoder_input_ids=target).logits
        assert difference(expected, found.model(Text(source), Text(target))) < 10 * TOLERANCE
    assert not found.config.target.head.tied
    write_folder(tmp_path / "b", found.model)
    back = type(model).from_pretrained(tmp_path / "b").eval()
    with torch.inference_mode():
        assert difference(expected, back(input_ids=source, decoder_input_ids=target).logits) < 10 * TOLERANCE


@pytest.mark.parametrize("kept", ["lm_head.weight", "model.encoder.embed_tokens.weight"])
def test_a_shared_table_may_be_kept_under_any_of_its_names(tmp_path: Path, kept: str):
    folder = saved(theirs("bart"), tmp_path / "a")
    whole, tensors = read_folder(folder).model.state_dict(), load_file(folder / "model.safetensors")
    tensors[kept] = tensors.pop("model.shared.weight")
    save_file(tensors, folder / "model.safetensors")
    found = read_folder(folder).model.state_dict()
    assert all(torch.equal(found[name], tensor) for name, tensor in whole.items())


@pytest.mark.parametrize(("name", "first"), [("marian", ()), ("bart", (0,)), ("t5", ())])
def test_targets_are_as_likely_here_as_there(tmp_path: Path, name: str, first: tuple[int, ...]):
    """Their loss of targets, with labels as their tokenizer gives them: what comes first and the end count."""
    tokenizers, model = pytest.importorskip("tokenizers"), theirs(name)
    words = ["<s>", "<pad>", "</s>", *(f"w{i}" for i in range(3, VOCAB))]
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<pad>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=" ".join([*(words[i] for i in first), "$A", "</s>"]), special_tokens=[("<s>", 0), ("</s>", END)]
    )
    model.config.eos_token_id = model.generation_config.eos_token_id = END  # as the tokenizer has it
    made.save(str(saved(model, tmp_path / "a") / "tokenizer.json"))
    pairs = [(ids(n, seed=n).tolist(), ids(m, seed=m + 50).tolist()) for n, m in ((3, 7), (9, 2), (5, 5))]
    (tmp_path / "test.tsv").write_text(
        "".join(f"{' '.join(words[i] for i in s)}\t{' '.join(words[i] for i in t)}\n" for s, t in pairs)
    )
    lines = [[[*first, *line, END] for line in side] for side in zip(*pairs, strict=True)]
    source, mask, labels = torch.zeros(3, 12).long(), torch.zeros(3, 12).long(), torch.full((3, 12), -100)
    for row, (s, t) in enumerate(zip(*lines, strict=True)):
        source[row, : len(s)], mask[row, : len(s)], labels[row, : len(t)] = torch.tensor(s), 1, torch.tensor(t)
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        expected = model(input_ids=source, attention_mask=mask, labels=labels, output_attentions=True)
    run = weft.load(tmp_path / "a")
    found = run.evaluate(tmp_path / "test.tsv")
    assert found["metrics"]["loss"] == pytest.approx(float(expected.loss), abs=1e-4)
    assert found["tokens"] == int((labels >= 0).sum())
    texts = [" ".join(words[i] for i in line) for line in pairs[0]]
    read = run.look(texts[0], target=texts[1], pieces=True).pieces.weights  # by layer and head
    for ours, layer in zip(read, expected.cross_attentions, strict=True):
        assert difference(torch.as_tensor(ours), layer[0, :, : len(lines[1][0]), : len(lines[0][0])]) < TOLERANCE
