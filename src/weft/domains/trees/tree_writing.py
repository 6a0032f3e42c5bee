"""Trees written symbol by symbol by a run's encoder–decoder, under the rule of trees. Knows no files."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from weft.domains.pairs.reading.texts import Held
from weft.domains.pairs.writing import AnsweredSources, Bound, TextWriter, WrittenText, answer_all
from weft.domains.texts.codec.text import TextCodec
from weft.domains.trees.codec import SymbolCodec
from weft.domains.trees.encoded import from_symbols, linearise, to_symbols
from weft.domains.trees.reading.notation import read_tree
from weft.domains.trees.reading.tree import TAG
from weft.domains.trees.well_formed import Alphabet, TreeRule
from weft.errors import DataError
from weft.generate.decode import Decoding
from weft.tasks.codec import Codecs
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.request import Loaded
from weft.training.progress import Progress


def spelling(codecs: Codecs) -> Callable[[str], str]:
    """How a run's decoder writes a tree in brackets."""
    codec = codecs["target"]
    if not isinstance(codec, SymbolCodec):
        return to_symbols
    known = frozenset(codec.names)
    commonest = {sign: next(name for name in codec.names if name[0] == sign) for sign in "()"}

    def spelt(tree: str) -> str:
        symbols = linearise(read_tree(tree)).split(" ")
        return " ".join(s if s in known else commonest[s[0]] for s in symbols)  # labels that were never learned

    return spelt


def alphabet_of(codecs: Codecs) -> Alphabet | None:
    """The symbols that a run's decoder writes; None where it is not known which labels it learned."""
    codec, labels = codecs["target"], codecs.get("labels")
    if isinstance(codec, SymbolCodec):
        ids = {name: (i + 1,) for i, name in enumerate(codec.names)}
        return Alphabet([name[1:] for name in codec.names if name[0] == "("], ids, codec.marks.end)
    if not isinstance(labels, ClassCodec) or not isinstance(codec, TextCodec) or not codec.tokenizer.cuts_at_words:
        return None
    letters = {
        TAG: TAG,
        **{f"{sign}{label}": f"{letter}{label}" for sign, letter in ("(o", ")c") for label in labels.names},
    }
    spelt = [codec.ids([before + text for text in letters.values()]) for before in (" ", "")]
    later, first = (dict(zip(letters, (tuple(one.tolist()) for one in side), strict=True)) for side in spelt)
    try:
        return Alphabet(labels.names, later, codec.marks.end, first)
    except DataError:
        return None  # a vocabulary that cannot tell the symbols apart


class TreeWriter:
    """Parses sentences by the model and codecs of a run. A run that does not name its labels writes without a rule."""

    def __init__(self, run: Loaded):
        self.writer, self.alphabet = TextWriter(run), alphabet_of(run.codecs)
        self.spelt = spelling(run.codecs)

    def write(self, texts: Sequence[str], how: Decoding, progress: Progress | None = None) -> list[list[WrittenText]]:
        """Trees of sentences, whose words have white space between them, as symbols.

        `how.max_tokens` may be too few for any tree of a sentence: what was written up to there is then the answer.
        """
        found = self.writer.write(texts, how, progress, self._bound(cut=how.max_tokens is not None))
        if isinstance(self.writer.target, SymbolCodec):
            return found
        return [[(from_symbols(text), hypothesis) for text, hypothesis in best] for best in found]

    def answers(self, run: Loaded, held: Sequence[Held], progress: Progress) -> AnsweredSources:
        """Trees of held-out sentences; without those that the model has no room for."""
        ids = self.writer.source_ids([one.source for one in held])
        fitting = [one for one, source in zip(held, ids, strict=True) if self._fits(one.source, len(source))]
        found = answer_all(self.writer, fitting, self.write, run.usual(Decoding), self.spelt, progress)
        return replace(found, long=found.long + len(held) - len(fitting))

    def _bound(self, *, cut: bool = False) -> Bound | None:
        """The rule for a sentence's tree. `cut`: the smallest tree is allowed even if the search stops early."""
        if (alphabet := self.alphabet) is None:
            return None

        def rule(text: str, limit: int) -> TreeRule:
            words = len(text.split())
            return TreeRule(alphabet, words, max(limit, alphabet.fewest(words) + 1) if cut else limit)

        return rule

    def _fits(self, text: str, tokens: int) -> bool:
        try:
            return (bound := self._bound()) is None or bound(text, self.writer.limit(tokens + 1)) is not None
        except DataError:
            return False
