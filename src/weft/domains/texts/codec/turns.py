"""TurnCodec: talks in turns, as a model reads them. Knows templates and tokenizers; refuses to know files, models."""

from collections.abc import Sequence

import numpy as np

from weft.batches.packed import ScoredIds
from weft.domains.texts.codec.templates import Message, Refused, rendered
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.reading.talks import Talk
from weft.errors import ConfigError, WeftError
from weft.modalities.tokenizer import Tokenizer
from weft.tasks.codec import Codec

MARKS = ("<System:>", "<User:>", "<Bot:>")  # that a tokenizer of weft's gets for turns
OWN = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}<Bot:>{{ message['content'] }}{{ eos_token }}"
    "{% elif message['role'] == 'system' %}<System:>{{ message['content'] }}"
    "{% else %}<User:>{{ message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<Bot:>{% endif %}"
)
PLAIN = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}Bot: {{ message['content'] }}{{ eos_token }}"
    "{% elif message['role'] == 'system' %}{{ message['content'] }}\n"
    "{% else %}User: {{ message['content'] }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}Bot:{% endif %}"
)  # for a tokenizer without marks, to which none can be added
NEXT = "\nUser:"  # with which a model goes on that writes both sides of a plain talk


class TurnCodec(Codec):
    """Talks as text with marks. The answers count in the loss, up to the mark that ends them."""

    class Config(Codec.Config):
        """`template` is a chat template (Jinja); `bos` and `eos` are the tokens that it knows by those names."""

        template: str = OWN
        bos: str = ""
        eos: str = ""

    config: Config

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts that end an answer, where no mark does."""
        return (NEXT,) if self.config.template == PLAIN else ()

    @classmethod
    def of(cls, text: TextCodec) -> "TurnCodec":
        """The codec for texts of a tokenizer: with weft's own marks where it has them, else in plain words."""
        tokenizer = text.tokenizer
        own = all(mark in tokenizer.names for mark in MARKS)
        bos, eos = text.marks.before[:1], text.ends[0]
        name = dict(enumerate(tokenizer.names))  # a model may have more ids than its tokenizer has names
        begin, end = name.get(bos[0], "") if bos else "", name.get(eos, "")
        return cls(cls.Config(template=OWN if own else PLAIN, bos=begin, eos=end))

    def written(self, messages: Sequence[Message], *, prompt: bool = False) -> str:
        """Turns as text with marks; with `prompt`, up to where an answer begins."""
        tokens = {"bos_token": self.config.bos, "eos_token": self.config.eos}
        return rendered(self.config.template, messages, prompt=prompt, tokens=tokens, where="chat template")

    def prompt(self, text: TextCodec, said: Sequence[tuple[str, str]]) -> np.ndarray:
        """The ids of a talk so far, as (role, text), up to where its answer begins."""
        talk = [{"role": role, "content": words} for role, words in said]
        _refuse_marks(text.tokenizer, talk, "")
        try:
            return text.tokenizer.encode_marked(self.written(talk, prompt=True)).astype(np.int64)
        except Refused as error:
            where = said[-1][1][:60] if said else ""
            raise WeftError(f"the model's chat template refuses this: {error}", where=where) from None

    def ends(self, text: TextCodec) -> tuple[int, ...]:
        """The ids of which any ends an answer: those of the text, and the mark that the template puts behind one."""
        told = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
        try:
            *_, answer = self._parts(told)
        except (Refused, ConfigError):
            return text.ends
        special = set(text.tokenizer.special.tolist())
        marks = [int(id) for id in text.tokenizer.encode_marked(answer) if int(id) in special]
        return tuple(dict.fromkeys((*marks[:1], *text.ends)))

    def rows(self, text: TextCodec, talk: Talk) -> list[ScoredIds]:
        """A talk as ids of which the answers count: in one row, or in several where a template rewrites what was said.

        A talk that the template refuses is a `Refused`.
        """
        messages = [{"role": turn.role, "content": turn.text} for turn in talk.turns]
        _refuse_marks(text.tokenizer, messages, talk.where)
        ends, rows, pieces, told = self.ends(text), list[ScoredIds](), list[tuple[str, bool]](), ""
        for number, message in enumerate(messages):
            if message["role"] != "assistant" or number == 0:
                continue
            asked, answer = self._parts(messages[: number + 1])
            if pieces and not asked.startswith(told):  # what was said before is written otherwise now
                rows.append(_scored(text.tokenizer, pieces, ends))
                pieces, told = [], ""
            pieces += [(asked[len(told) :], False), (answer, True)]
            told = asked + answer
        return [*rows, _scored(text.tokenizer, pieces, ends)]

    def _parts(self, messages: Sequence[Message]) -> tuple[str, str]:
        """What stands before the last answer, and the answer with its marks."""
        asked, whole = self.written(messages[:-1], prompt=True), self.written(messages)
        if not whole.startswith(asked):
            problem = "the chat template writes an answer otherwise than behind its own prompt"
            raise ConfigError(problem, where="chat template", fix="use a model with another template")
        return asked, whole[len(asked) :]


def _scored(tokenizer: Tokenizer, pieces: Sequence[tuple[str, bool]], ends: Sequence[int]) -> ScoredIds:
    """Pieces of text with marks as ids; of an answer all count up to its end."""
    ids, counts = list[np.ndarray](), list[np.ndarray]()
    for piece, answer in pieces:
        found = tokenizer.encode_marked(piece).astype(np.int64)
        last = np.flatnonzero(np.isin(found, ends))
        size = int(last[0]) + 1 if len(last) else len(found)
        ids.append(found)
        counts.append(np.arange(len(found)) < size if answer else np.zeros(len(found), bool))
    return ScoredIds(np.concatenate(ids), np.concatenate(counts))


def _refuse_marks(tokenizer: Tokenizer, messages: Sequence[Message], where: str) -> None:
    """What people say is text: the name of a mark in it would be read as the mark."""
    names = [tokenizer.names[id] for id in tokenizer.special.tolist() if len(tokenizer.names[id]) > 1]
    for message in messages:
        if (mark := next((name for name in names if name in message["content"]), None)) is not None:
            problem = f"the text holds {mark!r}, which is a mark of this model's turns"
            raise Refused(problem) if where else WeftError(problem, where=message["content"][:60], fix="leave it out")
