"""What studies find, as the tables of a page: the lens, what parts added, effects, kinds of heads, what tokens count.

Each of them is left out where a model does not allow it: parts that do not add up, a stream without attention.
"""

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from weft.core.changes import Change
from weft.errors import WeftError
from weft.inspect.answers import LookedAnswer
from weft.inspect.attribution import STEPS, direct, gradient_by_input, integrated_gradients
from weft.inspect.change_words import words_of
from weft.inspect.document import (
    AddedParts,
    ChangedAnswer,
    EffectGrid,
    GridPlace,
    KindTable,
    LensRow,
    LensTable,
    LookDocument,
    NodePlace,
    TokenGroup,
)
from weft.inspect.effects import occlusion
from weft.inspect.kinds import kinds
from weft.inspect.lens import lens
from weft.inspect.page_steps import steps_of
from weft.inspect.streams import Read, streams_of
from weft.inspect.study import Study
from weft.inspect.sweeps import MOST_WORK, SWEEPS, sweeps

ALL_TOKENS = 24  # tokens up to which the lens is read at each of them
LISTED = 4  # answers at each depth
MOST_PARTS = 40  # that are listed of what parts added
TOO_MUCH = "Not run, because for this model and input they would take long: {}."
NOT_ADDED = "What each part adds to the answer is not shown: {}."
ANSWER = "the answer"  # the group whose one token is the answer


def studied(
    document: LookDocument, study: Study, changes: Sequence[Change] = (), other: Study | None = None
) -> LookDocument:
    """The document with the tables that a study of the same input gives; `changes` are those that hold already.

    `other` is the study of a second input, whose stream and heads are put in the place of this one's.
    """
    if not study.trunk.layers:
        raise WeftError("this model has no layers behind its embedder", where="study")
    seat, refused = _seat(document, study), list[str]()
    tokens = len(study.tokens.get(study.stream, ()))
    work = sum(one.numel() for one in study.trunk.parameters()) * tokens
    found = replace(document, lens=_lens(study, seat), additions=_allowed(lambda: _added(study, seat), refused))
    heads, (grids, left) = _heads(document, seat), sweeps(study, other)
    found = replace(found, sweeps=tuple(_placed(one, document, study, seat, heads) for one in grids.values()))
    notes = [*(NOT_ADDED.format(one) for one in refused), *([TOO_MUCH.format(", ".join(left))] if left else [])]
    found = replace(found, notes=(*found.notes, *notes))
    if work * (STEPS + tokens) <= MOST_WORK:
        found = _counting(found, study, seat)
    if heads:
        found = replace(found, kinds=_allowed(lambda: _kinds(study, heads)))
    if document.streams:
        kept = study.recorded(keep=("readings",))
        found = replace(found, steps=_allowed(lambda: steps_of(document, kept, seat.place)))
    return replace(found, changed=_allowed(lambda: _changed(study, changes))) if changes else found


def _placed(one: EffectGrid, document: LookDocument, study: Study, seat: "Seat", heads: str) -> EffectGrid:
    """A sweep with the stream whose heads its cells are, or the group whose tokens its columns are."""
    cells = SWEEPS[one.name].cells
    if cells == "heads":
        return replace(one, stream=heads)
    where = seat if cells == "tokens" else _seat(document, study, "source") if cells == "source tokens" else Seat(None)
    return replace(one, group=where.name) if where.order == tuple(range(len(one.columns))) else one


def _changed(study: Study, changes: Sequence[Change]) -> tuple[ChangedAnswer, ...]:
    """The answer without the changes that hold, and with them."""
    plain = Context().run(lambda: study.values().detach())  # a context of its own, in which nothing is changed
    values = study.values().detach()
    before, after = (float(study.measure(one)[0]) for one in (plain, values))
    named, without = tuple(map(words_of, changes)), LookedAnswer(study.best(plain[0]))
    return (ChangedAnswer(named, without, LookedAnswer(study.best(values[0])), study.measured, before, after),)


def _allowed(make: Callable[[], tuple[Any, ...]], refused: list[str] | None = None) -> tuple[Any, ...]:
    """What a study gives, or nothing where the model does not allow it: `refused` then has the reason."""
    try:
        return make()
    except WeftError as error:
        if refused is not None:
            refused.append(error.problem)
        return ()


@dataclass(frozen=True)
class Seat:
    """Where the tokens of the answering stream stand on the page: `order` are their numbers in the group's order.

    -1 stands for a token of the group that the stream has not.
    """

    group: TokenGroup | None
    order: tuple[int, ...] = ()
    place: int = -1  # of the token that answers; -1 where all tokens answer together

    @property
    def name(self) -> str:
        """The name of the group."""
        return "" if self.group is None else self.group.name


