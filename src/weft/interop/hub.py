"""The Hugging Face Hub: fetches a model's folder when one is named, and is never touched otherwise."""

import re
from pathlib import Path

from weft.errors import ConfigError

PATTERNS = ["*.json", "*.safetensors", "merges.txt", "*.spm", "*.model"]  # never code, never pickles
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


def is_name(source: str) -> bool:
    """Whether a text is like owner/name."""
    return _NAME.fullmatch(source) is not None and ".." not in source and "--" not in source


def fetch(name: str) -> Path:
    """The folder of a model on the Hub, fetched if it is not there yet: config, tokenizer and weights only."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        fix = "pip install huggingface_hub, or name a folder"
        raise ConfigError(
            "no such folder, and huggingface_hub is not installed to fetch it", where=name, fix=fix
        ) from None
    try:
        return Path(snapshot_download(name, allow_patterns=PATTERNS))
    except Exception as error:  # its network libraries raise errors of many kinds
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ConfigError(
            f"no such folder, and it could not be fetched from the Hugging Face Hub: {reason:.200}",
            where=name,
            fix="check the name and the network, or download the model elsewhere and name its folder",
        ) from None
