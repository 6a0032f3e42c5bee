"""Model types: every one that the Hugging Face library knows and weft does not, each refused by its name."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from campaigns.tally import Tally
from weft.errors import ConfigError
from weft.interop import read_folder
from weft.interop.families import FAMILIES

USUAL, BARE = "with all keys of its usual config.json", "with its model type alone: it has no usual config.json"


def model_types(place: Path) -> Tally:
    """Try a folder of each type."""
    from transformers import CONFIG_MAPPING

    tally = Tally()
    place.mkdir(parents=True, exist_ok=True)
    save_file({"weight": torch.zeros(2, 2)}, place / "model.safetensors")
    for kind in sorted(set(CONFIG_MAPPING) - set(FAMILIES)):
        config = _usual(CONFIG_MAPPING[kind])
        (place / "config.json").write_text(json.dumps({**config, "model_type": kind, "architectures": ["Model"]}))
        tally.count(USUAL if config else BARE, _fault(place, kind))
    return tally


def _usual(kind: type) -> dict:
    try:
        return json.loads(kind().to_json_string(use_diff=False))
    except Exception:  # of configs that need arguments
        return {}


def _fault(place: Path, kind: str) -> str | None:
    """What is wrong with the answer; None where the type is refused by its name."""
    try:
        read_folder(place)
    except ConfigError as error:
        return None if kind in str(error) else f"{kind}: its name is not in {error}"
    except Exception as error:
        return f"{kind}: {type(error).__name__}: {error}"
    return f"{kind}: was read"
