"""How good captions are after some minutes of one core, and whether the models looked.

    python bench/captions.py quality --data train.tsv photos/ --test test.tsv photos/ --models swift --minutes 2 5 10
    python bench/captions.py gain --runs runs/show-attend-tell runs/cnn-lstm --test test.tsv photos/
    python bench/captions.py scenes --models show-attend-tell transformer --minutes 10

`quality` trains a new run for each model and time, on one thread, and measures it on the test with all baselines:
shuffled pictures, the best caption for all, the caption of the nearest training picture. Each result is a line of
`--lines`; what stands there is not trained again, so models can be added one by one, and two calls with files of their
own can run side by side. `--picture` draws all lines. `gain` compares the captions of two runs for the same pictures,
also by the length of the references. `scenes` reports exact captions of combinations that were never seen together, and
how much attention lies inside the region of a word beside the region's share of the picture.
"""

import json
import os
import resource
import subprocess
import sys
from argparse import REMAINDER
from pathlib import Path
from typing import Any

import numpy as np
from report import Table, arguments, hand_in

from weft.domains.captions.measures.captions import CaptionScorer, caption_words
from weft.inspect.curves import chart
from weft.inspect.figures import sheet
from weft.objectives.measures.resampling import bootstrap

BASELINES = {"shuffled_cider_d": "shuffled", "constant_cider_d": "one for all", "nearest_cider_d": "nearest"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
GROUPS = 3  # of pictures by the length of their references


def weft(*words: str) -> dict[str, Any]:
    """One command of weft's on one thread; returns its report."""
    command = [sys.executable, "-m", "weft", *words, "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD})
    return json.loads(done.stdout)


def trained(out: Path, model: str, minutes: float, *words: str) -> dict[str, Any]:
    """A new run: its report, and the minutes of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = ["--task", "caption", "--model", model, "--minutes", str(minutes), "--out", str(out)]
    report = weft("train", *words, *given)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**report, "processor_minutes": round(used / 60, 2)}


def known(path: Path) -> dict[tuple[str, float], dict[str, Any]]:
    """The results that are there already, by model and minutes."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = [json.loads(line) for line in lines if line.strip()]
    return {(one["model"], one["minutes"]): one for one in found}


def quality(given: Any) -> list[Table]:
    """Trains and measures what is missing; gives all results."""
    for model in given.models:
        for minutes in given.minutes:
            if (model, minutes) in known(given.lines):
                continue
            out = given.runs_in / f"{model}-{minutes:g}"
            report = trained(out, model, minutes, *given.data, *given.more)
            found = weft("evaluate", str(out), *given.test)
            kept = {name: report[name] for name in ("steps", "parameters", "processor_minutes")}
            line = {"model": model, "minutes": minutes, **kept, "metrics": found["metrics"], "beside": found["beside"]}
            with given.lines.open("a") as file:
                file.write(json.dumps(line) + "\n")
    found = known(given.lines)
    if given.picture:
        given.picture.write_bytes(drawn(list(found.values())))
    columns = [
        "model",
        "minutes",
        "processor",
        "steps",
        "CIDEr-D",
        "BLEU-4",
        *BASELINES.values(),
        "gain over one for all",
    ]
    return [Table("Captions after some minutes of one core", columns, [row_of(found[key]) for key in sorted(found)])]


def row_of(one: dict[str, Any]) -> list[Any]:
    """A result as a row."""
    metrics, constant = one["metrics"], one["beside"].get("constant")
    gain = "" if constant is None else "{:+.3f} ({:+.3f} to {:+.3f})".format(constant["gain"], *constant["interval"])
    scores = [f"{metrics[name]:.3f}" for name in ("cider_d", "bleu_4")]
    baselines = [f"{metrics[name]:.3f}" if name in metrics else "" for name in BASELINES]
    return [
        one["model"],
        f"{one['minutes']:g}",
        f"{one['processor_minutes']:.1f}",
        one["steps"],
        *scores,
        *baselines,
        gain,
    ]


def drawn(found: list[dict[str, Any]]) -> bytes:
    """Two charts: CIDEr-D with the baselines, and BLEU-4, against minutes."""
    models = list(dict.fromkeys(one["model"] for one in found))

    def points(model: str, name: str) -> list[tuple[float, float]]:
        return [(one["minutes"], one["metrics"][name]) for one in found if one["model"] == model]

    lines = {model: points(model, "cider_d") for model in models}
    lines |= {f"{model}, shuffled": points(model, "shuffled_cider_d") for model in models}
    for name in ("constant_cider_d", "nearest_cider_d"):
        level = [(one["minutes"], one["metrics"][name]) for one in found if name in one["metrics"]]
        lines[BASELINES[name]] = sorted(dict(level).items())
    with sheet("png") as on:
        on.text(0, -0.12, "Captions of pictures that were not trained on", size=12, va="bottom")
        chart(on.axis(0, 0, 4.4, 3.2), lines, x="minutes of training", y="CIDEr-D")
        bleu = {model: points(model, "bleu_4") for model in models}
        chart(on.axis(7.0, 0, 3.2, 3.2), bleu, x="minutes of training", y="BLEU-4", key=False)
        return on.bytes()


def captions_by(path: str, sources: list[str]) -> tuple[list[str], tuple[tuple[str, ...], ...]]:
    """A run's captions for the pictures of a test, and the references."""
    import weft as library
    from weft.domains.captions.writing import Captioning, PictureWriter
    from weft.domains.pictures.given import frames_for

    run = library.load(path)._loaded
    album = library.load(path).task.held_out(run, sources)
    answers = PictureWriter(run).write(frames_for(run, album), Captioning())
    return [best[0][0] for best in answers], album.captions


def gain(given: Any) -> list[Table]:
    """How much better the first run's captions are than the second's: in all, and by the length of references."""
    (first, references), (second, _) = (captions_by(run, given.test) for run in given.runs)
    scorer = CaptionScorer(references)
    gains = scorer.cider_d(first) - scorer.cider_d(second)
    length = np.array([np.mean([len(caption_words(text)) for text in texts]) for texts in references])
    rows = []
    parts = np.array_split(np.argsort(length, kind="stable"), GROUPS)
    for name, places in [("all", np.arange(len(gains))), *((None, part) for part in parts)]:
        some = gains[places]
        low, high = bootstrap(len(some), lambda drawn, some=some: {"gain": float(some[drawn].mean())})["gain"]
        title = name or f"{length[places].min():.1f} to {length[places].max():.1f} words"
        rows.append([title, len(places), f"{some.mean():+.3f}", f"{low:+.3f} to {high:+.3f}"])
    names = " over ".join(Path(run).name for run in given.runs)
    return [Table(f"Gain of {names} in CIDEr-D", ["references", "pictures", "gain", "95 % of resamples"], rows)]


def scenes(given: Any) -> list[Table]:
    """Captions of scenes whose combinations were never seen together, and where the words looked."""
    rows = []
    for model in given.models:
        for minutes in given.minutes:
            out = given.runs_in / f"scenes-{model}-{minutes:g}"
            found = trained(out, model, minutes, *given.more)
            metrics = found["metrics"]
            inside, area = metrics.get("attention_inside"), metrics.get("area_inside")
            ratio = "" if inside is None or area is None else f"{inside / area:.2f}"
            shares = ["" if share is None else f"{share:.3f}" for share in (inside, area)]
            rows.append([model, f"{minutes:g}", f"{found['processor_minutes']:.1f}", found["steps"],
                         f"{metrics['exact']:.3f}", *shares, ratio])  # fmt: skip
    columns = ["model", "minutes", "processor", "steps", "exact", "attention inside", "area", "ratio"]
    return [Table("Scenes with combinations that were never seen together", columns, rows)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("quality", "gain", "scenes"))
    parser.add_argument("--data", nargs="+", default=[], metavar="DATA")
    parser.add_argument("--test", nargs="+", default=[], metavar="DATA")
    parser.add_argument("--models", nargs="+", default=["swift"], metavar="NAME")
    parser.add_argument("--minutes", nargs="+", type=float, default=[10.0])
    parser.add_argument("--runs", nargs=2, metavar="RUN")
    parser.add_argument("--runs-in", type=Path, default=Path("runs/captions"), metavar="FOLDER")
    parser.add_argument("--lines", type=Path, default=Path("captions.jsonl"), metavar="FILE")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    parser.add_argument("--more", nargs=REMAINDER, default=[], metavar="WORD",
                        help="further words for weft train, after all others")  # fmt: skip
    given = parser.parse_args()
    if given.quick:
        given.minutes = [0.1]
    hand_in({"quality": quality, "gain": gain, "scenes": scenes}[given.what](given), given.json)
