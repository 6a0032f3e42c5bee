"""Small exercises that a stream of tokens learns in seconds, and the loop that teaches them."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core import Attention, Block, Mixer, Mlp, PerToken, Trunk
from weft.modalities.text import Text, TextEmbed
from weft.models import Stream
from weft.position import Add, Code, Sinusoidal

NOTHING = -100  # the target of a token that has none
Draw = Callable[[int], tuple[Tensor, Tensor]]  # how many lines -> ids and targets


def stream(
    vocab: int,
    length: int,
    *,
    dim: int = 64,
    depth: int = 1,
    mix: Mixer.Config | None = None,
    code: Code.Config | None = Sinusoidal.Config(),
    reading: str = "free",
    outputs: int | None = None,
) -> Stream:
    """Tokens of a small vocabulary with places, attention and MLPs, and an answer at every token.

    Vectors of tokens start with size 1, like the sines beside them: fainter ones are learned late.
    """
    place = Add.Config(code=code) if code else None
    embed = TextEmbed.Config(vocab=vocab, context=length, place=place, reading=reading, std=1.0)  # type: ignore[arg-type]
    block = Block.Config(mix=mix or Attention.Config(heads=4), transform=Mlp.Config())
    trunk = Trunk.Config(depth=depth, block=block)
    return Stream.Config(dim=dim, embed=embed, trunk=trunk, head=PerToken.Config(), outputs=outputs or vocab).build()


def back(ids: Tensor, places: int) -> Tensor:
    """The targets of "name the token so many places back"."""
    return torch.cat([torch.full_like(ids[:, :places], NOTHING), ids[:, :-places]], 1)


def loss_of(model: Stream, ids: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy over the tokens that have a target."""
    return F.cross_entropy(model(Text(ids)).flatten(0, 1), targets.flatten(), ignore_index=NOTHING)


def taught(model: Stream, draw: Draw, *, steps: int, lr: float, batch: int = 64) -> Iterator[tuple[int, float]]:
    """Teaches a model by AdamW on fresh lines; gives (step, loss) after each step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    for step in range(1, steps + 1):
        model.train()
        loss = loss_of(model, *draw(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield step, float(loss.detach())


@torch.inference_mode()
def accuracy(model: Stream, ids: Tensor, targets: Tensor) -> float:
    """The share of tokens with a target that are named rightly."""
    named = model.eval()(Text(ids)).argmax(-1)
    return float((named == targets)[targets != NOTHING].float().mean())
