"""Finding a run that a user names. Never asks the network; loads no torch."""

from pathlib import Path

from weft.errors import ConfigError, StorageError, WeftError, closest
from weft.json_text import read_json
from weft.storage import store
from weft.storage.disk import shown
from weft.training.folder import RunFolder


def is_foreign(path: str | Path) -> bool:
    """Whether a folder has a config.json of the Hugging Face library: one with a model_type."""
    try:
        config = read_json(store.read_file(Path(path) / "config.json"), where=str(path))
    except (ConfigError, StorageError):
        return False
    return isinstance(config, dict) and isinstance(config.get("model_type"), str)


def require_run(name: str | Path) -> Path:
    """The folder of a run. Where there is none, an error with the nearest one, and the way to a model of that name."""
    path = Path(name)
    if path.is_dir():
        return path
    near, hints = _nearest_run(path), []
    if near is not None:
        hints.append(f"did you mean {shown(near)}?")
    from weft.interop.hub import SHORT_NAMES

    if (short := str(name).lower()) in SHORT_NAMES:
        hints.append(
            f"{short} is {SHORT_NAMES[short]} on the Hub: weft import {short} --out runs/{short}, then name that"
        )
    owner, slash, model = str(name).partition("/")
    if slash and owner and model and "/" not in model and not path.exists():
        hints.append(
            f"`weft runs` lists the runs here; for a model of this name on the Hugging Face Hub: weft import {name}"
        )
    raise WeftError(
        "no such run",
        where=str(name),
        fix=" — ".join(hints) or "name a folder that weft train wrote: `weft runs` lists them",
    )


def _nearest_run(path: Path) -> Path | None:
    """The run beside a path that is not there whose name is most like it; None where none is like it."""
    try:
        beside = [one.name for one in path.parent.iterdir() if RunFolder(one).exists]
    except OSError:
        return None
    close = closest(path.name, beside)
    return None if close is None else path.parent / close
