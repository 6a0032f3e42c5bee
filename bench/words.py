"""Vectors of words beside gensim's: words a second on the same text, and analogies and correlations after as many rounds.

    python bench/words.py corpus.txt questions-words.txt            three rounds for the speed, five epochs for the quality

The text has one sentence a line, its words between spaces. Pairs with a likeness are those in gensim's own package. Both use
two threads, 100 numbers a word, a window of 5, 5 drawn words, words seen 5 times or more; contestants take turns.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

THREADS = 2
DIM, WINDOW, DRAWN, FEWEST, SAMPLE = 100, 5, 5, 5, 1e-3
HELD_OUT_LINES = 2000  # that weft looks at while it trains; it trains on all lines, as gensim does


def train_weft(text: Path, folder: Path, contexts: str, epochs: int, seed: int) -> tuple[float, Path]:
    """Seconds of training, and the run."""
    import weft

    few = folder / "few.txt"
    few.write_text("\n".join(text.read_text().splitlines()[:HELD_OUT_LINES]))
    out = folder / f"weft-{contexts}-{epochs}-{seed}"
    run = weft.train(
        text, task="embed-words", valid=few, out=out, epochs=epochs, seed=seed, contexts=contexts, dim=DIM, window=WINDOW,
        negatives=float(DRAWN), fewest=FEWEST, sample=SAMPLE, quiet=True,
    )  # fmt: skip
    return run.report["seconds"], out


def train_gensim(sentences: list[list[str]], contexts: str, epochs: int, seed: int) -> tuple[float, object]:
    """Seconds of training without counting the words, and the vectors."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=DIM, window=WINDOW, min_count=FEWEST, sg=int(contexts == "skip-gram"), workers=THREADS, sample=SAMPLE,
        negative=DRAWN, seed=seed, epochs=epochs,
    )  # fmt: skip
    model.build_vocab(sentences)
    start = time.perf_counter()
    model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    return time.perf_counter() - start, model.wv


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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    given = parser.parse_args()
    from gensim.test.utils import datapath

    from weft.runs.importing import import_run

    sentences = [line.split() for line in given.corpus.read_text().splitlines()]
    words = sum(map(len, sentences))
    pairs = [datapath("wordsim353.tsv"), datapath("simlex999.txt")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds: dict[str, list[float]] = {"weft": [], "gensim": []}
        for turn in range(given.rounds):
            for who in ("weft", "gensim") if turn % 2 == 0 else ("gensim", "weft"):
                load = os.getloadavg()[0]
                if who == "weft":
                    took, _ = train_weft(given.corpus, folder, given.contexts, 1, turn)
                else:
                    took, _ = train_gensim(sentences, given.contexts, 1, turn)
                seconds[who].append(took)
                print(
                    f"round {turn + 1}  {who:<7} {words / took:>10,.0f} words/s   (load before: {load:.1f})", flush=True
                )
        for who, took in seconds.items():
            print(f"{who}: best {words / min(took):,.0f}, median {words / statistics.median(took):,.0f} words/s")
        if given.epochs:
            _, run = train_weft(given.corpus, folder, given.contexts, given.epochs, 1)
            print("weft  ", measured(run, given.questions, pairs), flush=True)
            _, vectors = train_gensim(sentences, given.contexts, given.epochs, 1)
            vectors.save_word2vec_format(str(folder / "gensim.bin"), binary=True)
            import_run(folder / "gensim.bin", folder / "gensim")
            print("gensim", measured(folder / "gensim", given.questions, pairs))


if __name__ == "__main__":
    main()
