"""Writing a Hugging Face folder, and proving it: another process opens it by their library and computes the same.

    config.json  model.safetensors  tokenizer.json  tokenizer_config.json  generation_config.json
    preprocessor_config.json

The same model gives the same bytes, so that a folder that was read and written again is the same folder.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.codecs import Preparation
from weft.config import read_json, write_json
from weft.errors import ConfigError
from weft.interop.families import FAMILIES
from weft.interop.family import counterpart
from weft.interop.marks import Marks
from weft.interop.staging import must_be_new, staged
from weft.interop.tables import to_theirs
from weft.interop.tokenizer_files import check_tokenizer
from weft.modalities.tokenizer_json import names_by_id
from weft.models.adapted import has_adapters, merged
from weft.models.outline import own_tensors
from weft.models.stream import Model
from weft.storage import store
from weft.storage.tensors import write_tensors


def write_folder(
    path: str | Path,
    model: Model,
    *,
    tokenizer_json: str | None = None,
    marks: Marks = Marks(),
    labels: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
    preparation: Preparation | None = None,
) -> str:
    """Write a model for the Hugging Face library. Returns its model type.

    `settings` say how it was trained, as `Imported.settings` does; `extra` are more JSON files by name; `preparation`
    says how pictures get their size. The folder must not exist yet. It appears whole or not at all. Adapters are merged
    into the weights.
    """
    model = merged(model) if has_adapters(model) else model
    target, config = Path(path), model.config
    must_be_new(target)
    family, written = counterpart(config, FAMILIES.values())  # type: ignore[arg-type]
    trained = {key: settings[ours] for key, ours in family.settings.items() if settings and ours in settings}
    tensors = to_theirs(family.table(config), own_tensors(model))  # type: ignore[arg-type]
    written["dtype"] = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    files = _json_files({**written, **trained}, tokenizer_json, marks, labels)
    files |= {**family.files(config, preparation), **(extra or {})}  # type: ignore[arg-type]
    with staged(target) as folder:
        for name, data in files.items():
            store.write_file(folder / name, write_json(data).encode())
        if tokenizer_json is not None:
            store.write_file(folder / "tokenizer.json", tokenizer_json.encode())
        write_tensors(folder / "model.safetensors", tensors, {"format": "pt"})
    return family.name


def _json_files(
    config: Mapping[str, Any], tokenizer_json: str | None, marks: Marks, labels: Sequence[str]
) -> dict[str, Any]:
    named = {"id2label": {str(i): name for i, name in enumerate(labels)}} if labels else {}
    inverse = {"label2id": {name: i for i, name in enumerate(labels)}} if labels else {}
    files: dict[str, Any] = {"config.json": dict(sorted({**config, **marks.write(), **named, **inverse}.items()))}
    if marks != Marks():
        files["generation_config.json"] = dict(sorted(marks.write().items()))
    if tokenizer_json is not None:
        text = config.get("decoder", config.get("text_config", config))  # the part that knows words
        vocab, length = text.get("vocab_size"), text.get("max_position_embeddings", text.get("n_positions"))
        if vocab is not None:
            check_tokenizer(tokenizer_json, vocab, where="tokenizer.json")
        files["tokenizer_config.json"] = _tokenizer_config(tokenizer_json, marks, length)
    return files


def _tokenizer_config(tokenizer_json: str, marks: Marks, length: int | None) -> dict[str, Any]:
    data = read_json(tokenizer_json, where="tokenizer.json")
    names = names_by_id(data, "tokenizer.json")
    ids = {"bos_token": marks.bos, "eos_token": next(iter(marks.eos), None), "pad_token": marks.pad}
    for key, id in ids.items():
        if id is not None and id >= len(names):
            raise ConfigError(f"{key} is {id}, the tokenizer has {len(names)} tokens", where="tokenizer.json")
    unknown = data["model"].get("unk_token")
    special = {key: names[id] for key, id in ids.items() if id is not None}
    special |= {"unk_token": unknown} if isinstance(unknown, str) else {}
    limit = {"model_max_length": length} if length is not None else {}
    fixed = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    return dict(sorted({**fixed, **special, **limit}.items()))
