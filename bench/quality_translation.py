"""How well models translate after some minutes of training: `weft train` with several models and, asked for, a peer.

    python bench/quality_translation.py --data pairs.tsv.gz --minutes 12 --models swift --peer
    python bench/quality_translation.py --data pairs.tsv.gz --minutes 6 --models swift,lstm --picture by-length.png

weft decides everything but the model and the time. The peer is Hugging Face's Marian in the size of weft's first model,
or in the one that `--peer-size` gives, with random batches of 128 pairs, AdamW, label smoothing 0.1, in fp32. All are
scored on the sources that weft holds out, by sacrebleu, with all the references there are; the clock counts training
alone. The peer uses the tokenizer of weft's first run.
"""

import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from marian import loss, marian, padded
from report import Table, arguments, hand_in

import weft
from weft.domains.pairs.measures import translation_measures
from weft.domains.pairs.reading.pairs import read_pairs
from weft.domains.pairs.reading.texts import Held, split_pairs
from weft.modalities.tokenizer import Tokenizer
from weft.models.zoo import Size

BATCH, RATE, WARMUP = 128, 1e-3, 200  # of the peer
STRETCHES = ((1, 6), (7, 9), (10, 12), (13, 16), (17, 20), (21, 99))  # words of a source


def weft_run(data: str, minutes: float, model: str, out: str, options: list[str]) -> dict[str, Any]:
    """Train by the command line; returns its report."""
    command = [str(Path(sys.executable).with_name("weft")), "train", data, "--task", "translate", "--model", model]
    command += ["--minutes", str(minutes), "--out", out, "--json", *options]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def translations(run: str, held: list[Held]) -> list[str]:
    """What a run of weft makes of the held-out sources."""
    return [one["text"] for one in weft.load(run).predict([one.source for one in held])]


