"""What a page shows, as values that travel as JSON: tokens with their places, who reads whom, the answer, tables.

A view makes a `LookDocument`; `page.joined` makes the page. Knows no model and no task. A document names its scene, and
each group of tokens says where they stand:

    scene    text, tree, picture, graph, globe
    place    on a line, a grid over a picture, a tree over words, a plane of nodes and edges, a globe

What a head reads, a rollout, a gradient and an occlusion are all streams: how much each query reads of each key.
"""

import base64
import dataclasses
import types
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from weft.errors import DataError
from weft.inspect.answers import LookedAnswer
from weft.inspect.packed import PackedWeights

Scene = Literal["text", "tree", "picture", "graph", "globe"]
SCENES = get_args(Scene)
VERSION = 1  # of the format


@dataclass(frozen=True)
class LinePlace:
    """Tokens one after another."""

    kind: ClassVar[str] = "line"


@dataclass(frozen=True)
class GridPlace:
    """Tokens over a picture, row by row, after the `first` tokens that have no place; `picture` is its number.

    `middle` is where the middle of what a token stands for lies in its square, in shares of the side.
    """

    rows: int
    columns: int
    first: int = 0
    picture: int | None = None
    middle: float = 0.5

    kind: ClassVar[str] = "grid"


@dataclass(frozen=True)
class Bracket:
    """A node of a tree over the words `left` to `right`; its children stand at these columns and levels, words at 0."""

    label: str
    left: float
    right: float
    level: int
    below: tuple[tuple[float, int], ...]

    @property
    def middle(self) -> float:
        """The column in the middle of the children."""
        return (self.below[0][0] + self.below[-1][0]) / 2


@dataclass(frozen=True)
class TreePlace:
    """Words under brackets, after the `first` tokens, which are no words of the tree."""

    brackets: tuple[Bracket, ...]
    first: int = 0

    kind: ClassVar[str] = "tree"


@dataclass(frozen=True)
class NodePlace:
    """Nodes at (x, y) from 0 to 1, y downwards, joined by edges."""

    places: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int], ...] = ()

    kind: ClassVar[str] = "plane"


@dataclass(frozen=True)
class GlobePlace:
    """Cells of a map, row by row: their middles by `y` of each row and `x` of each column, in degrees on a sphere.

    `picture` is the number of a picture of the field, `coast` lines of (x, y); `around` says that columns go around.
    """

    y: tuple[float, ...]
    x: tuple[float, ...]
    sphere: bool = True
    around: bool = False
    picture: int | None = None
    first: int = 0
    coast: tuple[tuple[tuple[float, float], ...], ...] = ()

    kind: ClassVar[str] = "globe"


Place = LinePlace | GridPlace | TreePlace | NodePlace | GlobePlace


@dataclass(frozen=True)
class TokenGroup:
    """Tokens of one kind: those of a text, the words of a source, patches, nodes. `said` is an answer for each.

    `boxes` are the parts of the picture that each token is about: top, left, bottom, right in shares.
    """

    name: str
    tokens: tuple[str, ...]
    place: Place = LinePlace()
    said: tuple[str, ...] = ()
    boxes: tuple[tuple[tuple[float, float, float, float], ...], ...] = ()


@dataclass(frozen=True)
class PageStream:
    """How much the tokens of one group read of another. `by` says what the numbers are: attention, rollout, gradient …

    `entropy` (bits) and `reach` (`unit`) have a number for each head, layer after layer, where they are known.
    """

    name: str
    queries: str
    keys: str
    weights: PackedWeights
    by: str = "attention"
    entropy: tuple[float, ...] = ()
    reach: tuple[float, ...] = ()
    unit: str = ""
    rows: tuple[str, ...] = ()  # names of the layers and heads, where they are something else, such as variables
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageImage:
    """A picture by its bytes."""

    media: Literal["image/png", "image/jpeg"]
    content: bytes
    width: int
    height: int
    name: str = ""


@dataclass(frozen=True)
class KindTable:
    """What each head of a stream does, layer after layer: the name of its kind, and how surely it is one (0 to 1)."""

    stream: str
    kinds: tuple[str, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class LensRow:
    """The answer at one depth: after the embedding, after a layer or a branch of one."""

    name: str
    said: tuple[tuple[str, float | None], ...]


@dataclass(frozen=True)
class LensTable:
    """The answers of one token of a group at every depth, from the first to the last."""

    group: str
    token: int
    steps: tuple[LensRow, ...]


@dataclass(frozen=True)
class AddedParts:
    """What each part added to the answer's score for one token; with `rest`, they add up to `total`."""

    group: str
    token: int
    measure: str
    parts: tuple[tuple[str, float], ...]
    total: float


@dataclass(frozen=True)
class EffectGrid:
    """How a measure changes with each of many changes, as a table of rows and columns: heads, layers x tokens.

    `values` are differences from `before`, row by row; a row of heads is a layer. For each of them `said` is the
    likeliest answer with the change, `chances` the probability of `answer`, `words` the change as the command line has
    it, "" where there is nothing to change. `group` has the tokens that the columns are, where they are tokens.
    """

    name: str
    measure: str
    before: float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[float, ...]
    stream: str = ""  # the stream whose heads the cells are, where they are heads
    change: str = "without"
    answer: str = ""
    chance: float | None = None  # of the answer without any change
    said: tuple[str, ...] = ()
    chances: tuple[float, ...] = ()
    words: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True)
