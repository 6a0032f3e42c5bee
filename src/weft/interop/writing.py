"""Writing a Hugging Face folder, and proving it: another process opens it by their library and computes the same.

    config.json  model.safetensors  tokenizer.json  tokenizer_config.json  generation_config.json
    preprocessor_config.json

The same model gives the same bytes, so that a folder that was read and written again is the same folder.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.interop.families import FAMILIES
from weft.interop.family import counterpart
from weft.interop.marks import Marks
from weft.interop.staging import must_be_new, staged
from weft.interop.tokenizer_files import check_tokenizer
from weft.interop.weight_table import to_theirs
from weft.json_text import read_json, write_json
from weft.modalities.preparation import Preparation
from weft.modalities.tokenizer import Tokenizer
from weft.models.adapted import has_adapters, merged
from weft.models.outline import own_tensors
from weft.models.stream import Model
from weft.storage import store
from weft.storage.tensors import write_tensors

OF_PAIRS = ("input_ids", "token_type_ids", "attention_mask")  # what a model that tells two texts apart is given


def write_folder(
    path: str | Path,
    model: Model,
    *,
    tokenizer_json: str | None = None,
    marks: Marks = Marks(),
    labels: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    generation: Mapping[str, Any] | None = None,
    problem: str | None = None,
    extra: Mapping[str, Any] | None = None,
    model_type: str | None = None,
    preparation: Preparation | None = None,
    chat_template: str | None = None,
) -> str:
    """Write a model for the Hugging Face library. Returns its model type.

    `settings` say how it was trained, as `Imported.settings` does; `generation` are keys of generation_config.json,
    `extra` more JSON files by name, `problem` the kind of labels (problem_type). `model_type` is the one to write where
    several compute this model; `preparation` says how pictures get their size, `chat_template` how the turns of a talk
    are marked. The folder must not exist yet. It appears whole or not at all. Adapters are merged into the weights.
    """
    model = merged(model) if has_adapters(model) else model
    target, config = Path(path), model.config
    must_be_new(target)
    family, written = counterpart(config, FAMILIES.values(), model_type)
    written |= {"problem_type": problem} if problem is not None else {}
    trained = {key: settings[ours] for key, ours in family.settings.items() if settings and ours in settings}
    tensors = to_theirs(family.table(config), own_tensors(model))
    written["dtype"] = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    files = _json_files(family.with_marks({**written, **trained}, marks), marks, labels, generation or {})
    if tokenizer_json is not None:
        files["tokenizer_config.json"] = _tokenizer_config(tokenizer_json, marks, config)
        if chat_template is not None:
            files["tokenizer_config.json"] |= {"chat_template": chat_template}
    files |= {**family.files(config, preparation), **(extra or {})}
    with staged(target) as folder:
        for name, data in files.items():
            store.make_folder((folder / name).parent)
            store.write_file(folder / name, write_json(data).encode())
        if tokenizer_json is not None:
            store.write_file(folder / "tokenizer.json", tokenizer_json.encode())
        write_tensors(folder / "model.safetensors", tensors, {"format": "pt"})
    return family.name


def _json_files(
    config: Mapping[str, Any], marks: Marks, labels: Sequence[str], generation: Mapping[str, Any]
) -> dict[str, Any]:
    named = {"id2label": {str(i): name for i, name in enumerate(labels)}} if labels else {}
    inverse = {"label2id": {name: i for i, name in enumerate(labels)}} if labels else {}
    files: dict[str, Any] = {"config.json": dict(sorted({**marks.write(), **config, **named, **inverse}.items()))}
    if marks != Marks() or generation:
        files["generation_config.json"] = dict(sorted({**marks.write(), **generation}.items()))
    return files


def _tokenizer_config(tokenizer_json: str, marks: Marks, config: Model.Config) -> dict[str, Any]:
    """The names of the special tokens, and how many tokens the model reads."""
    parts = (getattr(config, name, None) for name in ("target", "text"))  # those that know words, beside pictures
    embed = next((part for part in parts if part is not None), config.reader()).embed
    if embed.size is not None:
        check_tokenizer(tokenizer_json, embed.size, where="tokenizer.json")
    tokenizer = Tokenizer.from_json(tokenizer_json)
    ids = {"bos_token": marks.bos, "eos_token": next(iter(marks.eos), None), "pad_token": marks.pad}
    ids["mask_token"] = tokenizer.mask
    before, after = tokenizer.marks if tokenizer.processed else ((), ())
    if before and after:  # texts are read whole
        ids |= {"cls_token": before[0], "sep_token": after[-1]}
    unknown = read_json(tokenizer_json, where="tokenizer.json")["model"].get("unk_token")
    # a mark beyond the vocabulary, as small models keep it from larger ones, stands in no text and has no name
    special = {key: tokenizer.names[id] for key, id in ids.items() if id is not None and id < tokenizer.size}
    special |= {"unk_token": unknown} if isinstance(unknown, str) else {}
    context = getattr(embed, "context", None)
    limit = {"model_max_length": context} if context is not None else {}
    fixed = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    pairs = {"model_input_names": list(OF_PAIRS)} if getattr(embed, "segments", 0) > 1 else {}
    return dict(sorted({**fixed, **special, **limit, **pairs}.items()))
