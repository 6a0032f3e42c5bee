"""Bad input and hostile surroundings: exit code 2, the place named, no traceback, nothing left behind."""

import gzip
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from helpers import processes
from helpers.commands import TINY, WEFT, Done, Weft, lines, text
from helpers.drawings import size
from helpers.seals import unsealed

from weft import native

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
BRIEF = (*TINY, "--steps", "2")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run to be spoiled in copies; without a seal, by which every change would be refused unseen."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "book.txt").write_text(text())
    done = Weft(folder, folder)("train", "book.txt", *BRIEF, "--out", "run")
    assert done.code == 0, done.err
    return unsealed(folder / "run")


# The data


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "0 training samples in data.txt (0 bytes)"),
        (b" \n\t\n", "0 training samples in data.txt (4 bytes, all white space)"),
        (b"x", "1 characters are too few to hold out 10% of them"),
        (b"ab", "2 characters are too few to train on"),
        (b"good\nbad \xff here\n", "data.txt, line 2: byte 0xFF at byte offset 9 is not UTF-8"),
        (
            "Grüße\n".encode("latin-1") * 50,
            "data.txt, line 1: byte 0xFC at byte offset 2 is not UTF-8; it looks like Latin-1",
        ),
        ("a line\n".encode("utf-16-le"), "it looks like UTF-16LE"),
        (gzip.compress(b"some text\n" * 50), "this is gzip, not plain text"),
        (bytes(range(256)) * 20 + bytes(2000), "binary, not text"),
    ],
    ids=[
        "nothing",
        "white space",
        "one character",
        "two characters",
        "not UTF-8",
        "Latin-1",
        "UTF-16",
        "gzip",
        "binary",
    ],
)
def test_text_that_cannot_be_read_names_file_line_and_remedy(weft: Weft, content: bytes, problem: str) -> None:
    (weft.folder / "data.txt").write_bytes(content)
    message = weft.refused_here("train", "data.txt", *BRIEF)
    assert problem in message and "\n  -> " in message


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"text": "unclosed', "data.jsonl, line 3: not valid JSON at column"),
        ('{"words": "x"}', "data.jsonl, line 3: no field \"text\"; its fields: 'words'"),
        ('{"text": 3}', 'data.jsonl, line 3: the field "text" is a number, expected a string'),
        ('["text"]', "data.jsonl, line 3: expected an object, found a list"),
        ('{"text": "a", "text": "b"}', "data.jsonl, line 3: not valid JSON: the key 'text' stands twice"),
    ],
)
def test_a_bad_line_of_json_is_named(weft: Weft, line: str, problem: str) -> None:
    good = json.dumps({"text": "a good line"}) + "\n"
    (weft.folder / "data.jsonl").write_text(good * 2 + line + "\n" + good)
    assert problem in weft.refused_here("train", "data.jsonl", *BRIEF)


@pytest.mark.parametrize("content", ["abcd", "a short text", "x" * 30])
def test_a_text_shorter_than_the_context_trains_in_shorter_windows(weft: Weft, content: str) -> None:
    (weft.folder / "data.txt").write_text(content)
    done = weft("train", "data.txt", "--preset", "tiny", "--steps", "2", "--json")
    assert done.code == 0, done.err
    config = json.loads((weft.folder / done.json["run"] / "config.json").read_text())
    assert config["training"]["context"] <= max(2, len(content))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ("bok.txt", "bok.txt: no such file or folder\n  -> did you mean 'book.txt'?"),
        ("nowhere/book.txt", "no such file or folder"),
        ("*.jsonl", "*.jsonl: 0 files to read, 0 skipped"),
        ("sound.ogg", "a sound file, which weft does not read"),
        ("empty", "not recognised as data for any task"),
        ("/dev/null", "not recognised as data for any task"),
    ],
)
def test_data_that_is_not_there_or_not_text(weft: Weft, data: str, problem: str) -> None:
    (weft.folder / "sound.ogg").write_bytes(b"OggS\x00")
    (weft.folder / "empty").mkdir()
    assert problem in weft.refused_here("train", data, *BRIEF)


