"""The commands as people and scripts see them: results on stdout, words on stderr, one JSON object when asked."""

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest
from helpers import processes
from helpers.commands import TINY, WEFT, Done, Weft, lines, text

import weft as package

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a book and a run of it."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "book.txt").write_text(text())
    (folder / "other.txt").write_text("The loom sings.\n" * 9)
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> Done:
    """The command that made the run."""
    return Weft(place, place)("train", "book.txt", *TINY, "--steps", "60", "--set", "lr=1e-2", "--out", "run")


@pytest.fixture
def there(place: Path, trained: Done, tmp_path: Path) -> Weft:
    """The command in that folder."""
    return Weft(place, tmp_path)


# What people read


def test_training_says_what_it_will_do_and_what_came_of_it(trained: Done) -> None:
    assert trained.code == 0, trained.err
    plan = dict(re.findall(r"^  (\w[\w ]*?) {2,}(.+)$", trained.err, re.M))
    assert plan["task"] == "language-model: learn to continue a text"
    assert plan["data"] == "4 kB in 1 document"
    assert plan["held out"] == "the last 10% of the text (402 tokens)"
    assert plan["model"].startswith("swift, 2 layers, 16 wide, 2 heads, context 16, ")
    assert plan["training"].startswith("60 steps on cpu in ") and plan["run"] == "run"
    assert re.match(r"trained in \d+ s, 60 steps; held out: loss [\d.]+, perplexity [\d.]+, bits_per_byte", trained.out)
    assert "\n  | " in trained.out and trained.out.endswith("run folder: run\n")


def test_the_default_folder_counts_up(weft: Weft) -> None:
    for number in (1, 2):
        done = weft("train", "book.txt", *TINY, "--steps", "1", "--json")
        assert done.json["run"] == f"runs/book-{number}"


@pytest.mark.parametrize("words", [[], ["train"], ["predict"], ["evaluate"], ["tasks"], ["doctor"], ["demo"], ["look"]])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_reads_well(weft: Weft, words: list[str], flag: str) -> None:
    done = weft(*words, flag)
    assert done.code == 0 and done.err == ""
    assert done.out.startswith(f"Usage: weft {' '.join(words)}".rstrip())
    assert "\\b" not in done.out and "None" not in done.out and "[[" not in done.out
    if words and words[0] in ("train", "predict", "evaluate"):
        assert re.search(r"Examples:\n +weft \w+ .*\n +weft ", done.out)


def test_without_words_there_is_help(weft: Weft) -> None:
    done = weft()
    assert done.code == 0 and "Commands:" in done.out and "weft demo" in done.out


def test_the_version(weft: Weft) -> None:
    assert weft("--version").out == f"weft {package.__version__}\n"


def test_tasks_lists_every_setting_with_its_default_and_meaning(weft: Weft) -> None:
    assert "language-model" in weft("tasks").out
    done = weft("tasks", "language-model")
    for name in ("lr", "precision", "record_samples", "tokenizer", "temperature", "top_p", "max_tokens"):
        assert re.search(rf"^ +{name} +\S+ +\S.*$", done.out, re.M), name
    assert "model.PATH" in done.out and "None" not in done.out
    described = weft("tasks", "language-model", "--json").json["tasks"][0]
    from weft.domains.registry import CARDS

    card = CARDS["language-model"]
    assert set(card.training.about) == set(described["settings"])
    assert set(card.task.Predict.about) == set(described["predict"])


# What scripts read


def test_train_as_json(weft: Weft) -> None:
    done = weft("train", "book.txt", *TINY, "--steps", "3", "--json")
    report = done.json
    assert {"run", "task", "model", "parameters", "steps", "seconds", "metrics"} <= set(report)
    assert report["task"] == "language-model" and report["model"] == "swift" and report["steps"] == 3
    assert {"loss", "perplexity", "bits_per_byte"} <= set(report["metrics"])
    assert "held out" in done.err and report["parameters"] > 1000


def test_predict_as_json(there: Weft) -> None:
    report = there("predict", "run", "The", "row", "--json", "--set", "max_tokens=5").json
    assert report["run"] == "run" and report["task"] == "language-model"
    assert [one["prompt"] for one in report["predictions"]] == ["The", "row"]
    assert all(set(one) == {"prompt", "text"} and len(one["text"]) <= 5 for one in report["predictions"])


def test_evaluate_as_json(there: Weft) -> None:
    report = there("evaluate", "run", "other.txt", "--json").json
    assert {"run", "task", "data", "examples", "metrics"} <= set(report)
    assert report["data"] == "other.txt" and report["examples"] == 1
    assert {"loss", "perplexity", "bits_per_byte"} <= set(report["metrics"])
    assert there("evaluate", "run", "--json").json["data"].startswith("held out: the last 10%")


SMALL_PHRASEBOOK = """
import weft.domains.pairs.sample.phrasebook as p, weft.domains.pairs.dataset as t, weft.runs.demo as d
book = p.phrasebook("fr")
small = p.Phrasebook(book.train[:300], book.held_out[:10])
t.phrasebook = d.phrasebook = lambda language="fr": small
"""


