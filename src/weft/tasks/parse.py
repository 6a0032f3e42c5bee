"""parse: learn to parse sentences from bracketed trees. Sentence in, tree out, as one sequence of symbols."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.data.readers import trees
from weft.data.readers.pair_texts import Held, Pair
from weft.data.readers.trees import read_tree, read_trees
from weft.data.samples.trees import sample_trees
from weft.data.survey import Judgement, Survey
from weft.data.trees import Tree, draw, labelled_f1, linearise, parse_linear, sentence
from weft.errors import ConfigError
from weft.generate.beam import Hypothesis
from weft.generate.decode import Decoding
from weft.tasks.pair_data import PairData, grouped, held_apart, stem
from weft.tasks.pair_plan import PairTraining
from weft.tasks.sequences import PairTask
from weft.tasks.task import Loaded
from weft.training.progress import Progress

APART = re.compile(r"([.,:;!?()\"]+)(?=\s|$)")  # marks that treebanks write as words of their own


class Parse(PairTask):
    """Constituency parsing as translation into brackets (Vinyals et al., 2015; Vaswani et al., 2017)."""

    name = "parse"
    summary = "learn to parse sentences from bracketed trees"
    files = "bracketed trees as .mrg, .parse, .ptb or .tree(s), gzip of these, or a folder of them"
    sample = "trees of weft's own small English grammar"
    example = "the dog sees the old man in the park ."

    def judge(self, survey: Survey) -> Judgement:
        return trees.judge(survey)

    def read(self, sources: Sequence[str], valid: str | None, settings: PairTraining) -> PairData:
        for name in ("source", "target", "skip"):
            if getattr(settings, name) is not None:
                raise ConfigError("trees have no columns or rows to choose", where=f"--set {name}", fix="leave it out")
        if sources:
            trees = read_trees(sources)
            rows, mark, notes = [_pair(tree) for tree in trees], trees.fingerprint, tuple(trees.report())
            described, skipped = ", ".join(Path(source).name for source in sources[:3]), trees.skipped
        else:
            sample = sample_trees()
            rows, mark, skipped = [_pair(tree) for tree in sample], f"sample {len(sample)}", ()
            notes, described = (f"{len(rows):,} trees",), "weft's own small grammar"
        held = None
        if valid is not None:
            other = read_trees([valid])
            held = ([_pair(tree) for tree in other], other.fingerprint, valid)
        train, held_out, fingerprint, rule = held_apart(rows, mark, held)
        return PairData(
            train=train,
            held_out=held_out,
            columns=("sentence", "tree"),
            fingerprint=fingerprint,
            rule=rule.replace("sources", "sentences").replace("translations", "trees"),
            described=described,
            notes=notes,
            skipped=tuple(skipped),
        )

    def read_held(self, run: Loaded, data: Sequence[str]) -> tuple[Sequence[Held], str]:
        return grouped([_pair(tree) for tree in read_trees(data)]), ", ".join(data)

    def measures(self, found: Sequence[str], held: Sequence[Held]) -> tuple[dict[str, float], dict[str, Any]]:
        """Labelled bracket precision, recall and F1 as evalb has them, and the share of outputs that were well formed."""
        gold = [read_tree(one.references[0]) for one in held]
        parsed = [parse_linear(_symbols(text), one.source.split()) for text, one in zip(found, held, strict=True)]
        scores = labelled_f1(gold, [one.tree for one in parsed], well_formed=[one.well_formed for one in parsed])
        shares = {name: float(scores[name]) for name in ("f1", "precision", "recall", "exact", "well_formed")}
        return shares, {name: int(scores[name]) for name in ("matched", "gold", "found")}

    def stem(self, sources: Sequence[str]) -> str:
        return stem(sources) if sources else "trees"

    def answer(self, run: Loaded, text: str, found: tuple[str, Hypothesis]) -> dict[str, Any]:
        answer, hypothesis = found
        words = _apart(text).split()
        if not words:
            return {"source": text, "text": "", "score": 0.0, "well_formed": True}
        parsed = parse_linear(_symbols(answer), words)
        return {"source": text, "text": str(parsed.tree), "score": round(hypothesis.score, 4),
                "well_formed": parsed.well_formed and hypothesis.ended}  # fmt: skip

    def spelt(self, target: str) -> str:
        """A tree as the symbols that the model learns: oNP and cNP for the brackets of a noun phrase, each one word."""
        symbols = linearise(read_tree(target)).split(" ")
        return " ".join({"(": "o", ")": "c"}.get(s[0], s[0]) + s[1:] for s in symbols)

    def find(
        self, run: Loaded, texts: Sequence[str], how: Decoding, progress: Progress | None = None
    ) -> list[list[tuple[str, Hypothesis]]]:
        """As for all pairs; marks that stick to words are taken for words of their own."""
        return super().find(run, [_apart(text) for text in texts], how, progress)

    def shown(self, prediction: Mapping[str, Any]) -> str:
        return draw(read_tree(prediction["text"])) if prediction["text"] else ""


def _pair(tree: Tree) -> Pair:
    return Pair(sentence(tree), str(tree))


def _apart(text: str) -> str:
    return " ".join(APART.sub(r" \1", text).split())


def _symbols(text: str) -> str:
    """What `spelt` wrote, as brackets again."""
    return " ".join({"o": "(", "c": ")"}.get(s[0], s[0]) + s[1:] for s in text.split())
