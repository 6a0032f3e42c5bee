"""Positions beyond those trained on: sines and cosines go on, a learned table ends (D11 of the lectures' claims).

    python bench/longer.py [--steps 600]

A stream of two layers learns to name the token three places back in lines of 32 tokens, and is asked on lines of 32 and
64.
"""

import argparse
import json

import torch

from weft.core import Attention, Block, Mlp, PerToken, Trunk
from weft.errors import ConfigError
from weft.modalities.text import Text, TextEmbed
from weft.models.stream import Stream
from weft.position import Add, Code, Learned, Sinusoidal

LENGTH, BACK, VOCAB, DIM = 32, 3, 16, 64
CODES: dict[str, Code.Config] = {"sinusoidal": Sinusoidal.Config(), "learned": Learned.Config(size=LENGTH)}


def accuracy(model: Stream, length: int) -> float | str:
    """The share of tokens named rightly in lines of some length, or why there is none."""
    ids = torch.randint(VOCAB, (256, length), generator=torch.Generator().manual_seed(1))
    try:
        with torch.inference_mode():
            found = model(Text(ids)).argmax(-1)
    except ConfigError as error:
        return error.problem
    return float((found[:, BACK:] == ids[:, :-BACK]).float().mean())


def trained(code: Code.Config, steps: int) -> Stream:
    """A stream that has learned the task with a position code."""
    torch.manual_seed(0)
    embed = TextEmbed.Config(
        vocab=VOCAB, context=code.limit() or 2 * LENGTH, place=Add.Config(code=code), reading="free"
    )
    block = Block.Config(mix=Attention.Config(heads=4), transform=Mlp.Config())
    model = Stream.Config(
        dim=DIM, embed=embed, trunk=Trunk.Config(depth=2, block=block), head=PerToken.Config()
    ).build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(steps):
        ids = torch.randint(VOCAB, (64, LENGTH))
        logits = model(Text(ids))[:, BACK:]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, :-BACK].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def main() -> None:
    """Train with both codes and print what they reach."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    steps = parser.parse_args().steps
    found = {}
    for name, code in CODES.items():
        model = trained(code, steps)
        found[name] = {f"length {n}": accuracy(model, n) for n in (LENGTH, 2 * LENGTH)}
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