def test_tasks_doctor_and_demo_as_json(weft: Weft) -> None:
    assert weft("tasks", "--json").json["tasks"][0]["task"] == "language-model"
    doctor = weft("doctor", "--json").json
    assert {"torch", "device", "cores", "precision", "advice"} <= set(doctor)
    demo = weft("demo", "--minutes", "0.01", "--json", before=SMALL_PHRASEBOOK).json
    assert demo["predictions"][1]["source"] == "My house is tiny and cozy." and demo["steps"] >= 1
    assert 0 <= demo["alignment_error_rate"] <= 1 and "exact" in demo["metrics"]
    assert (weft.folder / demo["picture"]).read_bytes().startswith(b"\x89PNG")


def test_pairs_are_translated_measured_and_looked_at(weft: Weft) -> None:
    rows = [(f"the {a} {n} is {b} .", f"le {n} {a} est {b} .") for a in "abcd" for n in "efgh" for b in "klmn"]
    (weft.folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in rows))
    tiny = ["--set", "dim=16", "--set", "depth=1", "--set", "heads=2", "--set", "vocab=300", "--set", "baselines=false"]
    report = weft("train", "pairs.tsv", "--steps", "3", "--out", "run", *tiny, "--json").json
    assert report["task"] == "translate" and {"bleu", "chrf", "exact", "loss"} <= set(report["metrics"])
    found = weft("predict", "run", "the a e is k .", "--set", "best=2", "--set", "beam=3", "--json").json["predictions"]
    assert [set(one) >= {"source", "text", "score"} for one in found] == [True, True]
    assert len(weft("predict", "run", "the a e is k .", "the b f is l .").out.splitlines()) == 2
    (weft.folder / "in.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nthe a e is k .\n")
    assert weft("predict", "run", "--input", "in.srt", "--output", "out.srt").code == 0
    assert "00:00:01,000 --> 00:00:02,000" in (weft.folder / "out.srt").read_text()
    measured = weft("evaluate", "run", "pairs.tsv", "--json").json
    assert "signatures" in measured and measured["examples"] == 64
    printed = weft("evaluate", "run").out
    assert "bleu signature" in printed and "chrf signature" in printed and "nrefs" in printed
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.html", b"<!doctype html>")):
        assert weft("look", "run", "the a e is k .", "-o", name).code == 0
        assert (weft.folder / name).read_bytes().startswith(start)
    assert "softmax" in weft("look", "run", "the a e is k .", "--set", "token=1").out
    assert weft("look", "run", "the a e is k .", "--json").json["look"]["source_words"][-1] == "<end>"
    for words in (["look", "run"], ["look", "run", "a", "b"], ["look", "run", "a", "-o", "a.gif"],
                  ["look", "run", "a", "--set", "layer=9"], ["predict", "run", "a", "--set", "best=9"]):  # fmt: skip
        assert weft(*words).code == 2, words


@pytest.mark.parametrize(
    ("words", "code"),
    [(["train", "nope.txt"], 2), (["predict", "nope", "x"], 2), (["train", "--bogus"], 2), (["evaluate", "."], 2),
     (["train", "book.txt", "--out", "/proc/sys/x", "--steps", "1"], 74)],
)  # fmt: skip
def test_an_error_as_json_is_an_object_too(weft: Weft, words: list[str], code: int) -> None:
    done = weft(*words, "--json")
    assert done.code == code and done.json["error"]["exit_code"] == code
    assert done.json["error"]["problem"] in done.err


def test_words_after_two_dashes_are_not_options(there: Weft) -> None:
    done = there("predict", "run", "--set", "max_tokens=3", "--json", "--", "--debug")
    assert done.json["predictions"][0]["prompt"] == "--debug"


# Predictions for people


def test_one_prediction_streams_with_its_prompt_first(there: Weft) -> None:
    spy = "import sys, time\nfrom weft.cli import output\ncall = output.LiveText.__call__\n" \
        "def slow(stream, row, text):\n    call(stream, row, text)\n    print('|', end='', file=sys.stderr)\n" \
        "output.LiveText.__call__ = slow\n"  # fmt: skip
    done = there("predict", "run", "The", "--set", "max_tokens=60", before=spy)
    assert done.code == 0 and done.out.startswith("The") and done.out.endswith("\n")
    assert done.err.count("|") > 5
    same = there("predict", "run", "The", "--set", "max_tokens=60", "--json").json["predictions"][0]
    assert done.out == same["prompt"] + same["text"] + "\n"


def test_several_predictions_are_told_apart_and_may_go_to_a_file(there: Weft, tmp_path: Path) -> None:
    assert there("predict", "run", "The", "A", "--set", "max_tokens=3").out.count("\n----\n") == 1
    (tmp_path / "prompts.txt").write_text("The sea\nA row\n")
    for name in ("texts.txt", "texts.jsonl"):
        done = there("predict", "run", "--input", tmp_path / "prompts.txt", "--output", tmp_path / name)
        assert done.code == 0 and done.out == "" and f"wrote {tmp_path / name}" in done.err
    assert (tmp_path / "texts.txt").read_text().startswith("The sea")
    made = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert [one["prompt"] for one in made] == ["The sea", "A row"]