def test_what_is_skipped_in_a_folder_is_listed_with_the_reason(weft: Weft) -> None:
    """Binary, hidden and unreadable files, a pipe, a socket, a loop of links, and a run of weft's own."""
    folder = weft.folder / "texts"
    folder.mkdir()
    (folder / "good.txt").write_text(text())
    (folder / "binary.txt").write_bytes(bytes(1000))
    (folder / ".hidden.txt").write_text("x")
    (folder / "broken.txt").symlink_to("nowhere.txt")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.txt"))
        assert weft("train", "texts", *BRIEF, "--out", "texts/run").code == 0
        done = weft("train", "texts", *BRIEF, "--out", "again")
    assert done.code == 0, done.err
    config = json.loads((weft.folder / "again" / "config.json").read_text())
    skipped = {Path(name).name: reason for name, reason in config["data"]["skipped"]}
    assert skipped["binary.txt"] == "binary" and skipped[".hidden.txt"] == "hidden"
    assert skipped["pipe.txt"] == "a named pipe" and skipped["socket.txt"] == "a socket"
    assert skipped["run"] == "a run of weft's, not data" and skipped["loop"] == "a link to a folder already read"
    assert "cannot be read" in skipped["broken.txt"]
    assert "skipped: texts/.hidden.txt (hidden), texts/binary.txt (binary)" in done.err and "more" in done.err


def test_a_pipe_named_by_hand_never_hangs(weft: Weft) -> None:
    os.mkfifo(weft.folder / "pipe.txt")
    assert "expected a file or folder, found a named pipe" in weft.refused_here("train", "pipe.txt", *BRIEF)


def test_a_file_whose_name_is_not_utf8_can_be_trained_on(weft: Weft) -> None:
    shutil.copy(weft.folder / "book.txt", os.fsencode(weft.folder) + b"/b\xff\xfe.txt")
    done = weft("train", weft.folder, *BRIEF, "--out", "run", "--json")
    assert done.code == 0, done.err
    assert weft("evaluate", "run", "--json").code == 0


# The words


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--task", "langage-model"], "there is no task 'langage-model'\n  -> did you mean 'language-model'?"),
        (["--model", "lama"], "there is no model 'lama'\n  -> did you mean 'llama'?"),
        (["--preset", "smal"], "there is no preset 'smal'\n  -> did you mean 'small'?"),
        (["--set", "tokeniser=bpe"], "unknown setting 'tokeniser'\n  -> did you mean 'tokenizer'?"),
        (["--set", "learning_rate=1"], "unknown setting 'learning_rate'\n  -> did you mean 'lr'?"),
        (["--set", "gradient_clipping=1"], "unknown setting 'gradient_clipping'\n  -> did you mean 'clip'?"),
        (["--set", "hidden_size=64"], "unknown setting 'hidden_size'\n  -> did you mean 'dim'?"),
        (["--set", "model.trunk.blok.dropout=0"], "unknown name 'blok'\n  -> did you mean 'block'?"),
        (["--set", "lr"], "expected NAME=VALUE, found 'lr'"),
        (["--set", "lr=1e-3", "--set", "lr=1e-4"], "lr is given twice"),
        (["--set", "seed=1", "--seed", "2"], "seed is given twice"),
        (["--set", "steps=3"], "steps is not a setting\n  -> give it as --steps"),
        (["--set", "quiet=true"], "quiet is not a setting"),
        (["--minutes", "0"], "minutes: expected a number above 0, found 0"),
        (["--minutes", "nan"], "--minutes: expected a number, found 'nan'"),
        (["--steps", "-1"], "steps: expected a whole number above 0, found -1"),
        (["--steps", "1", "--minutes", "1"], "give one of steps, minutes and epochs, not steps and minutes"),
        (["--epochs", "many"], "--epochs: expected a number, found 'many'"),
        (["--precision", "fp64"], "expected one of auto, fp32, bf16, fp16, found 'fp64'"),
        (["--colour"], "there is no option --colour"),
        (["--step", "3"], "there is no option --step\n  -> did you mean '--steps'?"),
        (["--steps"], "requires an argument"),
        (["--resume"], "which run?"),
        (["--from", "nowhere"], "nowhere: no such run"),
        (["--valid", "nowhere.txt"], "nowhere.txt: no such file"),
        (["--out", "book.txt"], "a file stands where the run's folder should be"),
        (["--set", "heads=7", "--set", "dim=16"], "16 / 7 = 2.29"),
        (["--set", "batch=-3"], "must be at least 1, found -3"),
        (["--set", "model.embed.vocab=5"], "the tokenizer has 24 tokens, the model 5"),
        (["--set", "dim=65536", "--set", "depth=10", "--set", "heads=64"], "GB to be trained, and this machine has"),
    ],
)
def test_words_that_cannot_be_meant_are_refused_with_advice(weft: Weft, words: list[str], problem: str) -> None:
    assert problem in weft.refused_here("train", "book.txt", *words)