class ChangedAnswer:
    """The answer without and with changes that were asked for, and the measure of the answer with both."""

    changes: tuple[str, ...]
    plain: LookedAnswer
    answer: LookedAnswer
    measure: str
    before: float
    after: float


@dataclass(frozen=True)
class TokenSteps:
    """The numbers by which one token reads in every head of a stream, layer after layer: deflated JSON (`page_steps`).

    `token` is counted from 0.
    """

    stream: str
    token: int
    heads: bytes


@dataclass(frozen=True)
class PageTable:
    """Words and numbers under a heading."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class LookDocument:
    """All that a page shows of one input."""

    title: str
    scene: Scene
    about: str
    text: str  # the same in words, for a terminal and for those who see no picture
    run: str = ""
    task: str = ""
    groups: tuple[TokenGroup, ...] = ()
    streams: tuple[PageStream, ...] = ()
    pictures: tuple[PageImage, ...] = ()
    answer: LookedAnswer | None = None
    start: tuple[tuple[str, str], ...] = ()  # what is picked at first, as in the address: layer, head, token
    kinds: tuple[KindTable, ...] = ()
    lens: tuple[LensTable, ...] = ()
    additions: tuple[AddedParts, ...] = ()
    sweeps: tuple[EffectGrid, ...] = ()
    changed: tuple[ChangedAnswer, ...] = ()
    steps: tuple[TokenSteps, ...] = ()
    tables: tuple[PageTable, ...] = ()
    notes: tuple[str, ...] = ()
    version: int = VERSION

    def __post_init__(self) -> None:
        sizes = {group.name: len(group.tokens) for group in self.groups}
        for stream in self.streams:
            wanted = (sizes.get(stream.queries), sizes.get(stream.keys))
            if (stream.weights.queries, stream.weights.keys) != wanted:
                found = f"{stream.weights.queries} x {stream.weights.keys}"
                raise DataError(
                    f"expected weights of {wanted[0]} x {wanted[1]} tokens, found {found}", where=stream.name
                )

    def to_json(self) -> dict[str, Any]:
        """Plain values; bytes are base64."""
        return plain(self)

    @classmethod
    def from_json(cls, given: Any) -> "LookDocument":
        """The same document again; what it does not know is refused."""
        return _typed(given, cls, "document")


def plain(value: Any) -> Any:
    """A value of a document, such as a grid of effects, as JSON has it; bytes are base64."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        kind = getattr(type(value), "kind", None)
        return fields if kind is None else {"kind": kind, **fields}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return [plain(one) for one in value] if isinstance(value, tuple) else value


_PLACES: dict[str, type] = {one.kind: one for one in get_args(Place)}


def _typed(given: Any, wanted: Any, where: str) -> Any:
    """Plain values as the type that a field has."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted == Place:
        kind = given.get("kind") if isinstance(given, dict) else None
        if kind not in _PLACES:
            raise DataError(f"unknown kind of place {kind!r}", where=where)
        return _typed({name: value for name, value in given.items() if name != "kind"}, _PLACES[kind], where)
    if origin in (Union, types.UnionType):
        return None if given is None else _typed(given, next(one for one in inner if one is not type(None)), where)
    if origin is tuple and isinstance(given, list):
        kinds = [inner[0]] * len(given) if inner[1:] == (...,) else list(inner)
        if len(kinds) == len(given):
            return tuple(
                _typed(one, kind, f"{where}.{n}") for n, (one, kind) in enumerate(zip(given, kinds, strict=True))
            )
    if dataclasses.is_dataclass(wanted) and isinstance(given, dict):
        hints = {field.name: get_type_hints(wanted)[field.name] for field in dataclasses.fields(wanted)}
        if unknown := given.keys() - hints.keys():
            raise DataError(f"unknown field {sorted(unknown)[0]!r}", where=where)
        make: Any = wanted
        return make(**{name: _typed(value, hints[name], f"{where}.{name}") for name, value in given.items()})
    if wanted is bytes and isinstance(given, str):
        return base64.b64decode(given, validate=True)
    if origin is Literal and given in inner:
        return given
    if wanted is float and isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    if wanted in (str, int, bool) and type(given) is wanted:
        return given
    raise DataError(f"expected {wanted}, found {given!r:.60}", where=where)
