"""embed-words: learn a vector for every word, in which like words are near each other and analogies are sums."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, final

import numpy as np
from torch import Tensor

from weft.amounts import count
from weft.batches.ahead import Ahead
from weft.batches.source import Source
from weft.config import Config
from weft.domains.words.cards import EMBED_WORDS
from weft.domains.words.codec import WordCodec
from weft.domains.words.dataset import HeldOutWords, WordData, held_out_words
from weft.domains.words.encoded.vocabulary import WordIds, learn_words
from weft.domains.words.exchange import adopted_words, write_words
from weft.domains.words.measures import mean_cosine
from weft.domains.words.recipe import RECIPE, WINDOWS, sized_vectors
from weft.domains.words.settings import WordTraining
from weft.domains.words.vectors import measured, objective_of, source_of, space_of, vectors_of, words_of
from weft.domains.words.views.plane import WordMapView
from weft.errors import ConfigError, WeftError
from weft.inspect.nearest import NearestView
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.models.stream import Model
from weft.models.word_vectors import WordVectors
from weft.objectives.objective import Objective
from weft.tasks.adopting import AdoptedFile
from weft.tasks.asks import Answer, Asks, Given, Gives, texts_of
from weft.tasks.codec import Codecs
from weft.tasks.finetuning import start_weights
from weft.tasks.parts import End, Parts
from weft.tasks.recipe import with_model_settings
from weft.tasks.request import Draft, Embedded, Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.training.progress import Progress

WordDraft = Draft[WordData, WordIds, WordTraining]
ALL_ALIKE = 0.8  # mean cosine of all words from which on nothing is known to be learned
WHAT_HELPS = (
    "the vectors have learned nothing yet. More text helps most; with the same text more time does (--minutes), or "
    "starting from vectors of a large text (weft import, then --from)."
)


@final
class EmbedWords(Task[WordData, WordIds, WordTraining]):
    """word2vec and GloVe."""

    card = EMBED_WORDS
    parts = (Parts({"word": End.of(WordCodec)}, (WordVectors,), None),)
    recipe = RECIPE
    unit = "pair"
    asks = (Asks("text", "a word", lines=True, several=True),)
    embeds = (Asks("text", "a word", lines=True),)
    targets = ("word2vec",)

    class Predict(Config):
        """Settings of a prediction."""

        top: int = 10

        about: ClassVar[Mapping[str, str]] = {"top": "how many of the nearest words to list for each input"}

        def check(self) -> None:
            if self.top < 1:
                raise ConfigError(f"must be at least 1, found {self.top}", where="top")

    def codecs(self, data: WordData, training: WordTraining, known: Codecs) -> Codecs:
        if "word" in known:
            return {"word": known["word"]}
        lower, breaks = training.lower, training.breaks
        return {"word": learn_words(data, fewest=training.fewest, most=training.vocab, lower=lower, breaks=breaks)}

    def encode(
        self, data: WordData, codecs: Codecs, training: WordTraining, known: Model.Config | None, progress: Progress
    ) -> WordIds:
        return WordIds.of(data, words_of(codecs))

    def sized(self, draft: WordDraft) -> tuple[WordVectors.Config, WordTraining]:
        words, text = len(draft.encoded.codec.words), draft.encoded.words
        config, training = sized_vectors(draft.request, draft.training, words=words, text=text)
        return with_model_settings(config, draft.request), training

    def continued(self, draft: WordDraft, origin: Loaded) -> tuple[WordVectors.Config, WordTraining]:
        config = vectors_of(origin).config
        kind = "word2vec" if config.kind == "vectors" else config.kind
        window = draft.training.window or WINDOWS[kind]
        return config.replace(kind=kind), draft.training.replace(dim=config.dim, window=window)

    def start(self, origin: Loaded, codecs: Codecs, model: Model.Config) -> Mapping[str, Tensor]:
        return start_weights(origin, backbone=False, same_head=True)

    def objective(self, encoded: WordIds, codecs: Codecs, training: WordTraining) -> Objective.Config:
        return objective_of(training)

    def source(self, encoded: WordIds, codecs: Codecs, model: Model.Config, training: WordTraining) -> Source:
        streams = encoded.train, encoded.held_out
        return Ahead(source_of(streams, encoded.codec, training, encoded.data.fingerprint))

    def batch_in_words(self, training: WordTraining, source: Source) -> str:
        return f"batches of {training.batch} x 512 words"

    def ability(self, run: Loaded) -> str:
        return "Finds words like a word"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return {"words": f"{run.data.amount('words')} to train on, {run.data.amount('known_words')} different ones"}

    def example(self, run: Loaded, measured: Measured) -> str:
        words = words_of(run.codecs).words
        some = [words[i] for i in np.linspace(0, len(words) - 1, 6).astype(int)[1:4]]
        found = self.predict(run, [Given(word, word) for word in some], self.Predict(top=5), None)
        lines = [self.shown(one.values) for one in found]
        return "\n".join([*lines, *_nothing_learned(mean_cosine(space_of(run).unit), measured)])

    def gives(self, run: Loaded) -> Gives:
        return Gives("ranking", columns=("nearest", "similarity"))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        near = prediction["nearest"]
        words, similarity = " ".join(one["word"] for one in near), near[0]["similarity"] if near else None
        return [{**prediction, "nearest": words, "similarity": similarity}]

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Predict, listen: Listen | None) -> list[Answer]:
        space, found = space_of(run), list[Answer]()
        for number, text in enumerate(texts_of(inputs)):
            near = space.nearest(text.strip(), how.top, where=str(run.folder.path))
            listed = [{"word": one.token, "similarity": round(one.similarity, 6)} for one in near]
            found.append(Answer(number, {"input": text, "nearest": listed}))
        return found

    def shown(self, prediction: Prediction) -> str:
        near = ", ".join(f"{one['word']} {one['similarity']:.2f}" for one in prediction["nearest"])
        return f"{prediction['input']}: {near}"

    def held_out(self, run: Loaded, sources: Sequence[str]) -> HeldOutWords:
        return held_out_words(sources)

    def measure(
        self, run: Loaded, held_out: HeldOutWords, progress: Progress, seconds: float | None = None
    ) -> Measured:
        return measured(run, held_out, run.training(WordTraining))

    def look(self, run: Loaded, inputs: Sequence[Given], how: object) -> View:
        words = texts_of(inputs)
        if not words:
            raise WeftError("no word to look at", where="weft look", fix="give one word, or several for a map")
        space = space_of(run)
        return NearestView(space, words[0]) if len(words) == 1 else WordMapView(space, words)

    def study(self, run: Loaded, inputs: Sequence[Given], how: object) -> Study:
        problem = "the vector of a word is read from a table: there are no layers in between to follow"
        raise WeftError(problem, where="study", fix="list the nearest words: weft look RUN WORD")

    def embedded(self, run: Loaded, inputs: Sequence[Given], how: object) -> Embedded:
        codec, table = words_of(run.codecs), vectors_of(run).vectors().float().cpu().numpy()
        numbers = [(word, codec.find(word)) for word in texts_of(inputs)]
        missing = [word for word, number in numbers if number is None]
        if missing:
            problem = f"{count(len(missing))} of {len(numbers)} words have no vector, such as {missing[0]!r:.60}"
            raise WeftError(problem, where=str(run.folder.path), fix="give words, one each")
        vectors = table[[number for _, number in numbers if number is not None]]
        return Embedded([word for word, _ in numbers], vectors)

    def adopted_file(self, path: Path) -> AdoptedFile | None:
        return adopted_words(path)

    def write_file(self, run: Loaded, path: Path, to: str) -> str:
        return write_words(run, path)


def _nothing_learned(alike: float, measured: Measured) -> list[str]:
    """What to say of vectors that know nothing of which word stands beside which, where that is so."""
    if alike > ALL_ALIKE:
        return [f"All words are nearly alike (mean cosine {alike:.2f}): {WHAT_HELPS}"]
    loss, frequency = (measured.metrics.get(name) for name in ("loss", "frequency_loss"))
    if loss is None or frequency is None or loss < frequency:
        return []
    return [f"The frequencies of words alone do as well on held-out text: {WHAT_HELPS}"]
