"""What views share: the abstract `View`, a model's answer, the choice of layer and head, pages. Knows no model."""

import base64
import html
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from weft.errors import ConfigError, WeftError
from weft.files.writing import write_made


class NoAttention(WeftError):
    """A model has no attention to look at."""


@dataclass(frozen=True)
class LookedAnswer:
    """What a model answers to what is looked at, the likeliest first, each with its probability where it has one.

    `called` says what kind of answer it is: answer, next token, translation.
    """

    said: tuple[tuple[str, float | None], ...]
    called: str = "answer"

    def __str__(self) -> str:
        return f"{self.called}: {', '.join(_said(text, chance) for text, chance in self.said)}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        said = [{"text": text, "probability": None if p is None else round(p, 6)} for text, p in self.said]
        return {"called": self.called, "said": said}


def _said(text: str, chance: float | None) -> str:
    return text if chance is None else f"{text} ({probability(chance)})"


def probability(chance: float) -> str:
    """A probability in words: 93 %, 0.4 %, below 0.1 %."""
    if chance < 0.001:
        return "below 0.1 %"
    return f"{100 * chance:.1f} %" if chance < 0.0995 or chance > 0.995 else f"{100 * chance:.0f} %"


def check_ending(path: Path) -> None:
    """Refuse a file that no look can be written to."""
    if path.suffix.lower() not in (".png", ".svg", ".html", ".gif"):
        problem = f"a picture cannot be written as {path.suffix or 'a file without an ending'}"
        raise WeftError(problem, where=str(path), fix="use .png, .svg, .html or .gif")


class View(ABC):
    """Something to look at. It shows itself in a notebook, and is written to a file by `save`."""

    answer: LookedAnswer | None = None  # what the model answers, where it answers anything
    guard: Callable[[Path], None] | None = None  # refuses a file that must not be written over, such as the input

    @property
    @abstractmethod
    def about(self) -> str:
        """What is shown, in a line."""

    @abstractmethod
    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """As a picture."""

    @abstractmethod
    def page(self) -> bytes:
        """As an HTML page that needs nothing else."""

    @abstractmethod
    def text(self) -> str:
        """In words and numbers, for a terminal."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """As plain values."""

    def film(self) -> bytes:
        """As a GIF, where there is something to see one after another."""
        raise WeftError("this look has no frames", where=".gif", fix="use .png, .svg or .html")

    def note(self) -> str | None:
        """What a user should know of the picture."""
        return None

    def save(self, path: str | Path) -> Path:
        """Write a .png, .svg, .html or .gif, by the ending of the name."""
        path = Path(path)
        check_ending(path)
        if self.guard is not None:
            self.guard(path)
        made = {".html": self.page, ".gif": self.film, ".png": self.picture, ".svg": lambda: self.picture("svg")}
        write_made(path, made[path.suffix.lower()]())
        return path

    def _repr_html_(self) -> str:
        """The picture, for a notebook, with the answer and the note below it."""
        data = base64.b64encode(self.picture("png")).decode()
        said = [str(self.answer)] if self.answer is not None else []
        below = "".join(f"<p>{html.escape(line)}</p>" for line in (*said, *filter(None, [self.note()])))
        return f'<img alt="{html.escape(self.about)}" style="max-width:100%" src="data:image/png;base64,{data}">{below}'

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


ALL = AttentionChoice()  # the average over all layers and heads


def page(title: str, body: str, answer: LookedAnswer | None = None) -> bytes:
    """An HTML page that needs nothing else; a model's answer stands below the title."""
    style = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b2733}"
    style += "h1{font-size:1.3rem}svg{max-width:100%;height:auto}pre{overflow-x:auto}"
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{style}</style>'
    said = "" if answer is None else f"<p>{html.escape(str(answer))}</p>"
    body = f"<h1>{html.escape(title)}</h1>{said}{body}"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'.encode()


def svg_figure(svg: bytes) -> str:
    """An SVG picture as part of a page, without the lines that stand before it in a file."""
    text = svg.decode("utf-8")
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def picture_page(title: str, png: bytes, *, below: str = "", answer: LookedAnswer | None = None) -> bytes:
    """A page around a PNG picture, with some HTML below it."""
    data = base64.b64encode(png).decode()
    image = f'<img alt="{html.escape(title)}" style="max-width:100%" src="data:image/png;base64,{data}">'
    return page(title, image + below, answer)
