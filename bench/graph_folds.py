"""Labels of whole graphs by ten folds, through `weft.train` and `Run.evaluate` as a user has them.

    python bench/graph_folds.py MUTAG.txt.gz [--model graph-transformer] [--folds 10] [--epochs 60]

The file is a text of the TU collection. Every class is dealt to the folds in a shuffled order (`--seed`). A fold's
training part alone is handed to `weft.train`, which holds out a tenth of it to choose the weights by; the fold itself
is measured once, at the end, and chooses nothing.
"""

import argparse
import gzip
import json
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

import weft

ROWS = 32  # graphs in a step


def graphs_in(path: Path) -> list[tuple[str, list[str]]]:
    """The graphs of a text, each as its label and its lines."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    lines = [line for line in text.splitlines() if line.strip()]
    found, place = [], 1
    for _ in range(int(lines[0])):
        size, label = lines[place].split()[:2]
        found.append((label, lines[place : place + int(size) + 1]))
        place += int(size) + 1
    return found


def dealt(labels: list[str], folds: int, seed: int) -> np.ndarray:
    """The fold of each graph: every class in a shuffled order, one after the other."""
    chance, by_class = np.random.default_rng(seed), defaultdict(list)
    for place, label in enumerate(labels):
        by_class[label].append(place)
    order = [place for label in sorted(by_class) for place in chance.permutation(by_class[label])]
    found = np.empty(len(labels), int)
    found[order] = np.arange(len(labels)) % folds
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", type=Path)
    parser.add_argument("--model", default="graph-transformer")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    graphs = graphs_in(asked.graphs)
    folds = dealt([label for label, _ in graphs], asked.folds, asked.seed)
    scores = []
    for fold in range(asked.folds):
        with tempfile.TemporaryDirectory() as place:
            files = {}
            for name, chosen in (("train", folds != fold), ("test", folds == fold)):
                some = [lines for (_, lines), own in zip(graphs, chosen, strict=True) if own]
                files[name] = Path(place) / f"{name}.txt"
                files[name].write_text("\n".join([str(len(some)), *(line for one in some for line in one)]) + "\n")
            steps = asked.epochs * -(-int((folds != fold).sum()) // ROWS)
            run = weft.train(
                files["train"], out=Path(place) / "run", task="graph", model=asked.model, preset="small",
                steps=steps, rows=ROWS, seed=asked.seed, quiet=True,
            )  # fmt: skip
            scores.append(run.evaluate(str(files["test"]))["metrics"]["accuracy"])
        print(json.dumps({"fold": fold + 1, "accuracy": round(scores[-1], 4)}), flush=True)
    mean, spread = statistics.mean(scores), statistics.stdev(scores)
    found = {"data": asked.graphs.name, "model": asked.model, "mean": round(mean, 4), "spread": round(spread, 4)}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
