"""Vectors of words beside gensim's: words a second on the same text; analogies and correlations after equal epochs.

    python bench/words.py corpus.txt questions-words.txt       three rounds for the speed, five epochs for the quality

The text has one sentence a line, its words between spaces. Pairs with a likeness are those in gensim's own package.
Both use --threads threads, 100 numbers a word, a window of 5, 5 drawn words, words seen 5 times or more; contestants
take turns. Where others use the machine too, take one thread and compare words for a second of the processor: threads
that wait for each other, as those of matrix products do, lose far more to a busy machine than threads that do not.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

DIM, WINDOW, DRAWN, FEWEST, SAMPLE = 100, 5, 5, 5, 1e-3
HELD_OUT_LINES = 2000  # that weft looks at while it trains; it trains on all lines, as gensim does


class Spent:
    """Seconds of a block: on the clock, and of the processor."""

    def __enter__(self) -> "Spent":
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.clock, self.processor = time.perf_counter() - self._began[0], time.process_time() - self._began[1]


def train_weft(text: Path, folder: Path, contexts: str, epochs: int, seed: int) -> tuple[Spent, Path]:
    """Seconds of training without reading the text, and the run."""
    import weft
    from weft.runs import training

    perform, spent = training.perform, Spent()

    def timed(*given: object, **named: object) -> object:
        with spent:
            return perform(*given, **named)

    training.perform = timed
    few = folder / "few.txt"
    few.write_text("\n".join(text.read_text().splitlines()[:HELD_OUT_LINES]))
    out = folder / f"weft-{contexts}-{epochs}-{seed}"
    run = weft.train(
        text, task="embed-words", valid=few, out=out, epochs=epochs, seed=seed, contexts=contexts, dim=DIM,
        window=WINDOW, negatives=float(DRAWN), fewest=FEWEST, sample=SAMPLE, quiet=True,
    )  # fmt: skip
    training.perform = perform
    return spent, run.folder


def train_gensim(
    sentences: list[list[str]], contexts: str, epochs: int, seed: int, threads: int
) -> tuple[Spent, object]:
    """Seconds of training without counting the words, and the vectors."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=DIM, window=WINDOW, min_count=FEWEST, sg=int(contexts == "skip-gram"), workers=threads,
        sample=SAMPLE, negative=DRAWN, seed=seed, epochs=epochs,
    )  # fmt: skip
    model.build_vocab(sentences)
    with Spent() as spent:
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    return spent, model.wv


def measured(run: Path, questions: Path, pairs: list[str]) -> dict[str, float]:
    """Analogies and correlations as `weft evaluate` gives them."""
    import weft

    loaded = weft.load(run)
    found = {"analogies": loaded.evaluate(questions)["metrics"]["analogies"]}
    return {**found, **{Path(path).stem: loaded.evaluate(path)["metrics"]["correlation"] for path in pairs}}


def main() -> None:
    """Race, then quality."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--contexts", default="skip-gram", choices=["skip-gram", "cbow"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    given = parser.parse_args()
    import torch
    from gensim.test.utils import datapath

    from weft.runs.importing import import_run

    torch.set_num_threads(given.threads)
    sentences = [line.split() for line in given.corpus.read_text().splitlines()]
    words = sum(map(len, sentences))
    pairs = [datapath("wordsim353.tsv"), datapath("simlex999.txt")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds: dict[str, list[Spent]] = {"weft": [], "gensim": []}
        for turn in range(given.rounds):
            for who in ("weft", "gensim") if turn % 2 == 0 else ("gensim", "weft"):
                load = os.getloadavg()[0]
                if who == "weft":
                    took, _ = train_weft(given.corpus, folder, given.contexts, 1, turn)
                else:
                    took, _ = train_gensim(sentences, given.contexts, 1, turn, given.threads)
                seconds[who].append(took)
                rates = (
                    f"{words / took.clock:>10,.0f} words/s {words / took.processor:>10,.0f} for a processor's second"
                )
                print(f"round {turn + 1}  {who:<7} {rates}   (load before: {load:.1f})", flush=True)
        for who, times in seconds.items():
            for kind in ("clock", "processor"):
                each = [words / getattr(one, kind) for one in times]
                print(
                    f"{who:<7} by the {kind:<9}: best {max(each):>10,.0f}, "
                    f"median {statistics.median(each):>10,.0f} words/s"
                )
        if given.epochs:
            _, run = train_weft(given.corpus, folder, given.contexts, given.epochs, 1)
            print("weft  ", measured(run, given.questions, pairs), flush=True)
            _, vectors = train_gensim(sentences, given.contexts, given.epochs, 1, given.threads)
            vectors.save_word2vec_format(str(folder / "gensim.bin"), binary=True)
            import_run(folder / "gensim.bin", folder / "gensim")
            print("gensim", measured(folder / "gensim", given.questions, pairs))


if __name__ == "__main__":
    main()
