"""parse: learn to parse sentences from bracketed trees. Sentence in, tree out: symbol by symbol, or by tags of gaps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final

from weft.batches.source import Source
from weft.domains.pairs.dataset import PairData, grouped
from weft.domains.pairs.encoded import PairIds
from weft.domains.pairs.exchange import answer_proof, pair_outgoing
from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.recipe import batch_in_words
from weft.domains.pairs.studies import study_translation, study_written
from weft.domains.pairs.writing import WrittenText
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.encoded.whole_texts import TaggedIds
from weft.domains.texts.exchange import generation, text_codec, with_text
from weft.domains.trees.baselines import tree_baselines, tree_tally
from weft.domains.trees.cards import PARSE
from weft.domains.trees.codec import GapCodec, SymbolCodec
from weft.domains.trees.dataset import tree_pair
from weft.domains.trees.encoded import apart, gap_ids, parse_linear, to_symbols
from weft.domains.trees.gap_tagging import GapTagger
from weft.domains.trees.measures import labelled_f1
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import draw
from weft.domains.trees.reading.treebanks import read_trees
from weft.domains.trees.recipe import (
    RECIPE,
    ParseDraft,
    ParseIds,
    check_form,
    gap_tagger,
    tree_codecs,
    tree_facts,
    tree_writer,
)
from weft.domains.trees.settings import ParseTraining
from weft.domains.trees.tree_writing import TreeWriter, spelling
from weft.domains.trees.views.looking import look_at_tree
from weft.domains.trees.views.tree import LookAtTree
from weft.errors import ConfigError, WeftError
from weft.generate.decode import Decoding
from weft.inspect.study import Study
from weft.inspect.views import View
from weft.modalities.text import TextEmbed
from weft.models.backbone import context_of
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.objectives import Objective, SplitTags, TargetSymbol, TargetToken
from weft.tasks.asks import Answer, Asks, Given, Gives, only_text, texts_of
from weft.tasks.baselines import Baseline
from weft.tasks.codec import Codecs
from weft.tasks.outgoing import Outgoing, with_labels
from weft.tasks.parts import End, Parts
from weft.tasks.proof import Proof
from weft.tasks.request import Listen, Loaded, Measured, Prediction
from weft.tasks.task import Task
from weft.training.progress import Progress


@final
class Parse(Task[PairData, ParseIds, ParseTraining]):
    """Constituency parsing as translation into brackets (Vinyals et al., 2015; Vaswani et al., 2017), or as tagging."""

    card = PARSE
    parts = (
        Parts(
            {"source": End.of(TextCodec), "target": End.of(TextCodec, SymbolCodec, side="target")},
            (Seq2Seq,),
            TextEmbed,
        ),
        Parts({"text": End.of(TextCodec), "gaps": End.of(GapCodec)}, (Stream,), TextEmbed),
    )
    recipe = RECIPE
    unit = "token"
    asks = (Asks("text", "a sentence", lines=True),)
    Predict = Decoding
    Look = LookAtTree

    def codecs(self, data: PairData, training: ParseTraining, known: Codecs) -> Codecs:
        return tree_codecs(data, training, known, to_symbols)

    def encode(
        self, data: PairData, codecs: Codecs, training: ParseTraining, known: Model.Config | None, progress: Progress
    ) -> ParseIds:
        if "gaps" in codecs:
            return gap_ids(data, codecs)
        return PairIds.of(data, codecs, training.context, spelling(codecs))

    def sized(self, draft: ParseDraft) -> tuple[Model.Config, ParseTraining]:
        check_form(draft)
        return gap_tagger(draft) if "gaps" in draft.codecs else tree_writer(draft)

    def objective(self, encoded: ParseIds, codecs: Codecs, training: ParseTraining) -> Objective.Config:
        gaps = codecs.get("gaps")
        if isinstance(gaps, GapCodec):
            return SplitTags.Config(sizes=gaps.sizes, beside=gaps.beside, smoothing=training.smoothing)
        kind = TargetSymbol if training.form == "symbols" else TargetToken
        return kind.Config(smoothing=training.smoothing)

    def source(self, encoded: ParseIds, codecs: Codecs, model: Model.Config, training: ParseTraining) -> Source:
        tokens, seed = training.tokens or 1024, training.seed
        if isinstance(encoded, TaggedIds):
            return encoded.source(context_of(model), tokens=tokens, rows=training.rows, seed=seed)
        return encoded.source(tokens, seed)

    def batch_in_words(self, training: ParseTraining, source: Source) -> str:
        return batch_in_words(training, source)

    def ability(self, run: Loaded) -> str:
        return "Parses sentences"

    def facts(self, run: Loaded) -> Mapping[str, str]:
        return tree_facts(run)

    def example(self, run: Loaded, measured: Measured) -> str:
        return "\n".join(f"{one['source']}\n  -> {one['text']}" for one in measured.more["samples"])

    def gives(self, run: Loaded) -> Gives:
        return Gives("tree", columns=("tree", "score"))

    def cells(self, prediction: Prediction) -> Sequence[Prediction]:
        return [{**prediction, "tree": prediction["text"]}]

    def predict(self, run: Loaded, inputs: Sequence[Given], how: Decoding, listen: Listen | None) -> list[Answer]:
        texts = texts_of(inputs)
        if "gaps" in run.codecs:
            if how.best > 1 or how.temperature > 0:
                problem = "a tagger of gaps finds the one best tree"
                raise ConfigError(problem, where="best" if how.best > 1 else "temperature", fix="leave it out")
            found = GapTagger(run).write([apart(text) for text in texts])
        else:
            found = TreeWriter(run).write([apart(text) for text in texts], how)
        return [Answer(i, _prediction(texts[i], one)) for i, best in enumerate(found) for one in best]

    def shown(self, prediction: Prediction) -> str:
        return draw(read_tree(prediction["text"])) if prediction["text"] else ""

    def look(self, run: Loaded, inputs: Sequence[Given], how: LookAtTree) -> View:
        """The tree, and which words of the sentence were read for each of its brackets."""
        return look_at_tree(run, only_text(inputs), how)

    def study(self, run: Loaded, inputs: Sequence[Given], how: LookAtTree) -> Study:
        sentence = apart(only_text(inputs))
        if not sentence:
            raise WeftError("a blank text has no tree", where="study", fix="give a sentence")
        if "gaps" in run.codecs:
            return GapTagger(run).study(sentence)
        trees = TreeWriter(run)
        if how.target is not None:
            return study_translation(trees.writer, sentence, how.replace(target=trees.spelt(how.target)))
        _, best = trees.write([sentence], Decoding(beam=how.beam))[0][0]
        return study_written(trees.writer, sentence, [*trees.writer.target.marks.written_from, *best.ids])

    def held_out(self, run: Loaded, sources: Sequence[str]) -> list[Held]:
        return grouped([tree_pair(tree) for tree in read_trees(sources)])

    def measure(
        self, run: Loaded, held_out: Sequence[Held], progress: Progress, seconds: float | None = None
    ) -> Measured:
        """Labelled bracket precision, recall and F1 as in evalb, and the share of outputs that were well formed."""
        if "gaps" in run.codecs:
            found = GapTagger(run).answers(held_out, progress)
        else:
            found = TreeWriter(run).answers(run, held_out, progress)
        gold = [read_tree(one.references[0]) for one in found.held]
        trees = [parse_linear(text, one.source.split()) for text, one in zip(found.answers, found.held, strict=True)]
        scores = labelled_f1(gold, [one.tree for one in trees], well_formed=[one.well_formed for one in trees])
        shares = {name: float(scores[name]) for name in ("f1", "precision", "recall", "exact", "well_formed")}
        found = replace(found, answers=[str(one.tree) for one in trees])
        measured = found.measured(shares, {name: int(scores[name]) for name in ("matched", "gold", "found")})
        return replace(measured, tally=tree_tally(gold, [one.tree for one in trees]))

    def baselines(
        self, run: Loaded, data: PairData, held_out: Sequence[Held], measured: Measured
    ) -> Iterator[Baseline]:
        return tree_baselines(data.train, held_out)

    def outgoing(self, run: Loaded) -> Outgoing:
        if "gaps" in run.codecs:
            found = with_text(with_labels(run), run, text_codec(run))
            return replace(found, generation=generation(run, self.Predict, found.marks))
        return pair_outgoing(run, self.Predict)

    def proof(self, run: Loaded, tolerance: float) -> Proof | None:
        return answer_proof(self, run)


def _prediction(text: str, answer: WrittenText) -> Prediction:
    symbols, hypothesis = answer
    words = apart(text).split()
    if not words:
        return {"source": text, "text": "", "score": 0.0, "well_formed": True}
    tree = parse_linear(symbols, words)
    well_formed = tree.well_formed and hypothesis.ended
    return {
        "source": text,
        "text": str(tree.tree),
        "score": round(hypothesis.score, 4) + 0.0,
        "well_formed": well_formed,
    }
