"""TreeRule: a search under it writes only well-formed trees. Knows symbols and the ids that spell them.

(S (NP XX XX )NP (VP XX )VP XX )S        one root, brackets that balance, none empty, one XX for each word
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.domains.trees.reading.tree import DEEPEST, TAG
from weft.errors import DataError

Ids = tuple[int, ...]


class Alphabet:
    """The symbols of trees with these labels, each spelt by one id or several.

    Tokenizers that put white space before a word spell the first symbol of a text otherwise than later ones.
    """

    def __init__(
        self, labels: Sequence[str], later: Mapping[str, Ids], end: int, first: Mapping[str, Ids] | None = None
    ):
        """`later` and `first` give the ids of each symbol: XX, and (NP and )NP for a label NP."""
        self.labels, self.end = tuple(labels), end
        self.later, self.first = later, later if first is None else first
        names = (TAG, *(f"({label}" for label in labels), *(f"){label}" for label in labels))
        for spelling in (self.later, self.first):
            if len({spelling[name] for name in names}) < len(names) or not all(spelling[name] for name in names):
                raise DataError("two symbols of the trees are spelt alike", fix="train with another tokenizer")
        plain = self.first is self.later and all(len(later[name]) == 1 for name in names)
        self.symbol_of = {later[name][0]: name for name in names} if plain else None  # where each is one id
        self.opens = tuple(f"({label}" for label in labels)
        self._ids: dict[tuple[bool, str | None, bool], np.ndarray] = {}
        closing = (len(later[f"){label}"]) for label in labels)
        opening = (max(len(later[one]), len(self.first[one])) for one in self.opens)
        self.longest_pair = max(map(sum, zip(opening, closing, strict=True)))

    def single_ids(self, word: bool, closed: str | None, opened: bool) -> np.ndarray:
        """The ids of a word, of the end of a bracket and of all beginnings of brackets, where each symbol is one id."""
        key = (word, closed, opened)
        if key not in self._ids:
            names = (*([TAG] if word else []), *([f"){closed}"] if closed else []), *(self.opens if opened else ()))
            self._ids[key] = np.array([self.later[name][0] for name in names], np.int64)
        return self._ids[key]

    def fewest(self, words: int) -> int:
        """The fewest ids of a tree over this number of words, whatever its root is."""
        if words == 1:
            return len(self.first[TAG])
        root = max(len(self.first[f"({one}"]) + len(self.later[f"){one}"]) for one in self.labels)
        return root + words * len(self.later[TAG])


class OpenTree(NamedTuple):
    """What was written of a tree: the open labels, whether the last of them has words, and how many words are used.

    `part` are the ids of a symbol that may not be complete, `tokens` the number of all ids.
    """

    open: tuple[str, ...] = ()
    filled: bool = False
    used: int = 0
    begun: bool = False
    part: Ids = ()
    tokens: int = 0

    def with_symbol(self, symbol: str) -> "OpenTree":
        """The state after a whole symbol."""
        if symbol == TAG:
            return OpenTree(self.open, True, self.used + 1, True, (), self.tokens)
        if symbol[0] == "(":
            return OpenTree((*self.open, symbol[1:]), False, self.used, True, (), self.tokens)
        return OpenTree(self.open[:-1], True, self.used, self.begun, (), self.tokens)


class TreeRule:
    """Trees over `words` words, in fewer than `limit` ids."""

    def __init__(self, alphabet: Alphabet, words: int, limit: int):
        self.alphabet, self.words, self.limit = alphabet, words, limit
        # after each beginning of the latest length asked about, and of the one before: rows of a search grow together
        self._states: dict[Ids, OpenTree] = {}
        self._earlier: dict[Ids, OpenTree] = {}
        self._length_asked = 0
        if words < 1 or limit <= (least := alphabet.fewest(words)):
            problem = f"a tree over {words} words has at least {least} tokens, and there is room for {limit - 1}"
            raise DataError(problem, fix="parse shorter sentences, or train with --set context=…")

    def allowed(self, written: Sequence[int]) -> Sequence[int] | np.ndarray:
        """The ids that may follow what was written."""
        state = self._state(tuple(written))
        if self.alphabet.symbol_of is not None:
            return self._single(state)
        found: dict[int, None] = {}
        for symbol in self._symbols(state):
            spelt = self._spelt(state, symbol)
            if len(spelt) > len(state.part) and spelt[: len(state.part)] == state.part:
                found[spelt[len(state.part)]] = None
        if (whole := self._whole(state)) is not None:
            found.update(dict.fromkeys(self._starts(state.with_symbol(whole))))
        elif not state.part and self._complete(state):
            found[self.alphabet.end] = None
        return tuple(found)

    def _single(self, state: OpenTree) -> Sequence[int] | np.ndarray:
        """What may follow, where each symbol is one id: all brackets then need the same room."""
        if self._complete(state):
            return (self.alphabet.end,)
        depth, left = len(state.open), self.words - state.used
        word = left > 0 and (depth > 0 or self.words == 1)
        closed = state.open[-1] if depth and state.filled and (depth > 1 or not left) else None
        opened = left > 0 and depth + 1 < DEEPEST and state.tokens + 2 + left + depth < self.limit
        return self.alphabet.single_ids(word, closed, opened)

    def _starts(self, state: OpenTree) -> Iterator[int]:
        """The first ids of what may follow whole symbols."""
        for symbol in self._symbols(state):
            yield self.alphabet.later[symbol][0]
        if self._complete(state):
            yield self.alphabet.end

    def _state(self, written: Ids) -> OpenTree:
        """The state after what was written: that of one id less goes on, or all is gone through."""
        if len(written) != self._length_asked:
            goes_on = len(written) == self._length_asked + 1
            self._earlier, self._states = self._states if goes_on else {}, {}
            self._length_asked = len(written)
        state = self._states.get(written)
        if state is None:
            before = self._earlier.get(written[:-1]) if written else None
            state, new = (OpenTree(), written) if before is None else (before, written[-1:])
            for token in new:
                state = self._after(state, token)
            self._states[written] = state
        return state

    def _after(self, state: OpenTree, token: int) -> OpenTree:
        """The state after one more id, which was allowed."""
        if self.alphabet.symbol_of is not None:
            return state._replace(tokens=state.tokens + 1).with_symbol(self.alphabet.symbol_of[token])
        part = (*state.part, token)
        if not any(self._spelt(state, symbol)[: len(part)] == part for symbol in self._symbols(state)):
            whole = self._whole(state)
            assert whole is not None, "an id was written that the rule does not allow"
            state, part = state.with_symbol(whole), (token,)
        state = state._replace(part=part, tokens=state.tokens + 1)
        whole = self._whole(state)
        if whole is None:
            return state
        longer = (self._spelt(state, symbol) for symbol in self._symbols(state))
        ends = not any(len(one) > len(part) and one[: len(part)] == part for one in longer)
        return state.with_symbol(whole) if ends else state

    def _whole(self, state: OpenTree) -> str | None:
        """The symbol that the ids of the unfinished one spell already, where they do."""
        if not state.part:
            return None
        return next((s for s in self._symbols(state) if self._spelt(state, s) == state.part), None)

    def _symbols(self, state: OpenTree) -> Iterator[str]:
        """The symbols that may follow whole symbols."""
        open = state.open
        if self._complete(state):
            return
        if state.used < self.words and (open or self.words == 1):
            yield TAG
        if open and state.filled and (len(open) > 1 or state.used == self.words):
            yield f"){open[-1]}"
        if state.used == self.words or len(open) + 1 >= DEEPEST:
            return
        tokens = state.tokens - len(state.part)
        needed = (self.words - state.used) * self._length(TAG) + sum(self._length(f"){one}") for one in open)
        if tokens + self.alphabet.longest_pair + needed < self.limit:
            yield from self.alphabet.opens
            return
        for symbol in self.alphabet.opens:
            cost = len(self._spelt(state, symbol)) + self._length(f"){symbol[1:]}")
            if tokens + cost + needed < self.limit:
                yield symbol

    def _complete(self, state: OpenTree) -> bool:
        return state.begun and not state.open and state.used == self.words

    def _spelt(self, state: OpenTree, symbol: str) -> Ids:
        return (self.alphabet.later if state.begun else self.alphabet.first)[symbol]

    def _length(self, symbol: str) -> int:
        return len(self.alphabet.later[symbol])