def peer_run(
    rows: list[Any], held: list[Held], tokenizer: Tokenizer, minutes: float, size: Size
) -> tuple[list[str], dict[str, Any]]:
    """Train Marian as long, as its users would; returns its translations and a report."""
    end, pad = tokenizer.end, tokenizer.size
    pairs = [(tokenizer.encode(p.source).tolist(), tokenizer.encode(p.target).tolist()) for p in rows]
    pairs = [(a, b) for a, b in pairs if max(len(a), len(b)) < size.context - 2]
    torch.manual_seed(0)
    model = marian(size, tokenizer.size, end=end, dropout=0.0).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    draw, steps, seen, start = np.random.default_rng(0), 0, 0, time.perf_counter()
    while (done := (time.perf_counter() - start) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min((steps + 1) / WARMUP, 1.0) * (1 - done)
        chosen = [pairs[i] for i in draw.integers(0, len(pairs), BATCH)]
        source = padded([[*a, end] for a, _ in chosen], pad)
        target = padded([[end, *b, end] for _, b in chosen], pad)
        loss(model, source, target, pad, smoothing=0.1).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        steps, seen = steps + 1, seen + int((target[:, 1:] != pad).sum())
    report = {"steps": steps, "seconds": time.perf_counter() - start, "tokens": seen,
              "parameters": sum(p.numel() for p in model.parameters())}  # fmt: skip
    return _peer_translations(model.eval(), held, tokenizer, pad), report


@torch.inference_mode()
def _peer_translations(model: Any, held: list[Held], tokenizer: Tokenizer, pad: int) -> list[str]:
    ids = [tokenizer.encode(one.source).tolist() for one in held]
    order, found = sorted(range(len(ids)), key=lambda i: len(ids[i])), [""] * len(ids)
    for start in range(0, len(order), 32):
        chosen = order[start : start + 32]
        source = padded([[*ids[i], tokenizer.end] for i in chosen], pad)
        made = model.generate(input_ids=source, attention_mask=(source != pad).long(), num_beams=5, do_sample=False,
                              max_new_tokens=min(120, 2 * source.shape[1] + 10))  # fmt: skip
        for i, row in zip(chosen, made.tolist(), strict=True):
            found[i] = tokenizer.decode([t for t in row if t < tokenizer.size]).strip()
    return found


def by_length(found: list[str], held: list[Held]) -> list[tuple[str, int, float | None]]:
    """BLEU of sources of like length, counted in words."""
    rows = []
    for low, high in STRETCHES:
        chosen = [i for i, one in enumerate(held) if low <= len(one.source.split()) <= high]
        score = (
            translation_measures([found[i] for i in chosen], [held[i] for i in chosen])[0]["bleu"]
            if len(chosen) >= 10
            else None
        )
        rows.append((f"{low}-{high}" if high < 99 else f"{low} and more", len(chosen), score))
    return rows


def picture(curves: dict[str, list[tuple[str, int, float | None]]], minutes: float, path: Path) -> None:
    """BLEU against source length, a line for each model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), dpi=140, layout="constrained")
    axis = figure.subplots()
    for (name, rows), colour in zip(curves.items(), ("#1f5fa8", "#d1495b", "#7a8a99", "#2a9d6f"), strict=False):
        points = [(f"{label}\n({count})", score) for label, count, score in rows if score is not None]
        axis.plot(*zip(*points, strict=True), "o-", color=colour, label=name, linewidth=1.8)
    axis.set_xlabel("words in the source (sentences)")
    axis.set_ylabel("BLEU")
    axis.set_ylim(bottom=0)
    cores = torch.get_num_threads()
    axis.set_title(f"{minutes:g} minutes of training on {cores} CPU core{'s' if cores > 1 else ''}", fontsize=10)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    path.write_bytes(buffer.getvalue())


def measure(given: Any) -> list[Table]:
    """Train, translate, compare."""
    asked = {"source": given.source, "target": given.target}
    split = split_pairs(read_pairs(given.data, **asked))
    options = [o for name, value in asked.items() if value for o in ("--set", f"{name}={value}")]
    lines, curves, tokenizer, first_size = [], {}, None, None
    with tempfile.TemporaryDirectory() as folder:
        keep = Path(given.keep or folder)
        for model in given.models.split(","):
            out = str(keep / f"{Path(given.data).name.split('.')[0]}-{model}-{given.minutes:g}")
            report = weft_run(given.data, given.minutes, model, out, options)
            metrics = [json.loads(line) for line in (Path(out) / "metrics.jsonl").read_text().splitlines()]
            found = translations(out, split.held_out)
            tokenizer = tokenizer or Tokenizer.from_json((Path(out) / "tokenizer.json").read_text())
            seen = sum(line.get("count", 0) for line in metrics)
            config = json.loads((Path(out) / "config.json").read_text())
            first_size = first_size or tuple(config["training"][name] for name in ("dim", "depth", "heads"))
            real = config["data"]["real_share"]
            lines.append(_line(f"weft {model}", report, seen, found, split.held_out, real))
            curves[model] = by_length(found, split.held_out)
        if given.peer:
            assert tokenizer is not None
            dim, depth, heads = map(int, given.peer_size.split("x")) if given.peer_size else first_size
            size = Size(dim=dim, depth=depth, heads=heads, context=128)
            found, report = peer_run(split.train, split.held_out, tokenizer, given.minutes, size)
            name = f"Marian {depth}+{depth} x {dim}, random batches"
            lines.append(_line(name, report, report["tokens"], found, split.held_out, None))
            curves["Marian"] = by_length(found, split.held_out)
    if given.picture:
        picture(curves, given.minutes, given.picture)
    columns = ["model", "parameters", "steps", "target tokens/s", "real tokens", "BLEU", "chrF", "exact"]
    title = f"{Path(given.data).name}, {given.minutes:g} minutes, {len(split.held_out):,} held-out sources"
    tables = [Table(title, columns, lines)]
    rows = [[name, *(score for _, _, score in found)] for name, found in curves.items()]
    first = next(iter(curves.values()))
    head = ["BLEU by words in the source", *(f"{label} ({count})" for label, count, _ in first)]
    return [*tables, Table(f"{title}, by length", head, rows)]


def _line(
    name: str, report: dict[str, Any], seen: int, found: list[str], held: list[Held], real: float | None
) -> list[Any]:
    scores = translation_measures(found, held)[0]
    return [name, f"{report['parameters'] / 1e6:.2f} M", report["steps"], seen / report["seconds"],
            None if real is None else f"{real:.0%}", scores["bleu"], scores["chrf"],
            f"{scores['exact']:.1%}"]  # fmt: skip


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--data", required=True, metavar="FILE")
    parser.add_argument("--source", metavar="COLUMN")
    parser.add_argument("--target", metavar="COLUMN")
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--models", default="swift")
    parser.add_argument("--peer", action="store_true", help="train Hugging Face's Marian too")
    parser.add_argument("--peer-size", metavar="DIMxDEPTHxHEADS", help="the peer's size; that of weft's first model")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="BLEU against length as a picture")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the runs there")
    given = parser.parse_args()
    hand_in(measure(given), given.json)
