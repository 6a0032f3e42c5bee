"""Writing with a model of GPT-2's size (124M, random weights): weft against Hugging Face, and weft's time by length.

Both hold the same weights, and how far the logits after the prompt differ is shown: what computes something else is not
in the race. (Tokens are no measure: with random weights the likeliest is hardly likelier than the next.)
"""

import copy
import statistics
import time
from functools import partial

import torch
from race import Timing, race
from report import Table, arguments, hand_in, with_bf16
from torch import Tensor, nn

from weft.domains.texts.recipe.language import PRESETS
from weft.generate import Session
from weft.generate.compute import prepared
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS
from weft.training.precision import Weights

VOCAB = 50257
PROMPT, NEW = 64, 128
LENGTHS = (64, 256, 512, 1000)
NEAR = 16  # tokens timed around each length
PARTS = {"mix.qkv": "attn.c_attn", "mix.out": "attn.c_proj", "transform.up": "mlp.c_fc", "transform.down": "mlp.c_proj"}
NORMS = {"mix_norm": "ln_1", "transform_norm": "ln_2"}


def models() -> tuple[Stream, nn.Module]:
    """weft's GPT-2 and Hugging Face's, with the same random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    peer = GPT2LMHeadModel(GPT2Config(bos_token_id=None, eos_token_id=None)).eval()
    own = LANGUAGE_MODELS["gpt"](PRESETS["base"], vocab=VOCAB).build().eval()
    theirs, ours = peer.state_dict(), {}
    ours["embed.table.weight"] = theirs["transformer.wte.weight"]
    ours["embed.place.code.table.weight"] = theirs["transformer.wpe.weight"]
    norms = {"trunk.norm": "transformer.ln_f"}
    for i in range(PRESETS["base"].depth):
        norms |= {f"trunk.blocks.{i}.{a}": f"transformer.h.{i}.{b}" for a, b in NORMS.items()}
        for a, b in PARTS.items():
            ours[f"trunk.blocks.{i}.{a}.weight"] = theirs[
                f"transformer.h.{i}.{b}.weight"
            ].T  # stored the other way round
            ours[f"trunk.blocks.{i}.{a}.bias"] = theirs[f"transformer.h.{i}.{b}.bias"]
    for a, b in norms.items():
        ours |= {f"{a}.gain": theirs[f"{b}.weight"], f"{a}.offset": theirs[f"{b}.bias"]}
    Weights(own, torch.float32).load(ours)
    return own, peer


def write(model: nn.Module, prompts: Tensor, new: int) -> Tensor:
    """The likeliest token, again and again, by weft's session."""
    session = Session(model, capacity=prompts.shape[1] + new)
    tokens = [session.start(prompts.tolist()).argmax(-1)]
    while len(tokens) < new:
        tokens.append(session.step(tokens[-1]).argmax(-1))
    return torch.stack(tokens, 1)


@torch.inference_mode()
def write_peer(model: nn.Module, prompts: Tensor, new: int) -> Tensor:
    """The same by Hugging Face's `generate`; without an end token it writes all of them."""
    made = model.generate(
        prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=new, do_sample=False, pad_token_id=0
    )
    return made[:, prompts.shape[1] :]


@torch.inference_mode()
def read_peer(model: nn.Module, prompts: Tensor) -> Tensor:
    """Hugging Face's logits after the prompt."""
    return model(prompts, use_cache=False).logits[:, -1].float()


def distance(logits: Tensor, expected: Tensor) -> float:
    """How far apart, as a share of what is expected."""
    return float((logits - expected).norm() / expected.norm())


def speed(own: Stream, peer: nn.Module, batch: int, new: int, rounds: int, rounded: bool) -> Table:
    """Tokens a second of all contestants."""
    prompts = torch.randint(VOCAB, (batch, PROMPT), generator=torch.Generator().manual_seed(1))
    kinds = {"fp32": (own, peer), "int8": (prepared(own, "int8"), None)}
    if rounded:
        kinds["bf16"] = (prepared(own, "bf16"), copy.deepcopy(peer).to(torch.bfloat16))
    expected, writers, apart = read_peer(peer, prompts), {}, {}
    for kind, (ours, theirs) in kinds.items():
        writers[f"weft {kind}"] = partial(write, ours, prompts, new)
        apart[f"weft {kind}"] = distance(Session(ours).start(prompts.tolist()), expected)
        if theirs is not None:
            writers[f"Hugging Face {kind}"] = partial(write_peer, theirs, prompts, new)
            apart[f"Hugging Face {kind}"] = distance(read_peer(theirs, prompts), expected)
    assert apart["weft fp32"] < 1e-4, "weft's GPT-2 computes something else than Hugging Face's"
    timings = race(writers, rounds=rounds, least=0.0)
    theirs, lines = timings["Hugging Face fp32"], []
    for name, timing in timings.items():
        rates = [batch * new / timing.best, batch * new / timing.median]
        ratios = [theirs.best / timing.best, theirs.median / timing.median]
        lines.append([name, *rates, *ratios, apart[name]])
    columns = ["writing", "tokens/s, best", "median", "Hugging Face fp32 = 1, best", "median", "logits differ by"]
    return Table(f"GPT-2 124M, batch {batch}: {PROMPT} tokens read, {new} written", columns, lines)


def flatness(own: Stream, lengths: tuple[int, ...], rounds: int) -> Table:
    """Milliseconds for one more token when so many are there already, the lengths taking turns."""
    contestants = [(kind, length) for kind in ("fp32", "int8") for length in lengths]
    found: dict[tuple[str, int], list[float]] = {contestant: [] for contestant in contestants}
    for _ in range(rounds):
        for kind, length in contestants:
            found[kind, length].append(one_token(prepared(own, kind), length))
    timings = {contestant: Timing(tuple(seconds)) for contestant, seconds in found.items()}
    lines = []
    for length in lengths:
        numbers = []
        for kind in ("fp32", "int8"):
            now, first = timings[kind, length], timings[kind, lengths[0]]
            numbers += [1e3 * now.best, 1e3 * now.median, now.median / first.median]
        lines.append([length, *numbers])
    growth = f"{lengths[0]} = 1"
    columns = ["tokens there", *(c for kind in ("fp32", "int8") for c in (f"{kind} ms, best", "median", growth))]
    return Table("weft, GPT-2 124M, batch 1: one more token", columns, lines)


def one_token(model: nn.Module, length: int) -> float:
    """Median seconds of a step near a length."""
    session = Session(model, capacity=length + NEAR)
    token = session.start([[i % VOCAB for i in range(length - NEAR // 2)]]).argmax(-1)
    seconds = []
    for _ in range(NEAR):
        start = time.perf_counter()
        token = session.step(token).argmax(-1)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def measure(*, quick: bool = False, bf16: bool = False) -> list[Table]:
    """Speed at two batch sizes, and time by length."""
    own, peer = models()
    rounded, note = with_bf16(bf16)
    new, rounds = (4, 1) if quick else (NEW, 3)
    tables = [speed(own, peer, batch, new, rounds, rounded) for batch in (1, 8)]
    tables.append(flatness(own, LENGTHS[:2] if quick else LENGTHS, rounds))
    return [*tables[:-1], Table(tables[-1].title, tables[-1].columns, tables[-1].rows, note)]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick, bf16=given.bf16), given.json)
