"""Families: models of the Hugging Face library, of every model type, read, asked and written again.

Values are compared with those of that library, greedy texts with those it writes, and folders with those read before.
What is said to be refused is tried.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from helpers.foreign import TOLERANCE, built, changed, difference, greedy, same_files, saved
from helpers.foreign_models import (
    answers,
    captions,
    decoders,
    encoders,
    encoders_alone,
    gemma_kin,
    label_decoders,
    llama_kin,
    many_languages,
    newer_encoders,
    newer_pictures,
    pictures,
    text_towers,
    translators,
)
from safetensors.torch import load_file

from campaigns.refusals import REFUSALS
from campaigns.tally import Row, Tally
from weft.errors import ConfigError
from weft.interop import Imported, read_folder, write_folder
from weft.interop.families import FAMILIES
from weft.interop.pictures import seen
from weft.modalities.picture_text import PictureText
from weft.modalities.text import Text
from weft.models.seq2seq import Seq2Seq

MODULES = (decoders, llama_kin, gemma_kin, label_decoders, encoders, newer_encoders, translators, many_languages,
           encoders_alone, pictures, newer_pictures, captions, text_towers, answers)  # fmt: skip
FOLDED = ("cls_token", "distillation_token", "position_embeddings", "class_embedding",
          "vision_model.embeddings.position_embedding",
          "vision_model.embeddings.position_embedding.weight")  # fmt: skip
TOWERS = {
    "clip_vision_model": "vision_model.",
    "siglip_vision_model": "vision_model.",
    "clip_text_model": "text_model.",
}  # how weights of a tower alone begin
TEXTS, LENGTH = 5, 18  # of each model that writes
HEADER = ("model type", "used for", "models", "largest difference", "texts equal", "written again alike", "refused")


@dataclass
class FamilyResult:
    """What the models of one model type gave."""

    uses: dict[str, None] = field(default_factory=dict)  # tasks, in the order in which they came
    models: int = 0
    largest: float = 0.0
    texts: int = 0
    equal: int = 0
    alike: int = 0
    refused: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def row(self, name: str) -> Row:
        """A row of the table."""
        largest = f"{self.largest:.0e}" if self.largest else "0"
        texts = f"{self.equal} of {self.texts}" if self.texts else ""
        alike = f"{self.alike} of {self.models}"
        return [f"`{name}`", ", ".join(self.uses), str(self.models), largest, texts, alike, "; ".join(self.refused)]


def cases() -> dict[str, tuple[str, dict[str, Any]]]:
    """Every model that the tests know."""
    return {name: case for module in MODULES for name, case in module.CASES.items()}


def families(place: Path, *, every: int = 1) -> dict[str, FamilyResult]:
    """Try every model, or each `every`-th; what came of it, by model type in weft's order."""
    found: dict[str, FamilyResult] = {}
    for name, (architecture, keys) in list(cases().items())[::every]:
        shutil.rmtree(place, ignore_errors=True)
        model = built(architecture, keys)
        kind = model.config.model_type
        result = found.setdefault(kind, FamilyResult())
        try:
            _try(model, place, result)
            if not result.refused:
                _refuse(place / "theirs", kind, result)
        except Exception as error:
            result.problems.append(f"{name}: {type(error).__name__}: {error}")
    shutil.rmtree(place, ignore_errors=True)
    return {name: found[name] for name in FAMILIES if name in found}


def tally_of(found: Mapping[str, FamilyResult]) -> Tally:
    """The models tried and those that were missed, by model type."""
    tally = Tally()
    for name, result in found.items():
        tally.count(name, times=result.models)
        tally.missed |= {name: result.problems} if result.problems else {}
    for name in set(FAMILIES) - set(found):
        tally.count(name, "no model of this type was tried", times=0)
    return tally


def _try(model: Any, place: Path, result: FamilyResult) -> None:
    result.models += 1
    imported = read_folder(saved(model, place / "theirs"))
    result.uses[imported.task or "without a head"] = None
    with torch.inference_mode():
        apart = difference(*_values(model, imported))
        result.largest = max(result.largest, apart)
        if not apart < TOLERANCE:
            raise AssertionError(f"values differ by {apart}")
        for expected, found in _texts(model, imported):
            result.texts += 1
            result.equal += expected == found
            if expected != found:
                raise AssertionError(f"wrote {found}, expected {expected}")
        _written_again(model, imported, place)
    result.alike += 1


