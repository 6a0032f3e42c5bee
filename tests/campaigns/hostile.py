"""Hostile folders: models and runs that try to run code, to lead elsewhere, or to use up memory and time.

Whatever would be run writes a canary. While a folder is used, the interpreter also reports what is imported, executed,
started, connected to and opened for writing.
"""

import json
import os
import pickle
import shutil
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

import weft
from campaigns.judging import judged, warm
from campaigns.tally import Tally
from weft.interop.their_config import REFUSED

FIXTURES = Path(__file__).parents[1] / "fixtures"
PICKLES = ("pytorch_model.bin", "model.pt", "model.pth", "model.ckpt", "weights.pkl", "optimizer.pt",
           "training_args.bin", "scheduler.pt", "rng_state.pth", "tokenizer.pickle")  # fmt: skip
MODULES = ("modeling_evil.py", "configuration_evil.py", "tokenization_evil.py", "__init__.py", "sitecustomize.py",
           "usercustomize.py", "conftest.py", "setup.py", "torch.py", "json.py", "safetensors.py",
           "tokenizers.py")  # fmt: skip
PATHS = ("../outside/x.safetensors", "/etc/passwd", "a/../../outside/x.safetensors", "..", ".", "",
         "a\\..\\x.safetensors", "C:\\x.safetensors", "https://example.org/x.safetensors", "~/x.safetensors",
         "x\0.safetensors", "model.pkl", "pipe.safetensors", "/dev/zero")  # fmt: skip
NAMES = ("os.system", "builtins.exec", "__import__", "torch.load", "subprocess.Popen", "weft.errors.WeftError", "../x")
SEEN = (
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "socket.connect",
    "ctypes.dlopen",
)
NAMED = {"config.json", "model.safetensors", "tokenizer.json"}
Attack = Callable[[Path], None]


