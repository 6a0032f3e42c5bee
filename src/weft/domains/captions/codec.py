"""UsualAnswers: the answers that the data gives, to choose among them and to guess without a look at the picture."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

from weft.errors import ConfigError
from weft.json_text import read_json
from weft.tasks.codec import Codec, ReadFile

FILE = "usual_answers.json"
MOST_ANSWERS = 1000  # that are kept to choose from
MOST_QUESTIONS = 10_000  # whose usual answers are kept, the most frequent ones
AnsweredQuestion = tuple[str, str | None, Sequence[str]]  # a question, its kind where that is known, and its answers


class UsualAnswers(Codec):
    """The most frequent answers of all, of each kind of question and of each question."""

    class Config(Codec.Config):
        """`digest` is the SHA-256 of the file."""

        file: str = FILE
        digest: str | None = None

    config: Config

    def __init__(self, config: Config, *, read: ReadFile):
        super().__init__(config, read=read)
        self._read = read

    @classmethod
    def learn(cls, asked: Iterable[AnsweredQuestion]) -> Self:
        """Count the answers of some questions."""
        answers, times = Counter[str](), Counter[str]()
        kinds, questions = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
        for text, kind, given in asked:
            said = [answer.strip() for answer in given]
            answers.update(said)
            questions[plain(text)].update(said)
            times[plain(text)] += 1
            if kind is not None:
                kinds[kind].update(said)
        known = {
            "answers": [answer for answer, _ in answers.most_common(MOST_ANSWERS)],
            "kinds": {kind: _first(counts) for kind, counts in sorted(kinds.items())},
            "questions": {text: _first(questions[text]) for text, _ in times.most_common(MOST_QUESTIONS)},
        }
        data = json.dumps(known, ensure_ascii=False, indent=1).encode()
        return cls(cls.Config(digest=hashlib.sha256(data).hexdigest()), read=lambda name: data)

    @property
    def answers(self) -> tuple[str, ...]:
        """The most frequent answers, the most frequent first."""
        return tuple(self._known["answers"])

    def guess(self, question: str | None, kind: str | None) -> str:
        """The usual answer to a question, else to questions of its kind, else to all: known without a picture."""
        known = self._known
        same = None if question is None else known["questions"].get(plain(question))
        found = same or known["kinds"].get(kind)
        return found or known["answers"][0]

    @property
    def _known(self) -> Mapping[str, Any]:
        return _parsed(self._read(self.config.file), self.config.file, self.config.digest)

    def files(self) -> Mapping[str, bytes]:
        return {self.config.file: self._read(self.config.file)}


def plain(text: str) -> str:
    """A question without differences that do not matter: case, and white space."""
    return " ".join(text.casefold().split())


def _first(counts: Counter[str]) -> str:
    return counts.most_common(1)[0][0]


@lru_cache(maxsize=4)
def _parsed(data: bytes, where: str, digest: str | None) -> Mapping[str, Any]:
    fix = f"put the run's own {where} back"
    if digest not in (None, hashlib.sha256(data).hexdigest()):
        problem = "these are not the answers that the run was trained with"
        raise ConfigError(problem, where=where, fix=fix)
    try:
        found = read_json(data, where=where)
    except ConfigError as error:
        raise ConfigError(error.problem, where=where, fix=fix) from None
    if not isinstance(found, dict) or not found.get("answers") or not {"kinds", "questions"} <= set(found):
        raise ConfigError("expected answers, kinds and questions", where=where, fix=fix)
    lists, objects = [found["answers"]], [found["kinds"], found["questions"]]
    sound = all(isinstance(one, list) for one in lists) and all(isinstance(one, dict) for one in objects)
    if not sound or not all(isinstance(text, str) for one in (*lists, *(o.values() for o in objects)) for text in one):
        raise ConfigError("expected a list of texts, and two objects of texts", where=where, fix=fix)
    return found
