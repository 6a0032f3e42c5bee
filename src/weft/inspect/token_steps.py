"""One token step by step, for every model with attention: which layer, which head, and who reads whom by name."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from weft.core.recording import Reading
from weft.errors import ConfigError
from weft.inspect.document import LookDocument
from weft.inspect.steps import Steps, steps
from weft.inspect.steps_table import table
from weft.inspect.views import AttentionChoice, LookedAnswer, View

PAGE_COLUMNS = 110  # of a table on a page
USUAL_COLUMNS = 100  # of a table, where nobody knows how wide the terminal is
LISTED = 20  # tokens named where one was not found
TOKEN = "the attention of one token step by step, with numbers, in one head: a token, or its position from 1"


@dataclass(frozen=True)
class Readers:
    """Layers of attention, first to last, with the names of the tokens that read and of those that are read.

    `called` names the attention, as in "decoder, over the source". The first `unnamed` queries stand for no name.
    """

    layers: Sequence[Sequence[Reading]]
    queries: Sequence[str]
    keys: Sequence[str]
    called: str = ""
    unnamed: int = 0

    def steps(self, token: str | int, choice: AttentionChoice) -> Steps:
        """The numbers by which a token reads: of the last layer and the first head, unless others are chosen."""
        if not self.layers:
            raise ConfigError(f"this model has no attention{f' ({self.called})' if self.called else ''}", where="token")
        heads = self.layers[0][0].q.shape[1]
        layer, head = choice.indices(len(self.layers), heads)
        layer = len(self.layers) - 1 if layer is None else layer
        place = find_token(self.queries, token)
        reading, query = _of_query(self.layers[layer], place + self.unnamed)
        name = f"layer {layer + 1} of {len(self.layers)}{f' ({self.called})' if self.called else ''}"
        return steps(
            reading,
            head=head or 0,
            query=query,
            query_label=self.queries[place],
            key_labels=self.keys[: reading.k.shape[2]],
            layer=name,
        )


def _of_query(readings: Sequence[Reading], place: int) -> tuple[Reading, int]:
    """The reading that holds a query, and its place in it: a decoder that steps reads once for each token."""
    for reading in readings:
        if place < reading.q.shape[2]:
            return reading, place
        place -= reading.q.shape[2]
    raise ConfigError("there is no such token", where="token")


def find_token(names: Sequence[str], token: str | int) -> int:
    """The place from 0 of a token: by its place from 1, by its name, or by a name that it begins with."""
    if isinstance(token, int) or token.isdecimal():
        if 1 <= int(token) <= len(names):
            return int(token) - 1
        raise ConfigError(f"expected a place from 1 to {len(names)}, found {token}", where="token")
    wanted, plain = token.strip().casefold(), [name.strip().casefold() for name in names]
    for same in (
        (wanted, f"patch {wanted}", f"<|{wanted}|>", f"[{wanted}]", f"<{wanted}>"),
        tuple(name for name in plain if name and wanted.startswith(name)),
    ):
        found = [place for place, name in enumerate(plain) if name in same]
        if found:
            return found[0]
    listed = ", ".join(name.strip() for name in names[:LISTED]) + (", …" if len(names) > LISTED else "")
    fix = f"they are: {listed}; or give a place from 1"
    raise ConfigError(f"{token!r} is not among the tokens", where="token", fix=fix)


class StepView(View):
    """One token of one head, step by step."""

    followed = False  # its page is the table alone

    def __init__(
        self,
        found: Steps,
        title: str,
        answer: LookedAnswer | None = None,
        facts: Mapping[str, str] = MappingProxyType({}),
    ):
        """`facts` stand beside the steps among the plain values."""
        self.steps, self.title, self.answer, self.facts = found, title, answer, facts

    @property
    def about(self) -> str:
        return f"how {self.steps.query} reads {len(self.steps.keys)} tokens in {self.steps.layer}, step by step"

    def text(self) -> str:
        """The numbers as a table that fits the terminal."""
        return self._table(shutil.get_terminal_size((USUAL_COLUMNS, 24)).columns)

    def picture(self, format: Literal["png", "svg", "pdf"] = "png") -> bytes:
        """There is none."""
        problem = "the numbers of one token are a table, not a picture"
        raise ConfigError(problem, where="token", fix="write a .html, or print them without a file")

    def document(self) -> LookDocument:
        """The table alone."""
        return LookDocument(self.title, "text", self.about, self._table(PAGE_COLUMNS), answer=self.answer)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        answer = {} if self.answer is None else {"answer": self.answer.to_json()}
        return {"title": self.title, **self.facts, **answer, "steps": self.steps.to_json()}

    def _table(self, columns: int) -> str:
        said = [] if self.answer is None else [str(self.answer)]
        return "\n".join([self.title, *said, "", table(self.steps, width=columns)])
