"""Writing with a model as trained in five minutes (4 layers, 160 wide, characters, random weights), token by token.

weft's `swift` in native code, in fp32 and int8, and by its modules; the same model by onnxruntime, as a graph of one
step; and Hugging Face's GPT-2 of the same size: greedy and sampled, on one thread, or on as many as OMP_NUM_THREADS
says. onnxruntime has its faster number of threads among one and that. Processor time is counted where others use the
machine too: `--processor`.
"""

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from unittest.mock import patch

import torch
from race import Clock, per_call, race
from report import Table, arguments, hand_in
from step_graph import Writer
from torch import nn

from weft.generate import Sampling, Session, generate, programs, sampling
from weft.generate import session as sessions
from weft.generate.compute import prepared
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.native import state

SIZE = Size(dim=160, depth=4, heads=5, context=256)
PROMPT = [1, 2, 3]
GREEDY, SAMPLED = 0.0, 0.8
ONNX = ("onnx", "onnxscript", "onnxruntime")


def models() -> tuple[Tokenizer, Stream, nn.Module]:
    """67 characters and the end, which the models cannot say, so that they write all tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    tokenizer = tokenizers.train("characters", ["".join(chr(33 + i) for i in range(67))])
    own = LANGUAGE_MODELS["swift"](SIZE, vocab=tokenizer.size - 1).build().eval()
    for parameter in own.parameters():
        nn.init.normal_(parameter, std=0.08)
    sizes = {"n_positions": SIZE.context, "n_embd": SIZE.dim, "n_layer": SIZE.depth, "n_head": SIZE.heads}
    config = GPT2Config(vocab_size=tokenizer.size - 1, bos_token_id=None, eos_token_id=None, **sizes)
    return tokenizer, own, GPT2LMHeadModel(config).eval()


def write(tokenizer: Tokenizer, model: Stream, new: int, temperature: float) -> list[int]:
    """Tokens written by weft, with their text, as `run.predict` does it."""
    session = Session(model, capacity=len(PROMPT) + new)
    return list(generate(session, tokenizer, [PROMPT], Sampling(temperature=temperature, max_tokens=new))[0][0].ids)


def write_by_modules(tokenizer: Tokenizer, model: Stream, new: int, temperature: float) -> list[int]:
    """The same as on a machine without a compiler."""
    with ExitStack() as stack:
        for module in (programs, sampling, sessions):
            stack.enter_context(patch.object(module, "library", lambda: None))
        return write(tokenizer, model, new, temperature)


def by_step_graph(
    model: Stream, new: int, temperature: float, clock: Clock, *, int8: bool = False
) -> Callable[[], list[int]]:
    """Writing by onnxruntime, on one thread or on all: the faster of the two."""
    how = {"room": SIZE.context, "temperature": temperature, "int8": int8}
    made = [Writer(model, threads=threads, **how) for threads in sorted({1, torch.get_num_threads()})]
    calls = [partial(writer.write, PROMPT, new) for writer in made]
    return min(calls, key=lambda call: min(per_call(call, 0.2, clock) for _ in range(3)))


@torch.inference_mode()
def write_peer(model: nn.Module, new: int, temperature: float) -> list[int]:
    """Tokens written by Hugging Face's `generate`; top-k is off, as in weft's defaults."""
    prompt = torch.tensor([PROMPT])
    drawn = (
        {"do_sample": True, "temperature": temperature, "top_p": 0.95, "top_k": 0}
        if temperature
        else {"do_sample": False}
    )
    made = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new, pad_token_id=0, **drawn)
    return made[0, len(PROMPT) :].tolist()


def calls(new: int, clock: Clock) -> dict[str, Callable[[], list[int]]]:
    """All that can run here, by name."""
    tokenizer, own, peer = models()
    rounded, found = prepared(own, "int8"), {}
    absent = [name for name in ONNX if importlib.util.find_spec(name) is None]
    if absent:
        print(f"without onnxruntime's step graph: {', '.join(absent)} not installed", file=sys.stderr)
    for kind, temperature in (("greedy", GREEDY), ("sampled", SAMPLED)):
        found[f"weft, native, {kind}"] = partial(write, tokenizer, own, new, temperature)
        found[f"weft, int8, {kind}"] = partial(write, tokenizer, rounded, new, temperature)
        found[f"weft, modules, {kind}"] = partial(write_by_modules, tokenizer, own, new, temperature)
        if not absent:
            found[f"onnxruntime, step graph, {kind}"] = by_step_graph(own, new, temperature, clock)
            found[f"onnxruntime, step graph, int8, {kind}"] = by_step_graph(own, new, temperature, clock, int8=True)
        found[f"Hugging Face, {kind}"] = partial(write_peer, peer, new, temperature)
    return found


def measure(*, quick: bool = False, processor: bool = False) -> list[Table]:
    """Tokens a second of all contestants."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    new, rounds = (60, 2) if quick else (200, 7)
    clock = time.process_time if processor else time.perf_counter
    contestants = calls(new, clock)
    written = {name: call() for name, call in contestants.items()}
    assert all(len(ids) == new for ids in written.values()), "not all wrote the same number of tokens"
    greedy = "onnxruntime, step graph, greedy"
    same = greedy not in written or written[greedy] == written["weft, native, greedy"]
    assert same, "the step graph writes other tokens than weft"
    timings, lines = race(contestants, rounds=rounds, least=0.05 if quick else 0.3, clock=clock), []
    for name, timing in timings.items():
        theirs = timings[f"Hugging Face, {name.split(', ')[-1]}"]
        rates = [new / timing.best, new / timing.median]
        lines.append([name, *rates, theirs.best / timing.best, theirs.median / timing.median])
    columns = ["writing", "tokens/s, best", "median", "Hugging Face = 1, best", "median"]
    title = (
        f"4 layers, 160 wide, {len(PROMPT)} tokens read, {new} written, threads: {torch.get_num_threads()}; "
        f"native: {state()}"
    )
    return [Table(title, columns, lines, "Processor time." if processor else "")]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--processor", action="store_true", help="count processor time, where others use the machine")
    given = parser.parse_args()
    hand_in(measure(quick=given.quick, processor=given.processor), given.json)
