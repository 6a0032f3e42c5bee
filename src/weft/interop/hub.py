"""The Hugging Face Hub: fetches a model's folder for `weft import owner/name`, and is never touched otherwise."""

import re
from pathlib import Path

from weft.errors import ConfigError

POOLING = "*_Pooling/config.json"
PATTERNS = ["*.json", "*.safetensors", "merges.txt"]  # never code, never pickles
SHORT_NAMES = {
    "minilm": "sentence-transformers/all-MiniLM-L6-v2",
    "bert": "google-bert/bert-base-uncased",
    "distilbert": "distilbert/distilbert-base-uncased",
    "gpt2": "openai-community/gpt2",
    "resnet50": "microsoft/resnet-50",
    "vit": "google/vit-base-patch16-224",
    "dino": "facebook/dino-vits16",
    "dinov2": "facebook/dinov2-small",
    "clip": "openai/clip-vit-base-patch32",
}  # words for `weft import` alone, and their names on the Hub (docs/pretrained.md)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


def is_name(source: str) -> bool:
    """Whether a text is like owner/name."""
    return _NAME.fullmatch(source) is not None and ".." not in source and "--" not in source


def full_name(source: str) -> str:
    """The name on the Hub that a short name stands for; others as they are."""
    return SHORT_NAMES.get(source.lower(), source)


def fetch(name: str) -> Path:
    """The folder of a model on the Hub, fetched if it is not there yet: config, tokenizer and weights only."""
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        fix = "pip install huggingface_hub, or name a folder"
        raise ConfigError(
            "no such folder, and huggingface_hub is not installed to fetch it", where=name, fix=fix
        ) from None
    try:
        folder = Path(snapshot_download(name, allow_patterns=PATTERNS, ignore_patterns="*/*"))
        if (folder / "modules.json").exists():  # how sentence-transformers makes one vector of a text
            snapshot_download(name, revision=folder.name, allow_patterns=POOLING)
        return folder
    except errors.GatedRepoError:
        problem = "the Hugging Face Hub gives this model only to people whom its makers have let in"
        fix = "ask for it on its page, then log in with `hf auth login`"
    except errors.RepositoryNotFoundError:
        problem = "no such folder, and there is no such model on the Hugging Face Hub, or it is private"
        fix = "check the name; for a private model log in with `hf auth login`"
    except errors.LocalEntryNotFoundError as error:
        problem = f"no such folder, and the Hugging Face Hub cannot be reached: {_reason(error).removeprefix('Got: ')}"
        fix = "check the network, or download the model elsewhere and name its folder"
    except Exception as error:  # its network libraries raise errors of many kinds
        problem = f"no such folder, and it could not be fetched from the Hugging Face Hub: {_reason(error)}"
        fix = "try again: what has come already is kept; or download the model elsewhere and name its folder"
    raise ConfigError(problem, where=name, fix=fix)


def _reason(error: Exception) -> str:
    """The first line of an error, or what kind it is where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
