"""What people read and type: help pages and lists that fit a terminal, and completion by the Tab key."""

import shutil
from pathlib import Path

import pytest
from helpers import processes
from helpers.commands import Weft
from typer.main import get_command

from weft.cli.app import app
from weft.cli.completion import script
from weft.domains.registry import CARDS
from weft.errors import WeftError

COMMANDS = tuple(get_command(app).commands)  # type: ignore[attr-defined]
COLUMNS = {"COLUMNS": "80"}


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_a_help_page_fits_a_terminal_and_names_no_type_of_python(weft: Weft, command: str):
    page = weft(*command.split(), "--help", env=COLUMNS).out
    assert max(map(len, page.splitlines())) <= 80, page
    assert "<" not in page.replace("runs/<name>-<number>", "") and "{" not in page, page
    assert "..." not in page.replace("]...", "").replace("[ARGS]...", "").replace("RUN...", "").replace(
        "DATA...", ""
    ), "a sentence is cut"


@pytest.mark.parametrize("task", ["", *CARDS])
def test_lists_of_tasks_fit_a_terminal_and_mark_defaults(weft: Weft, task: str):
    page = weft("tasks", *task.split(), env=COLUMNS).out
    assert max(map(len, page.splitlines())) <= 80, page
    assert "default" in page
    assert ("docs/lectures.md" in page and "docs/lab.md" in page) == (not task)


@pytest.mark.parametrize("task", CARDS)
def test_the_first_model_of_a_task_is_its_default(task: str):
    assert next(iter(CARDS[task].models)) == CARDS[task].task.recipe.default


def completed(folder: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    source = script("bash", get_command(app))
    line = " ".join(f"'{word}'" for word in words)
    call = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _weft weft '{words[-1]}' '{words[-2]}'\n"
    said = processes.run(
        ["bash", "--norc", "-c", f'{source}\n{call}printf "%s\\n" "${{COMPREPLY[@]}}"'],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(said.stdout.split())


def test_bash_completes_commands_options_tasks_models_settings_and_runs(tmp_path: Path):
    for run in ("runs/book-1", "runs/book-2", "mine"):
        (tmp_path / run).mkdir(parents=True)
        (tmp_path / run / "config.json").write_text("{}")
    (tmp_path / "runs" / "notes").mkdir()
    assert completed(tmp_path, "weft", "ex") == {"export"}
    assert completed(tmp_path, "weft", "") == set(COMMANDS)
    assert completed(tmp_path, "weft", "train", "--re") == {"--resume"}
    assert completed(tmp_path, "weft", "train", "--task", "class") == {"classify-text", "classify-images"}
    assert completed(tmp_path, "weft", "train", "x", "--model", "lstm") == {"lstm", "lstm-attention"}
    assert completed(tmp_path, "weft", "train", "--set", "weight") == {"weight_decay="}
    assert completed(tmp_path, "weft", "predict", "") == {"runs/book-1", "runs/book-2", "mine"}
    assert completed(tmp_path, "weft", "train", "--from", "runs/b") == {"runs/book-1", "runs/book-2"}
    assert completed(tmp_path, "weft", "tasks", "tr") == {"translate"}
    assert completed(tmp_path, "weft", "completion", "") == {"bash", "zsh", "fish"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_the_same_words(shell: str, tmp_path: Path):
    text = script(shell, get_command(app))
    for word in (*COMMANDS, "classify-images", "lstm-attention", "weight_decay=", "config.json"):
        assert word in text
    if shutil.which(shell):
        (tmp_path / "weft").write_text(text)
        processes.run([shell, "-n", tmp_path / "weft"], check=True)


def test_a_shell_without_completion_is_refused():
    with pytest.raises(WeftError, match="no completion for 'tcsh'"):
        script("tcsh", get_command(app))
