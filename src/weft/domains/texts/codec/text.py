"""TextCodec: texts to ids and back, between marks. Knows tokenizers; refuses to know models and files of data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, Self

import numpy as np

from weft.errors import ConfigError, WeftError, listed
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.embedder import Embedder
from weft.modalities.framing import Framed, frame_texts, ids_of
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.codec import Codec, ReadFile

TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class TextMarks:
    """The ids that stand `before` and `after` a text.

    A decoder starts to write from `opening`, by default all of `before`: some models write the first mark themselves.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    opening: tuple[int, ...] | None = None

    @property
    def start(self) -> int:
        """The first id that a decoder reads."""
        return self.before[0]

    @property
    def end(self) -> int:
        """The id that ends a text."""
        return self.after[0]

    @property
    def written_from(self) -> tuple[int, ...]:
        """The ids that a decoder starts to write from."""
        return self.before if self.opening is None else self.opening

    def around(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The ids of a text between its marks."""
        return np.concatenate((self.before, ids, self.after)).astype(np.int64)

    def fits(self, ids: Sequence[int] | np.ndarray, context: int) -> bool:
        """Whether a decoder with this context can learn to write a text: it reads all but the end."""
        return len(self.before) + len(ids) <= context


Role = Literal["whole", "line", "source", "target", "caption"]


class TextCodec(Codec):
    """A tokenizer, and the role in which a model meets texts. The role decides the marks around them:

    whole     read at once: between the tokenizer's own marks, cut behind
    line      continued: behind the end of the text before, cut in front; before a mark only where its makers put one
    source    answered: the end behind it
    target    the answer: from an opening to the end
    caption   the same for answers to pictures
    """

    class Config(Codec.Config):
        """Models from elsewhere may have their own `opening` and `end`; by default both are the tokenizer's end.

        Models from elsewhere may have several `ends`, of which any ends what they write.

        `languages` are tokens that mark the language of a source or target, and `language` is the one that these texts
        have. A target begins with it; it stands `before` a source, or `after` its end.
        """

        file: str = TOKENIZER
        digest: str | None = None
        role: Role = "whole"
        opening: tuple[int, ...] | None = None
        end: int | None = None
        ends: tuple[int, ...] = ()
        languages: tuple[str, ...] = ()
        language: str | None = None
        language_place: Literal["before", "after"] = "before"

    config: Config

    def __init__(self, config: Config, *, read: ReadFile):
        super().__init__(config, read=read)
        self._where = config.file
        self._read = read

    @classmethod
    def of(cls, tokenizer: Tokenizer, role: Role = "whole") -> Self:
        """The codec of a tokenizer that was just made."""
        return cls(cls.Config(digest=tokenizer.digest, role=role), read=lambda name: tokenizer.to_json().encode())

    @classmethod
    def learn(
        cls,
        pieces: Iterable[str | None],
        kind: str,
        vocab: int | None,
        *,
        characters: int,
        mask: bool = False,
        role: Role = "whole",
        symbols: Sequence[str] = (),
        marks: Sequence[str] = (),
    ) -> Self:
        """The codec of a tokenizer made for a stream of texts with this many characters.

        `vocab` is the size of a bpe vocabulary; `mask` asks for a token that stands for hidden ones, `symbols` for
        texts that are one token each, `marks` for tokens that no text holds.
        """
        made = tokenizers.train(kind, pieces, vocab, mask=mask, characters=characters, symbols=symbols, marks=marks)
        return cls.of(made, role)

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer; refused where it is not the one that the run was trained with."""
        found = self._found
        if self.config.digest not in (None, found.digest):
            problem = "this is not the tokenizer that the run was trained with, though it has as many tokens"
            raise ConfigError(problem, where=self._where, fix="put the run's own tokenizer.json back")
        return found

    @cached_property
    def _found(self) -> Tokenizer:
        """The tokenizer in the file, whichever it is. The file is read once, and again only after a refusal."""
        return _parsed(self._read(self.config.file), self._where)

    @property
    def marks(self) -> TextMarks:
        """The marks of a text in this role."""
        tokenizer, role = self.tokenizer, self.config.role
        before, after = tokenizer.marks
        if role == "whole":
            return TextMarks(tuple(before), tuple(after))
        end = tokenizer.end if self.config.end is None else self.config.end
        own = tuple(before) if tokenizer.processed else ()
        opening = (end,) if self.config.opening is None else self.config.opening
        if role == "line":
            theirs = self.config.opening is not None and tokenizer.processed  # marks of the makers of a model
            return TextMarks(opening, tuple(after) if theirs else ())
        if self.config.languages:
            return self._language_marks(end)
        if role == "source":
            return TextMarks(own, (end,))
        whole = opening if len(opening) > 1 or role == "caption" else (*opening, *own)
        return TextMarks(whole, (end,), opening)

    @property
    def size(self) -> int:
        """The number of tokens."""
        return self.tokenizer.size

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids of which any ends what a model writes."""
        return self.config.ends or self.marks.after[:1] or (self.tokenizer.end,)

    def _language_marks(self, end: int) -> TextMarks:
        """The marks of a source or target whose language is marked. Some decoders start with the language itself."""
        config, names = self.config, self.tokenizer.names
        if config.language is None:
            problem = f"the {config.role} may be in any of {len(config.languages)} languages, and none is named"
            fix = f"--set {config.role}_language=NAME, one of {listed(config.languages)}"
            raise WeftError(problem, where=self._where, fix=f"{fix}; in training, columns are named by their language")
        mark = names.index(config.language)
        if config.role == "source":
            return TextMarks((mark,), (end,)) if config.language_place == "before" else TextMarks((), (end, mark))
        return TextMarks((*(id for id in config.opening or () if names[id] not in config.languages), mark), (end,))

    def in_language(self, mark: str) -> Self:
        """The same for texts in the language of this mark."""
        return type(self)(self.config.replace(language=mark), read=self._read)

    def in_role(self, role: Role) -> Self:
        """The same tokenizer for texts in another role. What is written needs an opening: by default the end."""
        opening = self.config.opening if role in ("whole", "line", "source") else self.config.opening or None
        return type(self)(self.config.replace(role=role, opening=opening), read=self._read)

    def in_words(self) -> str:
        """The kind of tokenizer and the size of its vocabulary."""
        return f"{self.tokenizer.kind}, vocabulary {self.tokenizer.size}"

    def files(self) -> Mapping[str, bytes]:
        return {self.config.file: self.tokenizer.to_json().encode()}

    def ids(self, texts: Iterable[str]) -> list[np.ndarray]:
        """The ids of texts, without marks."""
        return ids_of(self.tokenizer, list(texts))

    def encode(self, texts: Sequence[object], context: int) -> Framed:
        """Texts as ids between their marks, in at most `context` ids, and how many texts were cut."""
        given = only_texts(texts)
        if self.config.role != "line":
            return frame_texts(self.tokenizer, given, context)
        rows = [self.marks.around(ids) for ids in self.ids(given)]
        empty = np.array([self.tokenizer.end])
        return Framed([row[-context:] if len(row) else empty for row in rows], sum(len(r) > context for r in rows))

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids that a model writes; those beyond the vocabulary, for which it may have room, have none."""
        return self.tokenizer.decode(id for id in ids if id < self.tokenizer.size)

    def same(self, other: Codec | None) -> bool:
        return isinstance(other, TextCodec) and other.config.digest == self.config.digest

    def check_fit(self, embed: Embedder.Config, where: str) -> None:
        self._where = f"{where}/{self.config.file}"
        size, found = embed.size, self._found.size
        if size is None or found > size:  # some models have room for more tokens than there are
            problem = f"the tokenizer has {found} tokens, the model {size}: they are of different runs"
            raise ConfigError(problem, where=self._where, fix="put the run's own tokenizer.json back")
        self.tokenizer  # noqa: B018 (refuses one with other tokens)
        marks = (*(self.config.opening or ()), *(() if self.config.end is None else (self.config.end,)))
        if odd := [id for id in marks if not 0 <= id < size]:
            problem = f"texts are to stand between tokens with the ids {marks}, and the model has no {odd[0]}"
            fix = "fetch the model's config.json and tokenizer.json from one place"
            raise ConfigError(f"{problem}: its ids end at {size - 1}", where=where, fix=fix)


def only_texts(given: Sequence[object]) -> list[str]:
    """What a user gives, which must be texts."""
    for one in given:
        if not isinstance(one, str):
            raise WeftError(f"expected a text, found {one!r}")
    return list(given)  # type: ignore[arg-type]


@lru_cache(maxsize=4)
def _parsed(data: bytes, where: str) -> Tokenizer:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte 0x{data[error.start]:02X} at byte offset {error.start} is not UTF-8"
        raise ConfigError(problem, where=where, fix="put the run's own tokenizer.json back") from None
    return Tokenizer.from_json(text, where)
