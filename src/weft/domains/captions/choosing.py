"""Answers to questions about pictures by a model whose answers are labels: each has a probability of its own."""

from collections.abc import Sequence
from typing import Any

import torch

from weft.domains.captions.answering import Answerer, Answering, AnswerWriter, PictureQuestion
from weft.domains.captions.continuing import AnswerContinuer, continues
from weft.domains.pairs.writing import WrittenText
from weft.domains.pictures.encoded.frames import Frames
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError, WeftError, closest
from weft.files.pictures.regions import Question
from weft.generate.beam import Hypothesis
from weft.generate.compute import prepared
from weft.inspect.study import Study, stream_study
from weft.modalities.picture_text import PictureText, PictureTextEmbed
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.tasks.labels.several import SeveralCodec
from weft.tasks.request import Loaded
from weft.training.progress import Progress


class AnswerChooser(Answerer):
    """Answers by a head over labels, as ViLT does. The score of an answer is the logarithm of its probability."""

    def __init__(self, run: Loaded):
        assert isinstance(run.model, Stream)
        self.model = run.model
        embed = self.model.config.embed
        assert isinstance(embed, PictureTextEmbed.Config)
        super().__init__(run, embed.text.context)
        self.labels = run.codec("answer", SeveralCodec)

    @property
    def chooses(self) -> bool:
        return True

    def answer(
        self,
        frames: Frames,
        asked: Sequence[PictureQuestion],
        ways: Sequence[Answering],
        progress: Progress | None = None,
    ) -> list[list[list[WrittenText]]]:
        found: list[list[list[WrittenText]]] = [[[] for _ in asked] for _ in ways]
        allowed = [self._allowed(how) for how in ways]
        for places, given in self.batches(frames, asked, 1, progress):
            for number, how in enumerate(ways):
                used: Any = prepared(self.model.eval(), how.precision)
                with torch.inference_mode():
                    chances = torch.nn.functional.logsigmoid(used(given.raw()).float())
                for place, row in zip(places, chances, strict=True):
                    found[number][place] = self._best(row[allowed[number]].tolist(), allowed[number], how.best)
        return found

    def score(self, frames: Frames, questions: Sequence[Sequence[Question]]) -> None:
        return None

    def number(self, label: str) -> int:
        """The number of a label by its name."""
        if label not in self.labels.names:
            close = closest(label, self.labels.names)
            fix = "its labels stand in config.json: codecs.answer" if close is None else f"did you mean {close!r}?"
            raise WeftError(f"{label!r} is not among the {len(self.labels.names)} answers of this model", fix=fix)
        return self.labels.names.index(label)

    def study(self, raw: PictureText, asked: Sequence[str]) -> Study:
        """The study of a question about a picture, of which `asked` are the tokens."""
        with torch.no_grad():
            count = self.model.embed(raw).shape[1]
        embed, labels = self.model.config.embed, self.labels.names
        assert isinstance(embed, PictureTextEmbed.Config)
        seen = [f"patch {n + 1}" for n in range(count - len(asked))]
        names = [*asked, *seen] if embed.first == "text" else [*seen, *asked]
        return stream_study(self.model, raw, names=names, label=lambda i: labels[i], kind="yes")

    def _allowed(self, how: Answering) -> list[int]:
        """The numbers of the labels that may be given."""
        for name in ("temperature", "max_tokens", "never"):
            if getattr(how, name):
                problem = "this model chooses among its labels, and writes nothing"
                raise ConfigError(problem, where=f"--set {name}", fix="leave it out")
        return [self.number(name) for name in how.named] or list(range(len(self.labels.names)))

    def _best(self, chances: Sequence[float], allowed: Sequence[int], count: int) -> list[WrittenText]:
        ranked = sorted(zip(allowed, chances, strict=True), key=lambda pair: -pair[1])[:count]
        return [(self.labels.names[id], Hypothesis((id,), chance, chance, ended=True)) for id, chance in ranked]


def answerer(run: Loaded) -> Answerer:
    """What answers questions by the model of a run."""
    if continues(run.model):
        return AnswerContinuer(run)
    return AnswerWriter(run) if isinstance(run.model, Seq2Seq) else AnswerChooser(run)


def answer_codec(who: Answerer) -> TextCodec:
    """The codec by which answers are cut into pieces to be looked at; labels are cut as questions are."""
    return who.texts.answer if isinstance(who, AnswerWriter) else who.question
