"""A look at the tree of a sentence: what a run's parser read for each bracket, or at each word where it tags gaps."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.batches.samples import PaddedIds
from weft.domains.pairs.views import readings_of, seq2seq_readers
from weft.domains.pairs.writing import TextWriter
from weft.domains.texts.views.reading import text_reading
from weft.domains.trees.codec import SymbolCodec
from weft.domains.trees.encoded import apart, from_symbols, parse_linear
from weft.domains.trees.gap_tagging import GapTagger
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import TAG, Tree, normal, walk, words
from weft.domains.trees.tree_writing import TreeWriter
from weft.domains.trees.views.tree import LookAtTree, TreeView
from weft.errors import DataError, WeftError
from weft.generate.decode import Decoding
from weft.inspect.alignment import END, Alignment, Span, piece_labels, piece_spans
from weft.inspect.steps import Steps
from weft.inspect.token_steps import StepView
from weft.inspect.views import LookedAnswer, View
from weft.inspect.weights import weights_of
from weft.modalities.text import TextEmbed
from weft.tasks.request import Loaded

WORD = re.compile(r"\S+")


def look_at_tree(run: Loaded, text: str, how: LookAtTree) -> View:
    """The tree of a sentence with what was read for it, or one token of it step by step."""
    sentence = apart(text)
    if not sentence:
        raise WeftError("a blank text has no tree", where="weft look", fix="give a sentence")
    given = None if how.target is None else _given(how.target, sentence)
    return _of_gaps(run, sentence, given, how) if "gaps" in run.codecs else _of_symbols(run, sentence, given, how)


def _given(target: str, sentence: str) -> Tree:
    """A tree in brackets that a user gives, over the words of the sentence."""
    tree = normal(read_tree(target))
    if tree is None or words(tree) != sentence.split():
        found = "none" if tree is None else " ".join(words(tree))
        raise DataError(f"expected a tree over the words {sentence!r}, found {found!r}", where="target")
    return tree


def _of_symbols(run: Loaded, sentence: str, given: Tree | None, how: LookAtTree) -> View:
    """What an encoder–decoder read when it wrote each symbol."""
    trees = TreeWriter(run)
    writer = trees.writer
    if given is None:
        symbols, best = trees.write([sentence], Decoding(beam=how.beam))[0][0]
        ids, tree = list(best.ids), parse_linear(symbols, sentence.split()).tree
        answer = LookedAnswer(((str(tree), math.exp(best.log_probability)),), "tree")
    else:
        tree, spelt = given, trees.spelt(str(given))
        ids = writer.target_ids([spelt])[0].tolist()
        loss, _ = writer.score([(sentence, spelt)])
        answer = LookedAnswer(((str(tree), math.exp(-loss)),), "given tree")
    reading = SymbolReading(writer, sentence, ids)
    if how.token is not None:
        return StepView(reading.steps(how), sentence, answer)
    return TreeView(
        tree, reading.alignment(how.pieces), how.chosen, answer, framed=() if how.pieces else reading.framed
    )


class SymbolReading:
    """What was read for each symbol of a tree, in one pass over the sentence and the symbols."""

    def __init__(self, writer: TextWriter, sentence: str, ids: Sequence[int]):
        self.model, self.tokenizer, codec = writer.model, writer.source.tokenizer, writer.target
        self.words = sentence.split()
        self.source = [*writer.source_ids([sentence])[0].tolist(), *writer.source.marks.after]
        given = PaddedIds.of([np.array(self.source)]).to(next(self.model.parameters()).device).raw()
        self.readings = readings_of(self.model, given, [codec.marks.start, *ids])
        self.spelt = codec.decode(ids)
        self.names: list[str]
        self.spans: list[Span | None]
        if isinstance(codec, SymbolCodec):
            self.names, self.spans = [*self.spelt.split(), END], [None] * (len(ids) + 1)
        else:
            target = [*ids, codec.marks.end]
            self.names, self.spans = piece_labels(codec.tokenizer, target), piece_spans(codec.tokenizer, target)

    @property
    def framed(self) -> list[int]:
        """For each symbol the column of the next unread word, where the decoder is given its encoding."""
        embed = self.model.config.target.embed
        if not isinstance(embed, TextEmbed.Config) or embed.counted is None:
            return []
        return [self.names[:row].count(TAG) for row in range(len(self.names))]

    def alignment(self, pieces: bool) -> Alignment:
        """How much each symbol read of each word; with `pieces`, each token of each token."""
        found = Alignment(
            source=tuple(piece_labels(self.tokenizer, self.source)),
            target=tuple(self.names),
            weights=weights_of(self.readings["across"]),
            source_spans=tuple(piece_spans(self.tokenizer, self.source)),
            target_spans=tuple(self.spans),
        )
        if not pieces:
            found = found.by_words(self.tokenizer.decode(self.source), self.spelt, apart_by_white_space)
        return replace(found, target=tuple(symbol_names(found.target, self.words)))

    def steps(self, how: LookAtTree) -> Steps:
        """The numbers of one token in one head."""
        assert how.token is not None
        source, target = piece_labels(self.tokenizer, self.source), symbol_names(self.names, self.words)
        return seq2seq_readers(self.model, self.readings, source, target, how.side).steps(how.token, how.chosen)


def apart_by_white_space(text: str) -> list[Span]:
    """Where each word of a sentence of a treebank begins and ends."""
    return [found.span() for found in WORD.finditer(text)]


def symbol_names(symbols: Sequence[str], words: Sequence[str]) -> list[str]:
    """The symbols of a tree as people read them: (NP opens a phrase, NP) closes it, and each XX is its word."""
    left, found = iter(words), list[str]()
    for symbol in symbols:
        bare = symbol.strip()
        bare = from_symbols(bare) if bare[:1] in ("o", "c") and len(bare) > 1 else bare
        if bare == TAG:
            found.append(next(left, TAG))
        else:
            found.append(f"{bare[1:]})" if bare[:1] == ")" and len(bare) > 1 else bare or symbol)
    return found


def _of_gaps(run: Loaded, sentence: str, given: Tree | None, how: LookAtTree) -> View:
    """What an encoder read at each word to find what opens before it and how much closes after it."""
    tagger, words = GapTagger(run), sentence.split()
    if given is None:
        symbols, best = tagger.write([sentence])[0][0]
        tree, chance, called = parse_linear(symbols, words).tree, best.log_probability, "tree"
    else:
        tree, chance, called = given, tagger.score(sentence, given), "given tree"
    answer = LookedAnswer(((str(tree), math.exp(chance)),), called)
    ids, places = tagger.framed(sentence)
    view = text_reading(tagger.model, tagger.text.tokenizer, ids, sentence, how.chosen, answer)
    if how.token is not None:
        return StepView(view.steps(how.token), sentence, answer)
    if how.pieces:
        return TreeView(tree, view.attention, how.chosen, answer)
    marks = len(tagger.text.marks.after)
    return TreeView(tree, _by_gaps(view.attention, places, marks, tree), how.chosen, answer, first=int(places[0]))


def _by_gaps(pieces: Alignment, places: np.ndarray, marks: int, tree: Tree) -> Alignment:
    """A row for each word with its brackets, read at its first token; a column for each word and each mark around them.

    Behind the sentence are this many `marks`.
    """
    tokens = len(pieces.source)
    columns = [*range(int(places[0])), *(int(place) for place in places), *range(tokens - marks, tokens)]
    ends = [*columns[1:], tokens]
    summed = [pieces.weights[..., places, start:end].sum(-1) for start, end in zip(columns, ends, strict=True)]
    leaves = iter(words(tree, plain=False))
    first = {int(place) for place in places}
    named = [next(leaves) if column in first else pieces.source[column] for column in columns]
    return Alignment(source=tuple(named), target=tuple(gap_names(tree)), weights=np.stack(summed, -1))


def gap_names(tree: Tree) -> list[str]:
    """For each word of a tree the brackets that open before it, the word, and those that close after it."""
    found, opened = list[str](), list[str]()
    for event, node in walk(tree):
        if event == "open":
            opened.append(f"({node.label}")
        elif event == "leaf":
            found.append(" ".join([*opened, node.word]))
            opened = []
        else:
            found[-1] += f" {node.label})"
    return found