def _values(model: Any, imported: Imported) -> tuple[torch.Tensor, torch.Tensor]:
    """Values of that library and of weft, where tokens are real."""
    given = _inputs(model)
    expected = _computed(model, given)
    if _has_decoder(model) and imported.task is None:
        memory = imported.model.memorise(Text(given["input_ids"], given["attention_mask"].bool()))
        found = imported.model.target.encode(Text(given["decoder_input_ids"]), memory=memory).x
    else:
        found = FAMILIES[imported.family].values(imported.model, given)
    if "attention_mask" in given and not _has_decoder(model) and expected.ndim == 3:
        real = given["attention_mask"].bool()
        expected, found = expected[real], found[real]
    return expected, found


def _encodes_alone(model: Any) -> bool:
    return type(model).__name__.endswith("EncoderModel")


def _has_decoder(model: Any) -> bool:
    return model.config.is_encoder_decoder and not _encodes_alone(model)


def _computed(model: Any, given: dict[str, torch.Tensor]) -> torch.Tensor:
    if model.config.model_type in ("blip", "git"):
        return answers.written_for(model, given)
    result = model(**given)
    if "start_logits" in result:
        return torch.stack([result["start_logits"], result["end_logits"]], -1)
    return next(result[key] for key in ("logits", "logits_per_image", "last_hidden_state") if key in result)


def _inputs(model: Any) -> dict[str, torch.Tensor]:
    """Pictures, or ids, of which those of encoders are padded; what else the model asks for."""
    config, draw = model.config, torch.Generator().manual_seed(2)
    whole = partial(torch.randint, generator=draw)
    if config.model_type in ("clip", "clip_text_model"):
        texts = text_towers.ended_texts(getattr(config, "text_config", config), draw)
        return texts if config.model_type != "clip" else {**texts, **_pictures(config.vision_config, draw)}
    if config.model_type == "siglip":
        return {**text_towers.filled_texts(config.text_config, draw), **_pictures(config.vision_config, draw)}
    if config.model_type == "siglip2":
        pictures = text_towers.patched_pictures(config.vision_config, draw)
        return {**text_towers.filled_texts(config.text_config, draw), **pictures}
    if config.model_type == "vilt":
        return {**answers.asked_texts(config, draw), **_pictures(config, draw)}
    if config.model_type == "git":
        return {"input_ids": whole(1, config.vocab_size - 3, (2, 9)), **_pictures(config.vision_config, draw)}
    if config.model_type == "blip":
        ids = {"input_ids": whole(1, config.text_config.vocab_size - 2, (2, 9))}
        asks = hasattr(model, "text_encoder")
        more = {"decoder_input_ids": whole(1, config.text_config.vocab_size - 2, (2, 7))} if asks else {}
        return {**ids, **more, **_pictures(config.vision_config, draw)}
    if model.main_input_name == "pixel_values":
        return _pictures(config, draw)
    vocab = config.vocab_size
    if _has_decoder(model):
        mask = torch.arange(20) < torch.tensor([[20], [12], [1]])
        target = whole(3, getattr(config, "decoder_vocab_size", None) or vocab, (3, 18))
        return {"input_ids": whole(3, vocab, (3, 20)), "attention_mask": mask.long(), "decoder_input_ids": target}
    if "fill-mask" not in FAMILIES[config.model_type].tasks.values() and not _encodes_alone(model):
        return {"input_ids": whole(1, vocab, (3, 48))}
    mask = torch.arange(20) < torch.tensor([[20], [7], [12]])
    ids = whole(5, vocab, (3, 20)).masked_fill(~mask, config.pad_token_id if config.pad_token_id is not None else 1)
    given = {"input_ids": ids, "attention_mask": mask.long()}
    if getattr(config, "type_vocab_size", 0) > 1:
        given["token_type_ids"] = (torch.arange(20) > 5).long().expand(3, 20)
    return given


