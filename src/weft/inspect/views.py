"""View: something to look at, as a picture, a page, text or plain values."""

from typing import Any, Literal, Protocol, runtime_checkable


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
