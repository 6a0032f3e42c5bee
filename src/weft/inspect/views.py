"""What all views share: their protocol, the choice of a layer and a head, and the page around them. Knows no model."""

import base64
import html
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from weft.errors import ConfigError


@runtime_checkable
class View(Protocol):
    """Something to look at. It shows itself in a notebook."""

    def picture(self, format: Literal["png", "svg"] = "png") -> bytes:
        """As a picture."""
        ...

    def page(self) -> bytes:
        """As an HTML page that needs nothing else."""
        ...

    def text(self) -> str:
        """In words and numbers, for a terminal."""
        ...

    def note(self) -> str | None:
        """What a user should know of the picture."""
        ...

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        ...


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


def page(title: str, body: str) -> bytes:
    """An HTML page that needs nothing else."""
    style = "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b2733}"
    style += "h1{font-size:1.3rem}svg{max-width:100%;height:auto}pre{overflow-x:auto}"
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{style}</style>'
    body = f"<h1>{html.escape(title)}</h1>{body}"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'.encode()


def svg_figure(svg: bytes) -> str:
    """An SVG picture as part of a page, without the lines that stand before it in a file."""
    text = svg.decode("utf-8")
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def picture_page(title: str, png: bytes, *, below: str = "") -> bytes:
    """A page around a PNG picture, with some HTML below it."""
    data = base64.b64encode(png).decode()
    image = f'<img alt="{html.escape(title)}" style="max-width:100%" src="data:image/png;base64,{data}">'
    return page(title, image + below)