def _pictures(config: Any, draw: torch.Generator) -> dict[str, torch.Tensor]:
    eyes = getattr(config, "encoder", config)
    size = getattr(eyes, "image_size", 64)
    sides = (size, size) if isinstance(size, int) else tuple(size)
    found = {"pixel_values": torch.randn(2, getattr(eyes, "num_channels", 3), *sides, generator=draw)}
    if config.model_type == "vit_mae":  # which patches are seen
        found["noise"] = torch.rand(2, sides[0] * sides[1] // config.patch_size**2, generator=draw)
    if config.is_encoder_decoder:
        found["decoder_input_ids"] = torch.randint(1, config.decoder.vocab_size, (2, 12), generator=draw)
    return found


def _texts(model: Any, imported: Imported) -> Iterator[tuple[list[int], list[int]]]:
    """Greedy texts of that library and of weft, as ids."""
    ours: Any = imported.model
    options = {"max_new_tokens": LENGTH, "do_sample": False, "num_beams": 1, "eos_token_id": None, "pad_token_id": 0}
    if imported.task == "language-model":
        for prompt in torch.randint(1, 61, (TEXTS, 5), generator=torch.Generator().manual_seed(3)):
            written = model.generate(prompt[None], attention_mask=torch.ones(1, 5, dtype=torch.long), **options)
            yield written[0, 5:].tolist(), greedy(ours, prompt.tolist(), LENGTH)
    elif imported.family == "blip":
        model.config.text_config.sep_token_id = None  # so that texts do not end
        for given, read in _sources(model, ours):
            written = model.generate(**given, max_new_tokens=LENGTH, do_sample=False, num_beams=1)
            opening = imported.marks.opening()
            yield written[0, 1:].tolist(), greedy(ours.target, opening, LENGTH, memory=ours.memorise(read))
    elif imported.family == "git":
        for number, (given, read) in enumerate(_sources(model, ours)):
            prompt = [imported.marks.start, *range(3, 3 + number)]  # a question of some words
            written = model.generate(**given, input_ids=torch.tensor([prompt]), **options)
            found = greedy(ours.target, prompt, LENGTH, memory=ours.memorise(read))
            yield written[0, len(prompt) :].tolist(), found
    elif imported.task in ("translate", "caption") and isinstance(ours, Seq2Seq):
        model.generation_config.update(eos_token_id=None, forced_eos_token_id=None)
        for given, read in _sources(model, ours):
            opening = imported.marks.opening() if imported.task == "translate" else [3]
            written = model.generate(**given, decoder_start_token_id=opening[0], **options)
            yield written[0, 1:].tolist(), greedy(ours.target, opening, LENGTH, memory=ours.memorise(read))


def _sources(model: Any, ours: Any) -> Iterator[tuple[dict[str, torch.Tensor], Any]]:
    """What a model is to write about, for that library and for weft."""
    draw = torch.Generator().manual_seed(3)
    for _ in range(TEXTS):
        if hasattr(model.config, "vision_config"):
            picture = _pictures(model.config.vision_config, draw)["pixel_values"][:1]
            asked = torch.randint(1, 55, (1, 6), generator=draw)
            given = {"pixel_values": picture, **({"input_ids": asked} if hasattr(model, "text_encoder") else {})}
            shown = seen(ours, picture)
            yield given, PictureText(shown, Text(asked)) if "input_ids" in given else shown
        elif model.main_input_name == "pixel_values":
            picture = _pictures(model.config, draw)["pixel_values"][:1]
            yield {"pixel_values": picture}, seen(ours, picture)
        else:
            ids = torch.randint(3, model.config.vocab_size, (1, 9), generator=draw)
            yield {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, Text(ids)


def _written_again(model: Any, imported: Imported, place: Path) -> None:
    """Written, read and written: the same files, in which that library finds the same values.

    The tensors are those of the first folder, but for those that are folded.
    """
    family = imported.family
    for turn in ("a", "b"):
        write_folder(
            place / turn,
            imported.model,
            marks=imported.marks,
            labels=imported.labels,
            settings=imported.settings,
            preparation=imported.preparation,
            model_type=family,
        )
        imported = read_folder(place / turn)
    if not same_files(place / "a", place / "b"):
        raise AssertionError("the second folder differs from the first")
    theirs, written = (load_file(place / name / "model.safetensors") for name in ("theirs", "a"))
    theirs = {key.replace("decoder_encoder.layer", "decoder_layers"): value for key, value in theirs.items()}
    if family in TOWERS:  # they read these names with and without what they begin with
        theirs = {key if key in written else f"{TOWERS[family]}{key}": value for key, value in theirs.items()}
    folded = {key for key in written if key.endswith(FOLDED)}
    odd = [key for key in theirs.keys() | written.keys() if key not in theirs or key not in written]
    odd += [key for key in written.keys() - folded - set(odd) if not torch.equal(written[key], theirs[key])]
    if odd:
        raise AssertionError(f"tensors are not as they were: {sorted(odd)[:3]}")
    back, report = type(model).from_pretrained(place / "a", output_loading_info=True)
    apart = difference(_computed(model, _inputs(model)), _computed(back.eval(), _inputs(model)))
    if any(report.values()) or not apart < TOLERANCE:
        raise AssertionError(f"that library finds values that differ by {apart}; {report}")


def _refuse(folder: Path, kind: str, result: FamilyResult) -> None:
    """Try what is refused of this type; each change of config.json is taken back."""
    whole = (folder / "config.json").read_text(encoding="utf-8")
    for words, keys in REFUSALS[kind]:
        try:
            read_folder(changed(folder, **keys))
            result.problems.append(f"not refused: {words} ({json.dumps(keys)})")
        except ConfigError:
            result.refused.append(words)
        (folder / "config.json").write_text(whole, encoding="utf-8")
