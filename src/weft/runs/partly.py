"""Answers to several inputs of which some are bad: each bad one costs itself, and the others are answered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from weft.data.images.formats import named_as_picture
from weft.errors import ConfigError, Interrupted, StorageError, WeftError

A = TypeVar("A")
NOT_OF_AN_INPUT = (ConfigError, StorageError, Interrupted)  # errors that every input would meet


@dataclass(frozen=True)
class Partly(Generic[A]):
    """The answers in the order of their inputs, and the inputs that have none, each with its error."""

    answers: list[A]
    failed: list[tuple[str, WeftError]]


def answered_partly(answer: Callable[[list[str]], A], inputs: Sequence[str]) -> Partly[A]:
    """Answers to as many inputs as there are good ones: all at once where none is bad.

    Where some are, halves are tried apart, and halves of those: few bad ones among many cost little. A folder stands for
    the pictures in it. An error that no answer goes with is raised.
    """
    found: Partly[A] = Partly([], [])
    _answer(answer, list(inputs), found)
    if found.failed and not found.answers:
        raise found.failed[0][1]
    return found


def _answer(answer: Callable[[list[str]], A], inputs: list[str], found: Partly[A]) -> None:
    try:
        found.answers.append(answer(inputs))
    except NOT_OF_AN_INPUT:
        raise
    except WeftError as error:
        parts = inputs if len(inputs) > 1 else _pictures_in(inputs[0]) if inputs else []
        if not inputs:
            raise
        if len(parts) < 2:
            found.failed.append((inputs[0], error))
            return
        half = len(parts) // 2
        _answer(answer, parts[:half], found)
        _answer(answer, parts[half:], found)


def _pictures_in(name: str) -> list[str]:
    """The pictures in a folder and below; none where it is no folder."""
    if len(name) > 1024 or not Path(name).is_dir():
        return []
    below = sorted(path for path in Path(name).rglob("*") if named_as_picture(path.name) and path.is_file())
    return [str(path) for path in below if not any(part.startswith(".") for part in path.relative_to(name).parts)]