def _seat(document: LookDocument, study: Study, stream: str | None = None) -> Seat:
    """The group that has the tokens of a stream: by their names, or as many as there are in the same order."""
    names = study.tokens.get(study.stream if stream is None else stream, ())
    own = {one.queries for one in document.streams if one.queries == one.keys}
    groups = sorted(document.groups, key=lambda one: (one.tokens != names, one.name not in own))
    for group in groups:
        unlike, own_names = len(set(names)) == len(names), set(group.tokens)
        if unlike and isinstance(group.place, NodePlace) and own_names <= set(names):
            order = tuple(names.index(token) for token in group.tokens)
        elif unlike and isinstance(group.place, GridPlace) and own_names > set(names):  # a part is hidden
            order = tuple(names.index(token) if token in names else -1 for token in group.tokens)
        elif len(group.tokens) == len(names) and not isinstance(group.place, NodePlace):
            order = tuple(range(len(names)))
        else:
            continue
        asked = None if study.place is None or stream is not None else study.place - 1
        return Seat(group, order, order.index(asked) if asked in order else -1)
    return Seat(None)


def _heads(document: LookDocument, seat: Seat) -> str:
    """The name of the stream in which the tokens of the answering stream read each other; "" where there is none."""
    own = (one for one in document.streams if one.by == "attention" and one.queries == one.keys == seat.name)
    return next((one.name for one in own), "")


def _lens(study: Study, seat: Seat) -> tuple[LensTable, ...]:
    """The answer at every depth: at each token of a short text, else at the one that answers."""
    places: list[tuple[int | None, int]] = [(study.place, seat.place)]
    if seat.group is not None and study.place is not None and len(seat.order) <= ALL_TOKENS:
        places = [(number + 1, row) for row, number in enumerate(seat.order) if number >= 0]
    found = []
    for place, row in places:
        for table in _allowed(lambda place=place: (lens(study, place=place, most=LISTED),)):  # type: ignore[misc]
            steps = tuple(LensRow(step.name, step.said) for step in table.steps)
            found.append(LensTable(seat.name, row, steps))
    return tuple(found)


def _added(study: Study, seat: Seat) -> tuple[AddedParts, ...]:
    found = direct(study)
    parts = sorted(((part.name, part.value) for part in found.parts), key=lambda one: -abs(one[1]))
    rest = sum(value for _, value in parts[MOST_PARTS:])
    listed = (*parts[:MOST_PARTS], *([("all others", rest)] if len(parts) > MOST_PARTS else []))
    return (AddedParts(seat.name, seat.place, found.measured, listed, found.measure),)


def _kinds(study: Study, stream: str) -> tuple[KindTable, ...]:
    found = kinds(study)
    named = tuple(name for row in found.names for name in row)
    best = np.max(np.stack([*found.shares.values()]), 0).ravel() if found.shares else np.zeros(len(named))
    return (KindTable(stream, named, tuple(round(float(one), 3) for one in best)),)


def _counting(document: LookDocument, study: Study, seat: Seat) -> LookDocument:
    """The document with streams of what each token counts for the answer."""
    reads = list[Read]()
    for one in (*_allowed(lambda: (gradient_by_input(study),)), *_allowed(lambda: (integrated_gradients(study),))):
        whole = "" if one.completeness is None else f", {one.completeness:.0%} of what they should add up to"
        reads += _counted(f"{one.by}: {one.measured}{whole}", one.by, one.values, seat)
    for stream in study.tokens:
        where = seat if stream == study.stream else _seat(document, study, stream)
        for effects in _allowed(lambda stream=stream: (occlusion(study, stream=stream),)):  # type: ignore[misc]
            of = f" of the {stream}" if stream else ""
            called = f"occlusion{of}: fall of the {effects.measured} when a token is hidden"
            reads += _counted(called, "occlusion", -np.nan_to_num(effects.differences.ravel()), where)
    if not reads:
        return document
    groups = (*document.groups, TokenGroup(ANSWER, (study.label(study.answer),)))
    streams, _ = streams_of(reads, groups)
    return replace(document, groups=groups, streams=(*document.streams, *streams))


def _counted(name: str, by: str, values: np.ndarray, seat: Seat) -> list[Read]:
    """A stream from the answer to the tokens, where the page has a place for each."""
    if seat.group is None or len(values) <= max(seat.order):
        return []
    shown = np.where(np.array(seat.order) >= 0, values[list(seat.order)], 0.0)
    return [Read(name, ANSWER, seat.name, shown.astype(np.float32).reshape(1, 1, 1, -1), by)]
