"""`weft completion`: scripts by which shells complete commands, options, tasks, models, settings and run folders.

All that can be typed is written into the script, so that the Tab key starts no Python. Loads no torch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.errors import WeftError, nearest

RUN_WORDS = ("RUN",)  # what stands for the folder of a run in help pages
# Only the settings of training are known without torch; a space behind NAME= would be in the way.
SETTING_GUARD = '[ "$verb" = train ] || return 0; type compopt >/dev/null 2>&1 && compopt -o nospace; '
FISH_RUNS = "(for d in */ */*/; test -f $d/config.json; and string trim -r -c / $d; end)"


@dataclass(frozen=True)
class Word:
    """An option: its names, what it is for, and what stands for its value in help pages; None for a flag."""

    names: tuple[str, ...]
    about: str
    value: str | None


@dataclass(frozen=True)
class CommandWords:
    """A command: its options, the commands below it, and whether its first words are folders of runs."""

    about: str
    options: tuple[Word, ...]
    below: tuple[str, ...]
    takes_runs: bool


def script(shell: str, root: Any) -> str:
    """The script for a shell; `root` is the command line as typer builds it."""
    if shell not in SHELLS:
        fix = nearest(shell, SHELLS)
        raise WeftError(
            f"there is no completion for {shell!r}", where="weft completion", fix=f"{fix}; bash, zsh or fish"
        )
    return SHELLS[shell](_verbs(root), _values())


def _verbs(root: Any) -> dict[str, CommandWords]:
    """All commands by name, in the order of the help page; the one without a name is weft itself."""
    found = {"": _verb(root, "")}
    for name, command in root.commands.items():
        if not command.hidden:
            found[name] = _verb(command, command.get_short_help_str(80).rstrip("."))
    return found


def _verb(command: Any, about: str) -> CommandWords:
    options = [
        Word((*p.opts, *p.secondary_opts), (p.help or "").rstrip("."), None if p.is_flag else str(p.metavar))
        for p in command.params
        if p.param_type_name == "option" and not getattr(p, "hidden", False)
    ]
    options.append(Word(("--help", "-h"), "Show the help page", None))
    first = next((p.metavar for p in command.params if p.param_type_name == "argument"), None)
    return CommandWords(about, tuple(options), tuple(getattr(command, "commands", ())), first in RUN_WORDS)


def _values() -> dict[str, Sequence[str]]:
    """What may follow an option, where that is known."""
    from weft.domains.registry import all_cards

    found = all_cards()
    cards = found.values()
    return {
        "--task": list(found),
        "--model": sorted({name for card in cards for name in card.models}),
        "--preset": sorted({name for card in cards for name in card.presets}),
        "--precision": ("auto", "fp32", "bf16", "fp16"),
        "--to": ("hf", "onnx", "word2vec"),
        "--set": sorted({f"{name}=" for card in cards for name in card.training.about}),
    }


def _positional(verb: str, values: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What may follow a command itself, where that is known."""
    return {"tasks": values["--task"], "completion": tuple(SHELLS)}.get(verb, ())


def _bash(verbs: Mapping[str, CommandWords], values: Mapping[str, Sequence[str]]) -> str:
    """The script for bash, from version 3.2 on."""
    every = {
        word for verb in verbs.values() for option in verb.options if option.value in RUN_WORDS for word in option.names
    }
    after = [f'    {"|".join(sorted(every))}) _weft_runs "$cur"; return ;;'] if every else []
    for option, words in values.items():
        guard = SETTING_GUARD if option == "--set" else ""
        after.append(f'    {option}) {guard}COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")); return ;;')
    options = [
        f'    "{name}") words="{" ".join(n for o in verb.options for n in o.names)}" ;;' for name, verb in verbs.items()
    ]
    first = [f'    "") words="{" ".join(name for name in verbs if name)}" ;;']
    for name, verb in verbs.items():
        known = [*verb.below, *_positional(name, values)] if name else []
        if known or (name and verb.takes_runs):
            runs = '_weft_runs "$cur"; ' if verb.takes_runs else ""
            first.append(f'    "{name}") {runs}words="{" ".join(known)}" ;;')
    return BASH.format(after="\n".join(after), options="\n".join(options), first="\n".join(first))


def _zsh(verbs: Mapping[str, CommandWords], values: Mapping[str, Sequence[str]]) -> str:
    """The script for zsh, which can run that of bash."""
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(verbs, values)


def _fish(verbs: Mapping[str, CommandWords], values: Mapping[str, Sequence[str]]) -> str:
    """The script for fish."""
    return "\n".join(_fish_lines(verbs, values)) + "\n"


def _fish_lines(verbs: Mapping[str, CommandWords], values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for name, verb in verbs.items():
        where = f"__fish_seen_subcommand_from {name}" if name else "__fish_use_subcommand"
        if name:
            yield f"complete -c weft -n __fish_use_subcommand -f -a {name} -d {_quoted(verb.about)}"
        words = [*verb.below, *_positional(name, values)] if name else []
        if words:
            yield f"complete -c weft -n '{where}' -f -a {_quoted(' '.join(words))}"
        if verb.takes_runs:
            yield f"complete -c weft -n '{where}' -a {_quoted(FISH_RUNS)}"
        for option in verb.options:
            known = values if name == "train" else {**values, "--set": ()}
            yield f"complete -c weft -n '{where}' {_fish_option(option, known)}"


def _fish_option(option: Word, values: Mapping[str, Sequence[str]]) -> str:
    flags = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    known = next((values[name] for name in option.names if name in values), None)
    if option.value is not None:
        words = FISH_RUNS if option.value in RUN_WORDS else " ".join(known or ())
        flags.append(f"-x -a {_quoted(words)}" if words else "-r")
    return " ".join([*flags, "-d", _quoted(option.about)])


def _quoted(text: str) -> str:
    """A text as one word of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[Mapping[str, CommandWords], Mapping[str, Sequence[str]]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}

BASH = """\
# Folders of runs that begin with what was typed: those with a config.json, here and one folder below.
_weft_runs() {{
  local one
  for one in "$1"*/ "$1"*/*/; do
    if [ -f "${{one}}config.json" ]; then COMPREPLY+=("${{one%/}}"); fi
  done
}}

_weft() {{
  local cur="$2" prev="$3" verb="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
    -*) ;;
    *) verb="${{COMP_WORDS[i]}}"; break ;;
    esac
  done
  case "$prev" in
{after}
  esac
  case "$cur" in
  -*)
    case "$verb" in
{options}
    esac
    ;;
  *)
    case "$verb" in
{first}
    esac
    ;;
  esac
  if [ -n "$words" ]; then COMPREPLY+=($(compgen -W "$words" -- "$cur")); fi
}}

complete -o default -F _weft weft
"""
