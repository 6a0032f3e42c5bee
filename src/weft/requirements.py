"""What weft stands on: said in one line when it is missing or too old."""

import importlib
import re

from weft.errors import WeftError

NEEDED = {"numpy": (2, 0), "torch": (2, 10), "safetensors": (0, 5), "tokenizers": (0, 21)}  # in the order of need
ALSO = {"einops": (0, 8), "jaxtyping": (0, 3), "matplotlib": (3, 9), "rich": (14, 0), "typer": (0, 16),
        "PIL": (12, 0)}  # fmt: skip

PACKAGES = {"PIL": "pillow"}  # that are installed under another name


def check_requirements() -> None:
    """Import the libraries that everything needs and look at their versions."""
    for name, least in NEEDED.items():
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise missing(error, name) from None
        except OSError as error:  # a shared library that cannot be loaded
            raise WeftError(f"{name} cannot be loaded: {error}", fix=_install(name)) from None
        numbers = re.match(r"(\d+)\.(\d+)", str(getattr(module, "__version__", "")))
        found = tuple(map(int, numbers.groups())) if numbers else (0, 0)
        if found < least:
            version = getattr(module, "__version__", "of unknown version")
            wanted = ".".join(map(str, least))
            raise WeftError(f"{name} {version} is too old: weft needs {wanted} or newer", fix=_install(name))


def missing(error: ImportError, name: str = "") -> WeftError:
    """What an import that failed means: the library that is wanted, and how to get it."""
    wanted = name or (error.name or "").split(".")[0]
    return WeftError(f"{wanted or 'a library'} is missing: {error}", fix=_install(wanted))


def is_requirement(error: ImportError) -> bool:
    """Whether what could not be imported is a library that weft needs, and not a part of weft's own."""
    return (error.name or "").split(".")[0] in {**NEEDED, **ALSO}


def _install(name: str) -> str:
    least = {**NEEDED, **ALSO}.get(name)
    return (
        f"pip install '{PACKAGES.get(name, name)}>={'.'.join(map(str, least))}'"
        if least
        else "pip install --upgrade weft"
    )
