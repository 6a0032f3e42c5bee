"""parse: learn to parse sentences from bracketed trees. Sentence in, tree out, as one sequence of symbols."""

from collections.abc import Mapping, Sequence
from typing import final

from weft.codecs import Codecs
from weft.codecs.text import only_texts
from weft.data.datasets.pairs import PairData, grouped, tree_pair
from weft.data.encoded.pairs import PairIds
from weft.data.readers.pair_texts import Held
from weft.data.readers.trees import read_tree, read_trees
from weft.data.source import Source
from weft.data.trees import draw, labelled_f1, parse_linear
from weft.data.trees.symbols import apart, from_symbols, to_symbols
from weft.generate.decode import Decoding
from weft.inspect.translation import LookAtTranslation
from weft.inspect.views import View
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model
from weft.objectives import TargetToken
from weft.tasks.recipes.pairs import RECIPE, PairDraft, batch_in_words, encoder_decoder, pair_codecs, pair_facts
from weft.tasks.request import Listen, Loaded, Measured, Prediction
from weft.tasks.settings import PairTraining
from weft.tasks.task import Task
from weft.tasks.writing import Answer, TextWriter, answer_all
from weft.tasks.writing_looking import written_view
from weft.training.progress import Progress


@final
class Parse(Task[PairData, PairIds, PairTraining]):
    """Constituency parsing as translation into brackets (Vinyals et al., 2015; Vaswani et al., 2017)."""

    name = "parse"
    training = PairTraining
    recipe = RECIPE
    unit = "token"
    Predict = Decoding
    Look = LookAtTranslation

    def codecs(self, data: PairData, training: PairTraining, known: Codecs) -> Codecs:
        return pair_codecs(data, training, known, to_symbols)

    def encode(
        self, data: PairData, codecs: Codecs, training: PairTraining, known: Model.Config | None, progress: Progress
    ) -> PairIds:
        return PairIds.of(data, codecs, training.context, to_symbols)

    def sized(self, draft: PairDraft) -> tuple[Seq2Seq.Config, PairTraining]:
        return encoder_decoder(draft)

    def objective(self, encoded: PairIds, codecs: Codecs, training: PairTraining) -> TargetToken.Config:
        return TargetToken.Config(smoothing=training.smoothing)

    def source(self, encoded: PairIds, codecs: Codecs, model: Model.Config, training: PairTraining) -> Source:
        return encoded.source(training.tokens or 1024, training.seed)

    def batch_in_words(self, training: PairTraining, source: Source) -> str:
        return batch_in_words(training, source)

    def ability(self, run: Loaded) -> str:
        return "Parses sentences"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return pair_facts(run)

    def example(self, run: Loaded, measured: Measured) -> str:
        return "\n".join(f"{one['source']}\n  -> {one['text']}" for one in measured.more["samples"])

    def predict(self, run: Loaded, inputs: Sequence[object], how: Decoding, listen: Listen | None) -> list[Prediction]:
        texts = only_texts(inputs)
        found = parsed(TextWriter(run), texts, how)
        return [_prediction(text, one) for text, best in zip(texts, found, strict=True) for one in best]

    def shown(self, prediction: Prediction) -> str:
        return draw(read_tree(prediction["text"])) if prediction["text"] else ""

    def look(self, run: Loaded, input: object, how: LookAtTranslation) -> View:
        """The tree, and which words of the sentence were read for each of its symbols."""
        (text,) = only_texts([input])
        given = how if how.target is None else how.replace(target=to_symbols(str(read_tree(how.target))))
        view = written_view(run, apart(text), given, "tree")
        if words := apart(text).split():
            tree = parse_linear(from_symbols(view.target), words).tree
            view.drawn, view.named, view.answer = draw(tree), _spelt, view.answer and view.answer.as_said(str(tree))
        return view if how.token is None else view.step_view(how.token, how.side)

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[Held]:
        return grouped([tree_pair(tree) for tree in read_trees(sources)])

    def measure(
        self, run: Loaded, held_out: Sequence[Held], progress: Progress, seconds: float | None = None
    ) -> Measured:
        """Labelled bracket precision, recall and F1 as evalb has them, and the share of outputs that were well formed."""
        found = answer_all(run, held_out, parsed, to_symbols, progress)
        gold = [read_tree(one.references[0]) for one in found.held]
        trees = [
            parse_linear(from_symbols(text), one.source.split())
            for text, one in zip(found.answers, found.held, strict=True)
        ]
        scores = labelled_f1(gold, [one.tree for one in trees], well_formed=[one.well_formed for one in trees])
        shares = {name: float(scores[name]) for name in ("f1", "precision", "recall", "exact", "well_formed")}
        return found.measured(shares, {name: int(scores[name]) for name in ("matched", "gold", "found")})


def parsed(
    writer: TextWriter, texts: Sequence[str], how: Decoding, progress: Progress | None = None
) -> list[list[Answer]]:
    """The symbols of trees; marks that stick to words are taken for words of their own."""
    return writer.write([apart(text) for text in texts], how, progress)


def _spelt(symbol: str) -> str:
    """A symbol of a tree as people read it: (NP opens a phrase, NP) closes it, and a word stands for itself."""
    bare = symbol.strip()
    if bare[:1] in ("o", "c") and len(bare) > 1:
        return f"({bare[1:]}" if bare[0] == "o" else f"{bare[1:]})"
    return "word" if bare == "XX" else symbol


def _prediction(text: str, answer: Answer) -> Prediction:
    symbols, hypothesis = answer
    words = apart(text).split()
    if not words:
        return {"source": text, "text": "", "score": 0.0, "well_formed": True}
    tree = parse_linear(from_symbols(symbols), words)
    well_formed = tree.well_formed and hypothesis.ended
    return {
        "source": text,
        "text": str(tree.tree),
        "score": round(hypothesis.score, 4) + 0.0,
        "well_formed": well_formed,
    }
