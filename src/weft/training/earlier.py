"""Config files of earlier versions, in today's words. Plain JSON in, plain JSON out; knows only weft's errors.

Format 1 had one untyped record of the data, in which each task kept what it needed: tokenizer, classes, sizes of
pictures. Format 2 has codecs for the two ends of a task's samples, and a record that says the same things of every
task's data. Format 3 has a seal.
"""

from collections.abc import Mapping
from typing import Any

from weft.errors import ConfigError

Json = dict[str, Any]
PAIR_TASKS = ("translate", "parse")
KEPT = ("sources", "sample", "valid", "rule", "described", "notes", "skipped")  # of the record as it was
AMOUNTS = ("pairs", "pictures", "train", "held_out", "captions", "documents", "bytes", "characters", "overlap", "ratio",
           "left_out_long", "train_tokens", "held_out_tokens", "longest")  # fmt: skip


def upgraded(config: Json, where: str) -> Json:
    """A config.json of any format as the newest has it."""
    training = config.get("training")
    if config.get("task") == "parse" and isinstance(training, dict) and training.get("type") == "PairTraining":
        config = {**config, "training": {**training, "type": "ParseTraining"}}
    if isinstance(training := config.get("training"), dict) and "as_one" not in training:
        config = {**config, "training": {**training, "as_one": False}}
    if config.get("format") != 1:
        return {**config, "format": 3}
    try:
        return _from_first(config)
    except (KeyError, IndexError, TypeError, AttributeError) as error:  # nothing in it had a type that could be checked
        problem = f"not what weft wrote in format 1: {type(error).__name__}: {error!s:.100}"
        raise ConfigError(problem, where=where, fix="put the run's own config.json back") from None


def _from_first(config: Json) -> Json:
    """A config.json of format 1 as the newest has it."""
    data, task = config.get("data") or {}, config.get("task")
    new = {**config, "format": 3}
    if not data and task is None:  # composed by hand
        return new
    new["data"] = {
        "type": "DataRecord",
        **{name: data[name] for name in KEPT if data.get(name) is not None},
        "columns": list(data.get("columns") or ()),
        "amounts": {name: data[name] for name in AMOUNTS if data.get(name) is not None},
    }
    new["codecs"] = _codecs(task, data, config)
    objective = config.get("objective")
    if isinstance(objective, dict) and objective.get("type") == "Number":
        new["objective"] = {"type": "Number"}
    elif isinstance(objective, dict) and objective.get("type") == "TextClass":
        new["objective"] = {**objective, "type": "Classify"}
    training = config.get("training")
    if task == "classify-images" and isinstance(training, dict):
        new["training"] = {**training, "type": "PictureLabelTraining", "labels": "classes"}
    if task in ("language-model", "fill-mask") and isinstance(training, dict):
        new["training"] = {**training, "held_out": training.get("held_out")}  # earlier runs hold out a whole tenth
    return new


def _codecs(task: str | None, data: Mapping[str, Any], config: Mapping[str, Any]) -> Json:
    """The two ends of the samples, by name."""
    imported = config.get("imported")
    found: Json = {}
    if "tokenizer" in data:
        text: Json = {"type": "TextCodec", "digest": data.get("tokenizer_digest")}
        found = _text_ends(task, text, data, imported)
    if "size" in data:
        shape = data.get("shape")
        found["picture"] = {
            "type": "PictureCodec",
            "size": data["size"],
            "shape": None if shape is None else list(shape),
        }
    if task == "tag-text":
        found["tags"] = {"type": "TagCodec", "names": data["tags"], "scheme": data.get("scheme", "plain")}
    elif data.get("classes"):
        found["label"] = {"type": "ClassCodec", "names": data["classes"]}
    elif data.get("kind") == "numbers":
        scale = config.get("objective") or {}
        found["label"] = {"type": "NumberCodec", "mean": scale.get("mean", 0.0), "spread": scale.get("spread", 1.0)}
    return found


def _text_ends(task: str | None, text: Json, data: Mapping[str, Any], imported: Mapping[str, Any] | None) -> Json:
    """The ends that are texts, by name."""
    marks: Json = {"opening": data.get("opening"), "end": data.get("end")}
    if imported is not None:
        ends = imported["marks"].get("eos_token_id")
        end = ends[0] if isinstance(ends, list) else ends
        marks = {"opening": imported["opening"] or None, "end": end}
    if task == "language-model":
        opening = None if imported is None else imported["opening"]
        return {"text": {**text, "role": "line", "opening": opening}}
    if task == "caption":
        return {"caption": {**text, **marks, "role": "caption"}}
    if task in PAIR_TASKS:
        return {
            "source": {**text, "end": marks["end"], "role": "source"},
            "target": {**text, **marks, "role": "target"},
        }
    return {"text": text}