def test_what_of_a_prompt_is_not_read_is_told(there: Weft) -> None:
    done = there("predict", "run", "Ωméga " * 10, "--set", "max_tokens=3")
    assert "45 tokens at its start do not fit the model's context, and were not read" in done.err
    assert "20 characters are not in the model's vocabulary" in done.err and done.code == 0


def test_prompts_may_be_piped_in(there: Weft) -> None:
    pipe = "import io, sys\nsys.stdin = io.StringIO('The sea\\n\\nA row\\n')\n"
    done = there("predict", "run", "--json", "--set", "max_tokens=2", before=pipe)
    assert [one["prompt"] for one in done.json["predictions"]] == ["The sea", "A row"]


@pytest.mark.slow
def test_prompts_may_be_piped_into_the_real_command(place: Path, trained: Done) -> None:
    done = processes.run([WEFT, "predict", "run", "--json", "--set", "max_tokens=2"], input="The sea\n\nA row\n",
                         cwd=place, env=ENVIRONMENT, capture_output=True, text=True)  # fmt: skip
    assert [one["prompt"] for one in json.loads(done.stdout)["predictions"]] == ["The sea", "A row"]


# What could steer a terminal


def test_escapes_in_a_prompt_an_error_or_a_name_are_neutralised(there: Weft, weft: Weft) -> None:
    hostile = "\x1b[2J\x9b31m\u202eevil\r"
    for done in (there("predict", "run", hostile, "--set", "max_tokens=3"), weft("train", f"{hostile}.txt"),
                 weft("train", "book.txt", "--model", hostile), weft("predict", hostile, "x")):  # fmt: skip
        assert not re.search("[\x1b\x9b\u202e\r]", done.out + done.err), repr(done)
    report = there("predict", "run", hostile, "--set", "max_tokens=3", "--json")
    assert not re.search("[\x1b\x9b\u202e]", report.out) and report.json["predictions"][0]["prompt"] == hostile


def test_escapes_that_a_model_has_learned_are_neutralised(weft: Weft) -> None:
    (weft.folder / "log.txt").write_text("\x1b[31mred\x1b[0m and \x07 plain\n" * 60)
    done = weft("train", "log.txt", *TINY, "--steps", "40", "--set", "lr=2e-2", "--out", "run")
    assert "\x1b" not in done.out + done.err and "\x07" not in done.out
    out = weft("predict", "run", "red", "--set", "max_tokens=60").out
    assert "\x1b" not in out and "\N{REPLACEMENT CHARACTER}" in out
    assert "\x1b" in weft("predict", "run", "red", "--set", "max_tokens=60", "--json").json["predictions"][0]["text"]


def test_letters_and_spaces_of_all_scripts_pass_unchanged(there: Weft) -> None:
    prompt = "naïve\u00a0«Größe» 日本\u3000語 👩\u200d🚀\tשלום"
    assert there("predict", "run", prompt, "--set", "max_tokens=0").out == prompt + "\n"


# A terminal


def test_in_a_terminal_there_is_a_bar(weft: Weft) -> None:
    terminal = "import os, sys\nos.environ.update(TERM='xterm', COLUMNS='120')\nsys.stderr.isatty = lambda: True\n"
    done = weft("train", "book.txt", *TINY, "--steps", "20", before=terminal)
    assert done.code == 0 and "100%" in done.err and "step 20/20" in done.err and "held out" in done.err


@pytest.mark.slow
def test_in_a_real_terminal_there_is_a_bar_and_the_plan_stays(weft: Weft) -> None:
    master, slave = pty.openpty()
    command = [str(WEFT), "train", "book.txt", *TINY, "--steps", "150", "--set", "evaluate_every=50"]
    environment = {**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "120"}
    process = processes.start(
        command, cwd=weft.folder, stdin=slave, stdout=subprocess.PIPE, stderr=slave, env=environment
    )
    os.close(slave)
    shown = b""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    assert process.stdout is not None and b"run folder: runs/book-1" in process.stdout.read()
    assert process.wait() == 0
    found = shown.decode()
    assert "held out" in found and "100%" in found and "step 150/150" in found


# The budget


def test_a_run_by_minutes_keeps_to_its_time(weft: Weft) -> None:
    began = time.monotonic()
    done = weft("train", "book.txt", *TINY, "--minutes", "0.05", "--json")
    assert 2 < done.json["seconds"] < 5
    assert time.monotonic() - began < 30
    assert json.loads((weft.folder / "runs/book-1/config.json").read_text())["budget"]["minutes"] == 0.05
    assert done.json["steps"] == len(lines(weft.folder / "runs/book-1"))


def test_tensorboard_files_are_written_when_asked_for(weft: Weft) -> None:
    done = weft("train", "book.txt", *TINY, "--steps", "2", "--set", "tensorboard=true", "--out", "run")
    assert done.code == 0, done.err
    assert len(list((weft.folder / "run" / "tensorboard").iterdir())) == 1