@pytest.mark.parametrize("value", ["010", "0x10", "1_000", "NaN", "9" * 30, "١٢", " 5", "no"])
def test_odd_whole_numbers_are_refused_everywhere_alike(weft: Weft, value: str) -> None:
    for words in (
        ["--steps", value],
        ["--set", f"batch={value}"],
        ["--seed", value],
        ["--set", f"model.trunk.depth={value}"],
    ):
        assert f"expected a whole number, found {value!r}" in weft.refused_here("train", "book.txt", *words)


@pytest.mark.parametrize(("value", "found"), [("1e-4", 1e-4), ("0.5E-2", 0.005), ("1", 1.0)])
def test_numbers_are_written_as_in_json(weft: Weft, value: str, found: float) -> None:
    assert weft("train", "book.txt", *BRIEF, "--set", f"lr={value}", "--out", "run").code == 0
    assert json.loads((weft.folder / "run" / "config.json").read_text())["training"]["lr"] == found


@pytest.mark.parametrize("value", ["no", "yes", "1", "True", "on", ""])
def test_truth_is_true_or_false(weft: Weft, value: str) -> None:
    message = weft.refused_here("train", "book.txt", "--set", f"record_samples={value}")
    assert f"expected true or false, found {value!r}" in message


def test_a_command_that_does_not_exist(weft: Weft) -> None:
    assert "there is no command 'trian'\n  -> did you mean 'train'?" in weft.refused_here("trian", "book.txt")
    assert "Missing argument 'RUN'" in weft.refused_here("predict")
    assert "no data named" in weft.refused_here("train")


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_folder_that_is_no_run(weft: Weft, command: str) -> None:
    assert "no such run" in weft.refused_here(command, "nowhere")
    assert "no such run" in weft.refused_here(command, "book.txt")
    assert "not a run: there is no config.json" in weft.refused_here(command, ".")
    assert "the name is too long" in weft.refused(command, "x" * 300, code=74)


NO_HUB = """
import sys, types
class Refused(types.ModuleType):
    def __getattr__(self, name):
        if not name.startswith("__"):
            raise SystemExit(f"the Hub's client was asked for {name}")
sys.modules["huggingface_hub"] = Refused("huggingface_hub")
from weft.interop import hub
def fetch(name): raise SystemExit(f"the Hub was asked for {name}")
hub.fetch = fetch
"""
USES = {
    "predict": ["predict", "RUN", "x"],
    "evaluate": ["evaluate", "RUN", "book.txt"],
    "look": ["look", "RUN", "x"],
    "embed": ["embed", "RUN", "x"],
    "export": ["export", "RUN", "--out", "exported"],
    "soup": ["soup", "RUN", "RUN", "--out", "soup"],
    "from": ["train", "book.txt", *BRIEF, "--from", "RUN"],
    "resume": ["train", *BRIEF, "--out", "RUN", "--resume"],
}


