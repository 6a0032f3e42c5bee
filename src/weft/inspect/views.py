"""What views share: the abstract `View` and the choice of layer and head. Knows no model."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from weft.errors import ConfigError, WeftError
from weft.files.writing import write_made
from weft.inspect.answers import LookedAnswer
from weft.inspect.document import LookDocument, PageImage
from weft.inspect.page.joined import framed, page


class NoAttention(WeftError):
    """A model has no attention to look at."""


def check_ending(path: Path) -> None:
    """Refuse a file that no look can be written to."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf", ".html", ".gif"):
        problem = f"a picture cannot be written as {path.suffix or 'a file without an ending'}"
        raise WeftError(problem, where=str(path), fix="use .png, .svg, .pdf, .html or .gif")


class View(ABC):
    """Something to look at. It shows itself in a notebook, and is written to a file by `save`."""

    answer: LookedAnswer | None = None  # what the model answers, where it answers anything
    guard: Callable[[Path], None] | None = None  # refuses a file that must not be written over, such as the input
    origin: tuple[str, str] = ("", "")  # the names of the run and of its task
    followed = True  # whether its page also shows what a study of the input finds
    second: "View | None" = None  # a look that stands beside this one on a page
    complete: Callable[[Callable[[], LookDocument], "View | None"], LookDocument] | None = (
        None  # with what studies find
    )
    study: tuple[Any, Callable[[], Any]] | None = (
        None  # the model, and what makes a study of the input with it as it is
    )

    @property
    @abstractmethod
    def about(self) -> str:
        """What is shown, in a line."""

    @abstractmethod
    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """As a picture."""

    @abstractmethod
    def text(self) -> str:
        """In words and numbers, for a terminal."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """As plain values."""

    def document(self) -> LookDocument:
        """What a page shows of it: by default its picture and its words."""
        picture = still_image(self.picture("png"), self.about)
        notes = tuple(filter(None, [self.note()]))
        return LookDocument(
            self.about, "picture", self.about, self.text(), pictures=(picture,), answer=self.answer, notes=notes
        )

    def documents(self) -> tuple[LookDocument, ...]:
        """The document with the names of its run and task and what a study finds; and that of a look beside it."""
        other = self.second
        return (self._named(other), *(() if other is None else (other._named(self),)))

    def _named(self, second: "View | None") -> LookDocument:
        run, task = self.origin
        found = self.document() if self.complete is None else self.complete(self.document, second)
        return replace(found, run=run, task=task)

    def beside(self, other: "View") -> "View":
        """The same look; on its page another one stands beside it: of another input or run, or of a changed model.

        Of two inputs of one model the page also shows what happens when parts of one take the place of the other's.
        """
        found = copy(self)
        found.second = other
        return found

    def page(self) -> bytes:
        """As an HTML page that needs nothing else."""
        return page(self.documents())

    def film(self) -> bytes:
        """As a GIF, where there is something to see one after another."""
        raise WeftError("this look has no frames", where=".gif", fix="use .png, .svg, .pdf or .html")

    def note(self) -> str | None:
        """What a user should know of the picture."""
        return None

    def save(self, path: str | Path) -> Path:
        """Write a .png, .svg, .pdf, .html or .gif, by the ending of the name."""
        path = Path(path)
        check_ending(path)
        if self.guard is not None:
            self.guard(path)
        kind = path.suffix.lower()
        if self.second is not None and kind != ".html":
            problem = f"two looks beside each other are a page, not a {kind}"
            raise WeftError(problem, where=str(path), fix="use .html, or write each of them by itself")
        made = {".html": self.page, ".gif": self.film, ".png": self.picture}
        made |= {".svg": lambda: self.picture("svg"), ".pdf": lambda: self.picture("pdf")}
        write_made(path, made[kind]())
        return path

    def _repr_html_(self) -> str:
        """The page, for a notebook, in a frame of its own."""
        return framed(self.page())

    def __repr__(self) -> str:
        said = "" if self.answer is None else f"; {self.answer}"
        return f"<{type(self).__name__}: {self.about}{said}>"


@dataclass(frozen=True)
class AttentionChoice:
    """Whose attention is shown: that of one layer, one head, or both, counted from 1; None means all of them, averaged.

    With `every`, each of the chosen heads is shown by itself too.
    """

    layer: int | None = None
    head: int | None = None
    every: bool = False

    def indices(self, layers: int, heads: int) -> tuple[int | None, int | None]:
        """The layer and the head counted from 0, refused where the model has no such layer or head."""
        for name, number, most in (("layer", self.layer, layers), ("head", self.head, heads)):
            if number is not None and not 1 <= number <= most:
                raise ConfigError(f"expected a number from 1 to {most}, found {number}", where=name)
        return None if self.layer is None else self.layer - 1, None if self.head is None else self.head - 1

    @property
    def picked(self) -> tuple[tuple[str, str], ...]:
        """The choice as a page has it in its address."""
        return tuple((name, str(number)) for name, number in (("layer", self.layer), ("head", self.head)) if number)


ALL = AttentionChoice()  # the average over all layers and heads


def still_image(png: bytes, name: str) -> PageImage:
    """A PNG picture with its size, which stands in its first bytes."""
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    return PageImage("image/png", png, width, height, name)
