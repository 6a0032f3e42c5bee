"""Parsers: their models, the ends of their samples, and the sizes that suit a budget. Pure arithmetic."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from weft.domains.pairs import recipe as pairs
from weft.domains.pairs.dataset import PairData
from weft.domains.pairs.encoded import PairIds
from weft.domains.texts.codec.text import TextCodec
from weft.domains.texts.encoded.whole_texts import TaggedIds
from weft.domains.texts.recipe import encoders
from weft.domains.texts.recipe.language import trunk_weights
from weft.domains.trees.codec import GapCodec, SymbolCodec
from weft.domains.trees.encoded import gaps_of
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import ROOT, TAG, leaves, walk
from weft.domains.trees.settings import ParseTraining
from weft.errors import ConfigError
from weft.modalities.encoding import ended
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.models.zoo import Size
from weft.models.zoo.parsing import gaps, next_word
from weft.models.zoo.translation import TRANSLATION_MODELS
from weft.tasks.codec import Codecs
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.recipe import Dropout, MinEpochs, Recipe, check_vocabulary, with_model_settings, with_own_numbers
from weft.tasks.request import Draft, Loaded

FORMS = {"next-word": "symbols", "gaps": "gaps"}  # how models learn trees, by their names; others learn them as text
VOCAB = 4096  # word pieces of sentences: most words are one piece
DEPTHS = 4  # classes of how many brackets are open between two words: none, 1, 2, more
MIN_EPOCHS = MinEpochs(12.5)  # of a tagger of gaps
GAP_TOKENS = 2048
DROPOUT = Dropout((0.0, 0.1, 0.3), few=1.0, many=5.0)  # treebanks are small, and soon learned by heart
RECIPE = Recipe(
    models={"next-word": next_word, "gaps": gaps, **TRANSLATION_MODELS},
    presets=pairs.PRESETS,
    default="next-word",
    rates={
        **pairs.RECIPE.rates,
        "next-word": {**pairs.RECIPE.rates["swift"], "form": "symbols"},
        "gaps": {**encoders.RECIPE.rates["swift"], "form": "gaps"},
    },
    kept=(*pairs.RECIPE.kept, "form", "rows"),
    frozen=pairs.RECIPE.frozen,
    efficiency=pairs.RECIPE.efficiency,
)
ENDS = ("source", "target", "labels", "text", "gaps")  # of the samples, in one form or another
ParseIds = PairIds | TaggedIds
ParseDraft = Draft[PairData, Any, ParseTraining]


def tree_codecs(data: PairData, training: ParseTraining, known: Codecs, spelt: Any) -> Codecs:
    """Both ends of the samples, in the form in which trees are learned."""
    if known:
        return {name: codec for name, codec in known.items() if name in ENDS}
    trees = [read_tree(pair.target) for pair in data.train]
    counts = Counter(node.label for tree in trees for event, node in walk(tree) if event == "open")
    labels = [label for label, _ in counts.most_common()] or [ROOT]
    if training.form == "text":
        names = ClassCodec(ClassCodec.Config(names=tuple(labels)))
        return {**pairs.pair_codecs(data, training, known, spelt), "labels": names}
    text = sentence_codec([pair.source for pair in data.train], training)
    if training.form == "symbols":
        symbols = [TAG, *(f"({label}" for label in labels), *(f"){label}" for label in labels)]
        return {"source": text.in_role("source"), "target": SymbolCodec.of(symbols)}
    found = [gap for tree in trees for gap in gaps_of(tree)]
    opens = [opens for opens, _ in Counter(opens for opens, _ in found).most_common()]
    if not any(opens):
        opens.append(ROOT)
    tags = [tag for tag, _ in Counter(leaf.label for tree in trees for leaf in leaves(tree)).most_common()]
    config = GapCodec.Config(
        opens=tuple(opens),
        closes=max(closes for _, closes in found) + 1,
        depths=DEPTHS,
        tags=tuple(tags) if len(tags) > 1 else (),
    )
    return {"text": text, "gaps": GapCodec(config)}


def sentence_codec(sentences: Sequence[str], training: ParseTraining) -> TextCodec:
    """The codec of sentences alone."""
    kind = training.tokenizer or "bpe"
    vocab = training.vocab or (VOCAB if kind == "bpe" else None)
    characters = sum(map(len, sentences))
    return TextCodec.learn(ended(sentences), kind, vocab, characters=characters, symbols=training.symbols)


def check_form(draft: ParseDraft) -> str:
    """The name of the model; refused where another form was asked for than the one it learns."""
    name = RECIPE.model_name(draft.request)
    form = FORMS.get(name, "text")
    if draft.training.form != form:
        fits = next((model for model, other in FORMS.items() if other == draft.training.form), "swift")
        problem = f"the model {name} learns trees as {form}, not as {draft.training.form}"
        raise ConfigError(problem, where="--set form", fix=f"leave it out, or ask for --model {fits}")
    return name


def tree_writer(draft: ParseDraft) -> tuple[Seq2Seq.Config, ParseTraining]:
    """An encoder–decoder, and the settings with everything decided."""
    encoded = draft.encoded
    symbols = encoded.other_targets
    if not isinstance(symbols, SymbolCodec):
        return pairs.encoder_decoder(draft, RECIPE)
    tokenizer = encoded.given.tokenizer
    if not tokenizer.word_starts:
        problem = "the tokens of this tokenizer do not show where a word begins"
        raise ConfigError(problem, where="--set tokenizer", fix="leave it out, or ask for --model gaps")
    words = (*tokenizer.word_starts, tokenizer.end)
    leaf = symbols.names.index(TAG) + 1

    def make(size: Size, dropout: float) -> Seq2Seq.Config:
        return next_word(size, vocab=tokenizer.size, words=words, symbols=symbols.size, leaf=leaf, dropout=dropout)

    return pairs.encoder_decoder(draft, RECIPE, make, DROPOUT)


def gap_tagger(draft: ParseDraft) -> tuple[Stream.Config, ParseTraining]:
    """An encoder that tags gaps, and the settings with everything decided."""
    request, training, encoded = draft.request, draft.training, draft.encoded
    tokenizer, amount = encoded.codec.tokenizer, encoded.amount

    def cost(size: Size) -> float:
        return 6 * trunk_weights(size) + 12 * size.depth * size.dim * encoders.USUAL_LENGTH

    size = encoders.PRESETS.get(request.preset or "") or draft.sizing.choose(
        encoders.LADDER, cost, amount.tokens, lambda ladder, seen: MIN_EPOCHS.choose(ladder, seen, amount.tokens)
    )
    epochs = draft.sizing.operations / cost(size) / max(1, amount.tokens)
    context = min(encoders.MOST_CONTEXT, max(encoders.LEAST_CONTEXT, 2 * amount.longest))
    size = with_own_numbers(replace(size, context=context), training)
    dropout = DROPOUT.of(epochs) if training.dropout is None else training.dropout
    outputs = sum(draft.codec("gaps", GapCodec).sizes)
    config = with_model_settings(gaps(size, vocab=tokenizer.size, outputs=outputs, dropout=dropout), request)
    check_vocabulary(config, tokenizer.size)
    return config, training.replace(
        dim=config.dim,
        depth=len(config.trunk.all_blocks()),
        heads=size.heads,
        context=size.context,
        dropout=dropout,
        tokenizer=training.tokenizer or tokenizer.kind,
        tokens=training.tokens or GAP_TOKENS,
    )


def tree_facts(run: Loaded) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    text = run.codecs.get("text", run.codecs.get("source"))
    assert isinstance(text, TextCodec)
    return {"pairs": f"{run.data.amount('pairs')} ({' -> '.join(run.data.columns)})", "tokens": text.in_words()}