@pytest.mark.parametrize("use", USES)
def test_a_run_that_is_not_there_is_never_looked_for_on_the_hub(weft: Weft, run: Path, use: str) -> None:
    (weft.folder / "runs").mkdir()
    shutil.copytree(run, weft.folder / "runs" / "book-1")

    def said(name: str) -> str:
        return weft.refused(*(name if word == "RUN" else word for word in USES[use]), before=NO_HUB)

    first, second = said("runs/bok-1"), said("owner/name")
    assert "the Hub" not in first + second
    if use != "resume":
        assert "runs/bok-1: no such run\n  -> did you mean runs/book-1?" in first
        assert "owner/name: no such run" in second and "weft import owner/name" in second


def test_only_import_asks_the_hub(weft: Weft) -> None:
    done = weft("import", "owner/name", before=NO_HUB)
    assert "the Hub was asked for owner/name" in done.err


# Runs that were tampered with


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("config.json", '"vocab": 24', '"vocab": 25', "config.json and the weights are of different runs"),
        ("config.json", '"dim": 16', '"dimm": 16', "unknown key 'dimm'\n  -> did you mean 'dim'?"),
        ("config.json", '"format": 2', '"format": 4', "update weft"),
        ("config.json", '"language-model"', '"language-modle"', "there is no task 'language-modle'"),
        ("config.json", "{", "", "not valid JSON"),
        ("tokenizer.json", '"a": ', '"é": ', "not the tokenizer that the run was trained with"),
        ("tokenizer.json", '"a": 6', '"a": 7', "two tokens have the id 7"),
        ("tokenizer.json", '"vocab"', '"vocabulary"', "not a tokenizer.json"),
    ],
)
def test_a_run_that_was_tampered_with(weft: Weft, run: Path, name: str, old: str, new: str, problem: str) -> None:
    shutil.copytree(run, weft.folder / "run")
    path = weft.folder / "run" / name
    content = path.read_text()
    assert old in content, content[:2000]
    path.write_text(content.replace(old, new, 1))
    message = weft.refused_here("predict", "run", "The")
    assert problem in message and "run" in message


def test_damaged_weights_name_the_file(weft: Weft, run: Path) -> None:
    shutil.copytree(run, weft.folder / "run")
    path = weft.folder / "run" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    assert "run/model.safetensors: not a valid safetensors file" in weft.refused_here("predict", "run", "The")
    path.write_bytes(b"\x80\x04pickled")
    assert "weft does not open these" in weft.refused_here("predict", "run", "The")


