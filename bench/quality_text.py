"""How well texts are labelled after some minutes: `weft train` from scratch and from a checkpoint, beside TF-IDF.

    python bench/quality_text.py --data sst2.train.tsv.gz --test sst2.dev.tsv.gz --minutes 5 --from runs/minilm
    python bench/quality_text.py --data agnews.tsv.gz --minutes 5 --text 2,3 --label 1
    python bench/quality_text.py --data sst2.train.tsv.gz --test sst2.dev.tsv.gz --few 500 --fill reviews.txt --seeds 3

Without --test a tenth of the data, drawn once, is set apart before anything is trained. TF-IDF is scikit-learn's with
words and pairs of words, under logistic regression. `--few` fine-tunes on so many texts, after filling in blanks in
running text (`fill-mask`), or from a checkpoint (--from), beside training on these from scratch.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from report import Table, arguments, hand_in

from weft.domains.texts.reading.labelled import read_labelled
from weft.domains.texts.reading.labelled_texts import Example
from weft.inspect.curves import chart
from weft.inspect.figures import sheet
from weft.objectives.measures.classes import wilson


def weft(*words: str) -> dict[str, Any]:
    """One command of weft's; returns its report."""
    command = [str(Path(sys.executable).with_name("weft")), *words, "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def table(rows: list[Example], path: Path) -> str:
    """Texts and labels as a file."""
    path.write_text(
        "\n".join(json.dumps({"text": row.text, "label": row.label}, ensure_ascii=False) for row in rows) + "\n"
    )
    return str(path)


def parts(given: Any, folder: Path) -> tuple[list[Example], list[Example]]:
    """What is trained on, and the test; labels with a colon by their first half, as TREC's coarse ones."""

    def read(path: str) -> list[Example]:
        found = read_labelled(path, text=given.text, label=given.label, fewest=2)
        return [Example(row.text, row.label.split(":")[0]) for row in found.rows]

    rows = read(given.data)
    if given.test:
        return rows, read(given.test)
    order = np.random.default_rng(0).permutation(len(rows))
    cut = len(rows) // 10
    return [rows[i] for i in order[cut:]], [rows[i] for i in order[:cut]]


def tf_idf(train: list[Example], test: list[Example]) -> float:
    """Accuracy of logistic regression on counts of words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(C=10, max_iter=1000)
    )
    model.fit([row.text for row in train], [row.label for row in train])
    return float(model.score([row.text for row in test], [row.label for row in test]))


def trained(data: str, test: str, minutes: float, out: Path, *more: str) -> dict[str, Any]:
    """A run and its score on the test."""
    report = weft(
        "train", data, "--task", "classify-text", "--minutes", str(minutes), "--out", str(out), "--set",
        "text_column=text", "--set", "label_column=label", *more,
    )  # fmt: skip
    scored = weft("evaluate", str(out), test)
    return {**report, "test": scored["metrics"]["accuracy"]}


def minutes(given: Any, folder: Path) -> Table:
    """From scratch, from a checkpoint, and a linear model."""
    train, test = parts(given, folder)
    data, held = table(train, folder / "train.jsonl"), table(test, folder / "test.jsonl")
    scores = {"TF-IDF, linear": tf_idf(train, test)}
    found = trained(data, held, given.minutes, folder / "scratch", *given.more)
    scores[f"weft from scratch, {found['parameters'] / 1e6:.2f} M"] = found["test"]
    if given.start:
        found = trained(data, held, given.minutes, folder / "tuned", "--from", given.start, *given.tuned)
        scores[f"weft from {Path(given.start).name}, {found['parameters'] / 1e6:.1f} M"] = found["test"]
    lines = [
        [name, f"{score:.3f}", "{:.3f} to {:.3f}".format(*wilson(round(score * len(test)), len(test)))]
        for name, score in scores.items()
    ]
    title = (
        f"{Path(given.data).name}: {len(train):,} texts to train on, {given.minutes:g} minutes, {len(test):,} to test"
    )
    return Table(title, ["model", "accuracy", "95 % interval"], lines)


def same_model(run: Path) -> list[str]:
    """Words that give a run from scratch the size and the tokens of another."""
    sizes = json.loads((run / "config.json").read_text())["training"]
    words = [w for n in ("dim", "depth", "heads") for w in ("--set", f"{n}={sizes[n]}")]
    return [*words, "--set", f"tokenizer={run / 'tokenizer.json'}"]


def few(given: Any, folder: Path) -> Table:
    """Few labels: after filling in blanks, and from scratch with the same model."""
    train, test = parts(given, folder)
    held, alike = table(test, folder / "test.jsonl"), []
    if given.start:
        first = Path(given.start)
        own = "imported" not in json.loads((first / "config.json").read_text())
        alike = same_model(first) if own else []
    else:
        first = folder / "filling"
        weft("train", given.fill, "--task", "fill-mask", "--minutes", str(given.fill_minutes), "--out", str(first))
        alike = same_model(first)
    rows, gains = [], []
    for seed in range(given.seeds):
        chosen = np.random.default_rng(seed).permutation(len(train))[: given.few]
        data = table([train[i] for i in chosen], folder / f"few-{seed}.jsonl")
        fine = trained(
            data, held, given.minutes, folder / f"fine-{seed}", "--from", str(first), "--seed", str(seed), *given.tuned
        )
        plain = trained(data, held, given.minutes, folder / f"plain-{seed}", *alike, "--seed", str(seed))
        linear = tf_idf([train[i] for i in chosen], test)
        gains.append(fine["test"] - plain["test"])
        rows.append([seed, f"{fine['test']:.3f}", f"{plain['test']:.3f}", f"{linear:.3f}", f"{gains[-1]:+.3f}"])
    error = float(np.std(gains, ddof=1) / len(gains) ** 0.5) if len(gains) > 1 else float("nan")
    if given.picture:
        given.picture.write_bytes(drawn(rows, given.few))
    note = f"Mean gain {np.mean(gains):+.3f}, standard error {error:.3f}, over {len(gains)} draws of the texts."
    columns = ["draw", "fine-tuned", "from scratch", "TF-IDF, linear", "gain"]
    return Table(f"{given.few} labelled texts", columns, rows, note)


def drawn(rows: list[list[Any]], count: int) -> bytes:
    """The accuracies of each draw."""
    names = ("fine-tuned", "from scratch", "TF-IDF, linear")
    series = {name: [(row[0] + 1, float(row[1 + i])) for row in rows] for i, name in enumerate(names)}
    with sheet("png") as on:
        on.text(0, -0.12, f"{count} labelled texts", size=12, va="bottom")
        chart(on.axis(0, 0, 4.6, 3.2), series, x="draw of the texts", y="accuracy")
        return on.bytes()


def measure(given: Any) -> list[Table]:
    """What was asked for."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(given.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        return [few(given, folder) if given.few else minutes(given, folder)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", required=True, metavar="DATA")
    parser.add_argument("--test", metavar="DATA")
    parser.add_argument("--text", metavar="COLUMN")
    parser.add_argument("--label", metavar="COLUMN")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--from", dest="start", metavar="RUN")
    parser.add_argument("--few", type=int, metavar="N")
    parser.add_argument("--fill", metavar="TEXT", help="running text to fill in blanks of, with --few")
    parser.add_argument("--fill-minutes", type=float, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--more", nargs="*", default=[], metavar="WORD", help="further words for weft train from scratch"
    )
    parser.add_argument("--tuned", nargs="*", default=[], metavar="WORD", help="further words for weft train --from")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the runs there")
    hand_in(measure(found := parser.parse_args()), found.json)
