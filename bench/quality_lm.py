"""How well a model of characters predicts held-out Shakespeare after some minutes: `weft train` and, asked for, a peer.

    python bench/quality_lm.py --minutes 5 --peer

weft decides everything but the tokenizer and the time. The peer is Hugging Face's GPT-2 in the sizes and with the
recipe that nanoGPT gives for CPUs, in fp32. Both see the same split and are scored alike: every character once, after
at least half a context where the text allows.
"""

import gzip
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from report import Table, arguments, hand_in
from torch import nn
from torch.nn import functional as F

DATA = Path(__file__).parents[2] / "shared/data/text/tinyshakespeare.txt.gz"
CONTEXT, BATCH = 64, 12
PEER = "Hugging Face GPT-2, nanoGPT's CPU recipe"
RATE, FLOOR, WARMUP = 1e-3, 1e-4, 100


def weft_run(data: Path, minutes: float) -> dict[str, Any]:
    """Train by the command line and measure by it; returns both reports in one."""
    weft = str(Path(sys.executable).with_name("weft"))
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/run"
        train = ["train", str(data), "--task", "language-model", "--minutes", str(minutes), "--out", out]
        trained = called([weft, *train, "--set", "tokenizer=characters", "--json"])
        return {**trained, **called([weft, "evaluate", out, "--json"])}


def called(command: list[str]) -> dict[str, Any]:
    """What a command of weft says with --json."""
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def peer_run(data: Path, minutes: float) -> dict[str, Any]:
    """Train Hugging Face's GPT-2 as long; returns a report like weft's."""
    from transformers import GPT2Config, GPT2LMHeadModel

    train, valid, size, vocab = split_text(data)
    torch.manual_seed(0)
    sizes = {"n_layer": 4, "n_head": 4, "n_embd": 128, "n_positions": CONTEXT, "vocab_size": vocab}
    plain = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "bos_token_id": None, "eos_token_id": None}
    model = GPT2LMHeadModel(GPT2Config(use_cache=False, **sizes, **plain))
    began = time.perf_counter()
    steps = fit_peer(model, train, 60 * minutes)
    seconds = time.perf_counter() - began
    loss, bits = score_peer(model, valid, size)
    return {
        "steps": steps,
        "seconds": seconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "metrics": {"loss": loss, "bits_per_byte": bits},
        "bytes": size,
    }


def split_text(data: Path) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Characters to train on, the last tenth held out as weft does, its bytes, and how many characters there are."""
    text = (gzip.open if data.suffix == ".gz" else open)(data, "rt", encoding="utf-8", newline="").read()
    alphabet = {character: i for i, character in enumerate(sorted(set(text)))}
    ids, cut = np.array([alphabet[character] for character in text]), int(0.9 * len(text))
    return ids[:cut], ids[cut:], len(text[cut:].encode()), len(alphabet)


def fit_peer(model: nn.Module, ids: np.ndarray, seconds: float) -> int:
    """AdamW on random windows, the rate on a cosine over the time; returns the number of steps."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.99), fused=True)
    text, generator = torch.from_numpy(ids), torch.Generator().manual_seed(0)
    steps, start = 0, time.perf_counter()
    model.train()
    while (done := (time.perf_counter() - start) / seconds) < 1:
        falling = FLOOR + (RATE - FLOOR) * (1 + math.cos(math.pi * done)) / 2
        for group in optimizer.param_groups:
            group["lr"] = min(falling, RATE * (steps + 1) / WARMUP)
        first = torch.randint(len(text) - CONTEXT, (BATCH, 1), generator=generator)
        window = text[first + torch.arange(CONTEXT + 1)]
        logits = model(window[:, :-1]).logits
        F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    return steps


@torch.inference_mode()
def score_peer(model: nn.Module, ids: np.ndarray, size: int) -> tuple[float, float]:
    """Nats a token and bits a byte, over the windows in which weft scores its own models."""
    from weft.batches.windows import score_windows

    total, seen = 0.0, 0
    model.eval()
    for batch in score_windows(ids, CONTEXT):
        logits, targets = model(batch.ids[:, :-1]).logits, batch.ids[:, 1:]
        total += float(F.cross_entropy(logits[batch.scored], targets[batch.scored], reduction="sum"))
        seen += int(batch.scored.sum())
    return total / seen, total / math.log(2) / size


def measure(data: Path, minutes: float, *, peer: bool) -> list[Table]:
    """Held-out loss after the time is up."""
    runs = {"weft train": weft_run(data, minutes)}
    if peer:
        runs[PEER] = peer_run(data, minutes)
        assert runs[PEER]["bytes"] == runs["weft train"]["bytes"], "the two were not scored on the same text"
    rows = []
    for name, run in runs.items():
        loss, bits = f"{run['metrics']['loss']:.3f}", f"{run['metrics']['bits_per_byte']:.3f}"
        rows.append([name, loss, bits, f"{run['parameters']:,}", f"{run['steps']:,}", float(run["seconds"])])
    columns = ["training", "nats/character", "bits/byte", "parameters", "steps", "seconds"]
    return [Table(f"{data.name.split('.')[0]}, held-out loss after {minutes:g} minutes", columns, rows)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=DATA, help=f"a text (default {DATA})")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--peer", action="store_true", help="also train the peer, for the same time")
    given = parser.parse_args()
    if not given.data.exists():
        parser.error(f"{given.data}: no such file; name a text, such as tinyshakespeare.txt or .txt.gz")
    hand_in(measure(given.data, 0.1 if given.quick else given.minutes, peer=given.peer), given.json)