def test_weights_that_are_not_numbers_are_told(weft: Weft, run: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(run, weft.folder / "run")
    path = weft.folder / "run" / "model.safetensors"
    tensors = {name: tensor * float("nan") for name, tensor in load_file(path).items()}
    save_file(tensors, path)
    message = weft.refused_here("predict", "run", "The")
    assert "weights that are not finite numbers: embed" in message and "--broken" in message


# Trouble while training


def test_a_rate_far_too_high_stops_with_advice(weft: Weft) -> None:
    done = weft(
        "train", "book.txt", *TINY, "--steps", "500", "--set", "lr=1e3", "--set", "checkpoint_every=5", "--out", "run"
    )
    assert done.code == 2 and "training diverged in step" in done.err and "--set lr=0.01" in done.err
    assert "Traceback" not in done.err and done.out == ""
    assert lines(weft.folder / "run")[-1]["samples"]


def test_a_full_disk_is_refused_before_the_first_step(weft: Weft) -> None:
    full = "from weft.storage import disk\ndisk.free_bytes = lambda path: 1000\n"
    message = weft.refused("train", "book.txt", *BRIEF, before=full, code=74)
    assert "no space: needs" in message and "has 1.0 kB" in message


def test_a_fault_of_wefts_own_is_70_and_debug_shows_where(weft: Weft) -> None:
    broken = "from weft.runs import start\nstart.recognise = lambda *asked: 1 / 0\n"
    message = weft.refused("train", "book.txt", before=broken, code=70)
    assert "an error in weft itself: ZeroDivisionError: division by zero\n  -> run again with --debug" in message
    assert "Traceback" in weft("train", "book.txt", "--debug", before=broken).err
    assert "Traceback" in weft("--debug", "train", "book.txt", before=broken).err


@pytest.mark.parametrize("error", ["MemoryError()", "RuntimeError('DefaultCPUAllocator: can\\'t allocate memory')"])
def test_too_little_memory_is_said_in_words(weft: Weft, error: str) -> None:
    broken = f"from weft.training import passes\ndef full(*args): raise {error}\npasses.accumulate = full\n"
    message = weft.refused("train", "book.txt", *BRIEF, before=broken)
    assert "this machine has not enough memory" in message and "--set micro" in message


# Surroundings


def command(*words: str, cwd: Path, start: tuple[str, ...] = (str(WEFT),), **environment: str | None) -> Done:
    """The real command, in an environment of its own; None takes a variable away."""
    merged = {**ENVIRONMENT, **{k: v for k, v in environment.items() if v is not None}}
    for name in [name for name, value in environment.items() if value is None]:
        merged.pop(name, None)
    done = processes.run([*start, *words], cwd=cwd, env=merged, capture_output=True, text=True, timeout=120,
                          errors="replace", stdin=subprocess.DEVNULL)  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("start", [(str(WEFT),), (sys.executable, "-m", "weft")], ids=["weft", "python -m weft"])
def test_nothing_in_the_current_folder_stands_in_for_a_library(weft: Weft, start: tuple[str, ...]) -> None:
    names = ["json", "torch", "numpy", "typing", "difflib", "typer", "rich", "tokenizers", "dataclasses", "safetensors"]
    for name in names:
        (weft.folder / f"{name}.py").write_text(f"open('hijacked-{name}', 'w')\nraise SystemExit('hijacked')\n")
    done = command("tasks", "--json", cwd=weft.folder, start=start, PYTHONPATH=str(weft.folder))
    assert done.code == 0 and done.json["tasks"], done.err
    assert not list(weft.folder.glob("hijacked-*"))


def test_what_pythonpath_names_is_looked_at_last(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    (tmp_path / "mine.py").write_text("")
    code = "import sys; from weft.cli.safe_path import use_safe_path; use_safe_path(); " \
        "import json, mine; print(json.__file__, mine.__file__)"  # fmt: skip
    done = command("-c", code, cwd=tmp_path.parent, start=(sys.executable,), PYTHONPATH=str(tmp_path))
    assert done.code == 0 and "lib/python" in done.out and str(tmp_path / "mine.py") in done.out


@pytest.mark.parametrize(
    ("stub", "problem"),
    [
        ("m = types.ModuleType('torch'); m.__version__ = '2.1.0'; sys.modules['torch'] = m",
         "torch 2.1.0 is too old: weft needs 2.10 or newer\n  -> pip install 'torch>=2.10'"),
        ("sys.modules['torch'] = None", "torch is missing: "),
        ("sys.modules['tokenizers'] = None", "tokenizers is missing: "),
        ("sys.modules['typer'] = None", "typer is missing: "),
        ("m = types.ModuleType('numpy'); sys.modules['numpy'] = m", "numpy of unknown version is too old"),
    ],
)  # fmt: skip
def test_a_library_missing_or_too_old_is_one_line(tmp_path: Path, stub: str, problem: str) -> None:
    code = f"import sys, types; {stub}; sys.argv = ['weft', 'doctor']; from weft.cli import main; main()"
    done = command("-c", code, cwd=tmp_path, start=(sys.executable,))
    assert done.code == 2 and done.err.startswith(f"weft: {problem}") and "Traceback" not in done.err, done.err


AUDIT = """
import sys
opened = []
def hook(event, args):
    if event.startswith("socket.") and event != "socket.gethostname":
        opened.append((event, args))
        raise SystemExit(f"a socket was opened: {event} {args}")
    if event == "pickle.find_class":
        raise SystemExit(f"a pickle was opened: {args}")
sys.addaudithook(hook)
"""


def test_no_connection_is_ever_tried_and_no_pickle_ever_read(weft: Weft) -> None:
    proxies = {"http_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "HF_TOKEN": "canary-5f0c"}
    for words in (["train", "book.txt", *BRIEF, "--out", "run", "--set", "tensorboard=true"], ["predict", "run", "The"],
                  ["evaluate", "run"], ["tasks"], ["doctor"]):  # fmt: skip
        done = weft(*words, before=AUDIT, env=proxies)
        assert done.code == 0, done.err
    for path in weft.folder.rglob("*"):
        assert path.is_dir() or b"canary-5f0c" not in path.read_bytes(), f"a secret was written into {path}"


def test_the_real_command_needs_no_network_and_no_home(weft: Weft) -> None:
    """No HOME and no user, C locale, another time zone, an open umask, no network: nothing is open to everyone."""
    nobody = "def unknown(user): raise KeyError(user)\nimport pwd; pwd.getpwuid = unknown\n"
    code = AUDIT + nobody + "import os; os.umask(0); from weft.cli import main; main()"
    temporary = weft.folder / "temporary"
    if (built := native.library()) is not None:  # to build it once more would take long
        kept = temporary / f"weft-{os.getuid()}" / "weft" / "native"
        kept.mkdir(parents=True)
        kept.parent.parent.chmod(0o700)
        shutil.copy(built.path, kept / built.path.name)
    code = f"import matplotlib; matplotlib.get_cachedir = lambda: {matplotlib.get_cachedir()!r}\n" + code  # nor fonts
    done = command("train", "book.txt", *BRIEF, "--set", "tensorboard=true", "--out", "run", "--json", cwd=weft.folder,
                   start=(sys.executable, "-c", code), HOME=None, LC_ALL="C", LANG="C", TZ="Pacific/Kiritimati",
                   MPLCONFIGDIR=None, XDG_CONFIG_HOME=None, XDG_CACHE_HOME=None, WEFT_CACHE=None,
                   TMPDIR=str(temporary))  # fmt: skip
    assert done.code == 0 and done.json["steps"] == 2, done.err
    assert built is None or [path.name for path in kept.iterdir()] == [built.path.name]
    assert not (weft.folder / "~").exists() and size((weft.folder / "run" / "loss.png").read_bytes())[0] > 100
    for path in (weft.folder / "run", *(weft.folder / "run").rglob("*")):
        assert not path.stat().st_mode & stat.S_IWOTH, f"{path} may be changed by everyone"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_readable_text_and_whole_json(weft: Weft, run: Path, encoding: str) -> None:
    swap = f"import sys\nfor s in (sys.stdout, sys.stderr): s.reconfigure(encoding={encoding!r})\n"
    done = weft("predict", run, "naïve λ", "--set", "max_tokens=2", "--json", before=swap)
    assert done.code == 0 and done.json["predictions"][0]["prompt"] == "naïve λ"
    done = weft("predict", run, "naïve λ", "--set", "max_tokens=2", before=swap)
    assert done.code == 0 and "\\u03bb" in done.out


@pytest.mark.parametrize("numbers", [(1,), (2,), (0, 1, 2)])
def test_streams_that_were_closed_from_the_start(weft: Weft, numbers: tuple[int, ...]) -> None:
    names = {0: "stdin", 1: "stdout", 2: "stderr"}
    closed = "import os, sys\n" + "".join(f"os.close({n}); sys.{names[n]} = None\n" for n in numbers)
    done = weft("train", "book.txt", *BRIEF, "--out", "run", "--json", before=closed)
    assert done.code == 0, done.err
    assert 1 in numbers or done.json["steps"] == 2


def test_a_current_folder_that_was_deleted_is_no_fault(weft: Weft) -> None:
    gone = "import os\nos.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
    done = weft("train", weft.folder / "book.txt", *BRIEF, before=gone)
    assert done.code == 74 and "Traceback" not in done.err, done.err


def test_optimised_python_checks_as_much(weft: Weft) -> None:
    done = command("train", "book.txt", "--set", "lr=0", cwd=weft.folder, start=(sys.executable, "-O", "-m", "weft"))
    assert done.code == 2 and "must be above 0" in done.err
