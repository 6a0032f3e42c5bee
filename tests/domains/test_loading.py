"""A task makes its codecs and settings known when it is imported, in a process that has imported nothing else."""

import json
import os
import sys
from pathlib import Path

from helpers import processes

import weft
from weft.domains.registry import CARDS

LABELS = {"ClassCodec", "NumberCodec", "SeveralCodec"}
CODECS = {
    "language-model": {"TextCodec"},
    "fill-mask": {"TextCodec"},
    "translate": {"TextCodec"},
    "parse": {"TextCodec", "SymbolCodec", "GapCodec"},
    "classify-text": {"TextCodec", *LABELS},
    "tag-text": {"TextCodec", "TagCodec"},
    "classify-images": {"PictureCodec", *LABELS},
    "reconstruct-images": {"PictureCodec"},
    "distill-images": {"PictureCodec"},
    "caption": {"PictureCodec", "TextCodec"},
    "answer": {"PictureCodec", "TextCodec", "UsualAnswers"},
    "forecast": {"FieldCodec"},
    "fit-field": {"PlaceCodec", "ColourCodec", *LABELS},
    "embed-words": {"WordCodec"},
    "graph": {"GraphCodec", *LABELS},
    "sets": {"GraphCodec", *LABELS},
}
CODE = """if True:
    import json, os, sys
    import torch
    for config in json.loads(sys.argv[1]):
        if not os.fork():
            import weft.config
            from weft.domains.registry import task_of
            task_of(config, "config.json")
            training = task_of(config, "").training.__name__ if config.get("task") else ""
            known = weft.config._parts
            print(json.dumps([config.get("task"), training in known, list(known)]), flush=True)
            os._exit(0)
        os.wait()
"""


def known_after(*configs: dict[str, object]) -> dict[str, tuple[bool, set[str]]]:
    """For the config of each run, imported in a fresh process: whether its settings are known, and all known names."""
    command = [sys.executable, "-c", CODE, json.dumps(configs)]
    environment = {**os.environ, "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    done = processes.run(command, capture_output=True, text=True, check=True, env=environment)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {task: (settings, set(names)) for task, settings, names in found}


def test_every_task_brings_its_own_codecs_and_settings() -> None:
    found = known_after(*({"task": name} for name in CARDS))
    assert list(found) == list(CARDS) == sorted(CODECS, key=list(CARDS).index)
    for name, (settings, parts) in found.items():
        assert settings and CODECS[name] <= parts, name


def test_the_parts_of_a_task_are_made_of_what_it_brings() -> None:
    for name, card in CARDS.items():
        kinds = {kind for parts in card.task.parts for end in parts.ends.values() for kind in end.codecs}
        own = {kind.__name__ for kind in kinds} - {"LabelCodec"}
        assert own <= CODECS[name], name


def test_a_run_without_a_task_that_has_codecs_knows_them_and_one_without_codecs_imports_no_task() -> None:
    ((_, parts),) = known_after({"codecs": {"text": {"type": "TextCodec"}}}).values()
    assert set().union(*CODECS.values()) <= parts
    ((_, parts),) = known_after({"codecs": {}}).values()
    assert "TextCodec" not in parts


def test_a_run_with_a_codec_of_another_task_knows_it() -> None:
    """As one of a model of pictures that was imported with a tokenizer."""
    ((settings, parts),) = known_after({"task": "forecast", "codecs": {"word": {"type": "WordCodec"}}}).values()
    assert settings and {"FieldCodec", "WordCodec"} <= parts
