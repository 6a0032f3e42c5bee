"""What weft stands on: said in one line when it is missing or too old."""

import importlib
import re

from weft.errors import WeftError

NEEDED = {"torch": (2, 10), "numpy": (2, 0), "safetensors": (0, 5), "tokenizers": (0, 21)}


def check_requirements() -> None:
    """Import the libraries that everything needs and look at their versions."""
    for name, least in NEEDED.items():
        wanted = ".".join(map(str, least))
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise WeftError(f"{name} is missing: {error}", fix=f"pip install '{name}>={wanted}'") from None
        numbers = re.match(r"(\d+)\.(\d+)", str(getattr(module, "__version__", "")))
        found = tuple(map(int, numbers.groups())) if numbers else (0, 0)
        if found < least:
            version = getattr(module, "__version__", "of unknown version")
            raise WeftError(f"{name} {version} is too old: weft needs {wanted}", fix=f"pip install '{name}>={wanted}'")