class Canary:
    """An object whose pickle writes a file when it is loaded."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def canary(folder: Path) -> Path:
    return folder.parent / "canary"


def pickled(folder: Path, name: str, *, alone: bool) -> None:
    (folder / name).write_bytes(pickle.dumps(Canary(canary(folder))))
    if alone:
        (folder / "model.safetensors").unlink()


def torch_saved(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    torch.save({"a": Canary(canary(folder))}, folder / name)


def code(folder: Path, name: str) -> None:
    (folder / name).write_text(f"import os\nos.mkdir({str(canary(folder))!r})\n")
    edit(folder, "config.json", auto_map={"AutoModel": f"{name.removesuffix('.py')}.Model"})


def edit(folder: Path, name: str, **keys: Any) -> None:
    path = folder / name
    data = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**data, **keys}))


def index(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    if name.startswith("pipe"):
        os.mkfifo(folder / name)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "part.safetensors", "b": name}})
    )


def link(folder: Path, name: str, target: str) -> None:
    outside = folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    if (folder / name).exists():
        shutil.move(folder / name, outside / name)
    (folder / name).symlink_to(target or outside / name)


def pipe(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)


def header(folder: Path, text: bytes, length: int | None = None, size: int = 0) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text)
    if size:
        os.truncate(path, size)


def words(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "tokenizer.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def text(folder: Path, name: str, content: bytes, size: int = 0) -> None:
    (folder / name).write_bytes(content)
    if size:
        os.truncate(folder / name, size)


def split(regex: str) -> Callable[[dict[str, Any]], None]:
    behaviour = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return lambda data: data.update(pre_tokenizer=behaviour)


def zipped(folder: Path, name: str) -> None:
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../escaped", bytes(50_000_000))


def part(folder: Path, where: str, name: str) -> None:
    data = json.loads((folder / "config.json").read_text())
    home = data.get("model", data)
    home[where] = {"type": name, "_target_": name}
    (folder / "config.json").write_text(json.dumps(data))


def codec_file(folder: Path, name: str) -> None:
    data = json.loads((folder / "config.json").read_text())
    data["codecs"] = {"text": {"type": "TextCodec", "file": name}}
    data["format"] = 2
    (folder / "config.json").write_text(json.dumps(data))


def attacks() -> Iterator[tuple[str, Attack]]:
    """What is done to a folder, by kind."""
    for name in PICKLES:
        yield "pickles", partial(pickled, name=name, alone=False)
    for name in PICKLES[:5]:
        yield "pickles", partial(pickled, name=name, alone=True)
    for name in ("model.safetensors", "config.json", "tokenizer.json", "generation_config.json"):
        yield "pickles", partial(pickled, name=name, alone=False)
        yield "pickles", partial(torch_saved, name=name)
    for name in MODULES:
        yield "code beside the model", partial(code, name=name)
    for key in (*REFUSED, "_target_", "trust_remote_code", "custom_pipelines"):
        yield "keys that ask for code", partial(edit, name="config.json", **{key: {"AutoModel": "evil--repo.Model"}})
        yield "keys that ask for code", partial(edit, name="tokenizer_config.json", **{key: ["evil.Tokenizer", None]})
    for name in NAMES:
        yield "keys that ask for code", partial(part, where="trunk", name=name)
        yield (
            "keys that ask for code",
            partial(edit, name="config.json", task=name, model_type=name, architectures=[name]),
        )
    for name in PATHS:
        yield "paths and links out of the folder", partial(index, name=name)
        yield "paths and links out of the folder", partial(codec_file, name=name)
    for name in (
        "model.safetensors",
        "config.json",
        "tokenizer.json",
        "generation_config.json",
        "metrics.jsonl",
        "checkpoints",
    ):
        for target in ("", "/dev/zero", "/etc/passwd", name):
            yield "paths and links out of the folder", partial(link, name=name, target=target)
        yield "pipes", partial(pipe, name=name)
    yield from bombs()


def bombs() -> Iterator[tuple[str, Attack]]:
    """What would use up memory or time."""
    huge = b'{"a":{"dtype":"F32","shape":[1000000,1000000],"data_offsets":[0,4000000000000]}}'
    yield "bombs", partial(header, text=huge, size=8 + len(huge) + 4 * 10**12)
    for length in (0, 1, 2**31, 2**40, 2**63, 2**64 - 1):
        yield "bombs", partial(header, text=b"{}", length=length)
    yield "bombs", partial(header, text=b'{"a":' * 100_000)
    yield (
        "bombs",
        partial(header, text=b'{"__metadata__":{' + b",".join(b'"%d":"x"' % n for n in range(300_000)) + b"}}"),
    )
    for name in ("config.json", "tokenizer.json", "generation_config.json", "tokenizer_config.json"):
        yield "bombs", partial(text, name=name, content=b"[" * 1_000_000)
        yield "bombs", partial(text, name=name, content=b'{"a": 1}', size=10**12)
        yield "bombs", partial(text, name=name, content=b'{"model_type": ' + b"9" * 100_000 + b"}")
    for regex in ("(a+)+$", "(a|a)*b", "(.*)*x", "(?:(?:a*)*)*$", "^" * 100_000, "a{1000}{1000}{1000}", "(" * 5000):
        yield "bombs", partial(words, change=split(regex))
    yield "bombs", partial(words, change=lambda data: data["model"]["vocab"].update({"x" * 1_000_000: 9999}))
    yield (
        "bombs",
        partial(words, change=lambda data: data["model"]["vocab"].update({f"x{n}": 10**6 + n for n in range(2**20)})),
    )
    yield (
        "bombs",
        partial(words, change=lambda data: data.update(added_tokens=[{"id": n, "content": "a"} for n in range(10**5)])),
    )
    for keys in ({"vocab_size": 2**40}, {"n_layer": 10**9}, {"n_embd": 2**31, "n_head": 1}, {"n_positions": 2**60}):
        yield "bombs", partial(edit, name="config.json", **keys)
    for keys in ({"depth": 10**9}, {"dim": 2**40}):
        yield "bombs", partial(edit, name="config.json", model={"type": "Stream", **keys})
    yield "bombs", partial(zipped, name="model.zip")
    yield "bombs", partial(zipped, name="tokenizer.json")


def whole_folders(home: Path) -> dict[str, tuple[Path, Any]]:
    """A folder of another library and a run, and an input for each."""
    from weft.interop import Marks, write_folder
    from weft.modalities import tokenizer_making
    from weft.models.zoo import Size, gpt

    folder = home / "gpt2"
    if not folder.exists():
        tokens = tokenizer_making.train("bpe", ["Do you like tea? Yes, I like tea. " * 20], 280)
        model = gpt(Size(dim=16, depth=2, heads=2, context=32), vocab=tokens.size).build()
        write_folder(folder, model, tokenizer_json=tokens.to_json(), marks=Marks(bos=tokens.end, eos=(tokens.end,)))
    return {"a model of another library": (folder, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"),
            "a run": (FIXTURES / "finished" / "language-model", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")}  # fmt: skip


def hostile(place: Path, *, every: int = 1) -> Tally:
    """Use every hostile folder, or each `every`-th: no canary, no code, no other file, and an answer or a refusal."""
    place.mkdir(parents=True, exist_ok=True)
    whole = whole_folders(place)
    warm((partial(_use, folder, given) for folder, given in whole.values()), place)
    tally = Tally()
    for number, (kind, attack) in enumerate(attacks()):
        for name, (source, given) in whole.items():
            if number % every:
                continue
            shutil.rmtree(place / "try", ignore_errors=True)
            folder = Path(shutil.copytree(source, place / "try" / "model"))
            try:
                attack(folder)
            except (KeyError, FileNotFoundError):
                continue  # this folder has nothing of the kind
            verdict = judged(partial(_watched, folder, given), NAMED | {f"{folder}/"}, folder)
            if canary(folder).exists():
                verdict = "its code ran"
            problem = None if verdict in ("works", "refused") else f"{number} on {name}: {verdict}"
            tally.count(kind, problem)
    shutil.rmtree(place / "try", ignore_errors=True)
    return tally


def _use(folder: Path, given: Any) -> None:
    weft.load(folder).predict(given, max_tokens=3)


def _watched(folder: Path, given: Any) -> None:
    """Use a folder while the interpreter reports what it does; what a model's file has no right to is an error."""
    seen: list[str] = []

    def hook(event: str, args: tuple[Any, ...]) -> None:
        inside = str(folder)
        if (
            event in SEEN
            or (event == "import" and str(args[1] or "").startswith(inside))
            or event == "open"
            and isinstance(args[0], str)
            and args[1] is not None
            and set("wa+x") & set(str(args[1]))
            or event == "exec"
            and getattr(args[0], "co_filename", "").startswith(inside)
        ):
            seen.append(f"{event} {args!r:.100}")

    sys.addaudithook(hook)
    try:
        _use(folder, given)
    finally:
        if seen:
            raise AssertionError(f"seen: {seen[:3]}")
