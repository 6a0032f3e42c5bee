"""Writing with a model as it is trained in five minutes (4 layers, 160 wide, characters, random weights): one token after another.

weft's `swift` in native code and by its modules, greedy and sampled, against Hugging Face's GPT-2 of the same size, on one
thread, or on as many as OMP_NUM_THREADS says. Processor time is counted where others use the machine too: `--processor`.
"""

import os
import time
from collections.abc import Callable
from functools import partial

import torch
from race import race
from report import Table, arguments, hand_in
from torch import nn

from weft.generate import Sampling, Session, generate, sampling
from weft.generate import session as sessions
from weft.modalities import tokenizer_making as tokenizers
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.native import state

SIZE = Size(dim=160, depth=4, heads=5, context=256)
PROMPT = [1, 2, 3]
GREEDY, SAMPLED = 0.0, 0.8


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


def write(tokenizer: Tokenizer, model: Stream, new: int, temperature: float) -> int:
    """Tokens written by weft, with their text, as `run.predict` does it."""
    session = Session(model, capacity=len(PROMPT) + new)
    return len(generate(session, tokenizer, [PROMPT], Sampling(temperature=temperature, max_tokens=new))[0][0].ids)


def write_by_modules(tokenizer: Tokenizer, model: Stream, new: int, temperature: float) -> int:
    """The same as on a machine without a compiler."""
    found = sessions.library, sampling.library
    sessions.library = sampling.library = lambda: None
    try:
        return write(tokenizer, model, new, temperature)
    finally:
        sessions.library, sampling.library = found


@torch.inference_mode()
def write_peer(model: nn.Module, new: int, temperature: float) -> int:
    """Tokens written by Hugging Face's `generate`; top-k is off, as in weft's defaults."""
    prompt = torch.tensor([PROMPT])
    drawn = (
        {"do_sample": True, "temperature": temperature, "top_p": 0.95, "top_k": 0}
        if temperature
        else {"do_sample": False}
    )
    made = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new, pad_token_id=0, **drawn)
    return made.shape[1] - len(PROMPT)


def measure(*, quick: bool = False, processor: bool = False) -> list[Table]:
    """Tokens a second of all contestants."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    new, rounds = (60, 2) if quick else (200, 7)
    tokenizer, own, peer = models()
    contestants: dict[str, Callable[[], int]] = {}
    for kind, temperature in (("greedy", GREEDY), ("sampled", SAMPLED)):
        contestants[f"weft, native, {kind}"] = partial(write, tokenizer, own, new, temperature)
        contestants[f"weft, modules, {kind}"] = partial(write_by_modules, tokenizer, own, new, temperature)
        contestants[f"Hugging Face, {kind}"] = partial(write_peer, peer, new, temperature)
    assert all(call() == new for call in contestants.values()), "not all wrote the same number of tokens"
    clock = time.process_time if processor else time.perf_counter
    timings, lines = race(contestants, rounds=rounds, least=0.05 if quick else 0.3, clock=clock), []
    for name, timing in timings.items():
        theirs = timings[f"Hugging Face, {name.split(', ')[-1]}"]
        rates = [new / timing.best, new / timing.median]
        lines.append([name, *rates, theirs.best / timing.best, theirs.median / timing.median])
    columns = ["writing", "tokens/s, best", "median", "Hugging Face = 1, best", "median"]
    title = f"4 layers, 160 wide, {len(PROMPT)} tokens read, {new} written, threads: {torch.get_num_threads()}; native: {state()}"
    return [Table(title, columns, lines, "Processor time." if processor else "")]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--processor", action="store_true", help="count processor time, where others use the machine")
    given = parser.parse_args()
    hand_in(measure(quick=given.quick, processor=given.processor), given.json)
