"""Vision transformers at 224 pixels: weft against Hugging Face's ViT and, where it is installed, vit-pytorch.

Inference with ViT-B/16 on 8 pictures, and a training step of ViT-S/16 on 16: weft runs `Fit.step`, the step of its
training loop, peers the usual hand-written loop on a ready-made batch. All use fused AdamW, nothing is compiled. Then
what looking costs (attention rollout over 10 pictures), and what hiding patches saves (a training step of a masked
autoencoder).
"""

import sys
import types
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec

import numpy as np
import torch
from fitting import fit_step
from race import Call, Timing, race
from report import Table, arguments, hand_in, with_bf16
from torch import Tensor, nn
from torch.nn import functional as F

from weft.batches.samples import Classes
from weft.domains.pictures.dataset import PictureData
from weft.domains.pictures.encoded.augment import Augment
from weft.domains.pictures.encoded.batches import labelled_pictures, plain_pictures
from weft.domains.pictures.encoded.seen import SeenPictures, codec_for
from weft.domains.pictures.reading.arrays import album_of
from weft.domains.pictures.views.vision import readings_in
from weft.inspect.rollout import rollout
from weft.modalities.image import Picture
from weft.models.zoo.vision import Sight, VisionSize, autoencoder, mae, vit
from weft.objectives.classify import Classify
from weft.objectives.reconstruct import Reconstruct
from weft.training.settings import Training

BASE, SMALL = VisionSize(dim=768, depth=12, heads=12), VisionSize(dim=384, depth=12, heads=6)
SIDE, CLASSES = 224, 1000
Peer = tuple[nn.Module, Callable[[nn.Module, Tensor], Tensor]]


def hugging_face(size: VisionSize) -> Peer:
    """ViTForImageClassification with torch's fused attention."""
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=size.dim, num_hidden_layers=size.depth, num_attention_heads=size.heads,
        intermediate_size=4 * size.dim, num_labels=CLASSES, attn_implementation="sdpa",
    )  # fmt: skip
    return ViTForImageClassification(config), lambda model, pixels: model(pixel_values=pixels).logits


def vit_pytorch(size: VisionSize) -> Peer:
    """vit_pytorch.ViT; an empty torchvision stands in for the one that other models of that package import."""
    for name in ("torchvision", "torchvision.transforms"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["torchvision"].transforms = sys.modules["torchvision.transforms"]
    from vit_pytorch import ViT

    for name in ("torchvision", "torchvision.transforms"):
        del sys.modules[name]
    model = ViT(
        image_size=SIDE, patch_size=16, num_classes=CLASSES, dim=size.dim, depth=size.depth, heads=size.heads,
        mlp_dim=4 * size.dim, dim_head=size.dim // size.heads,
    )  # fmt: skip
    return model, lambda model, pixels: model(pixels)


def weft_infer(pixels: Tensor, dtype: torch.dtype) -> Call:
    """weft's own ViT, as `weft predict` runs it."""
    model = vit(BASE, Sight(SIDE, SIDE), outputs=CLASSES).build().eval()
    model.trunk.to(dtype)
    model.head.to(dtype)

    @torch.inference_mode()
    def run() -> None:
        model(Picture(pixels))

    return run


def peer_infer(peer: Peer, pixels: Tensor, dtype: torch.dtype) -> Call:
    """A peer in a number format."""
    model, call = peer
    model.eval().to(dtype)
    pixels = pixels.to(dtype)

    @torch.inference_mode()
    def run() -> None:
        call(model, pixels)

    return run


def random_pictures(draw: np.random.Generator) -> SeenPictures:
    """64 pictures of noise."""
    album = album_of("random", draw.integers(0, 256, (64, SIDE, SIDE, 3), np.uint8))
    data = PictureData(train=album, held_out=album, fingerprint="random", rule="", described="")
    return SeenPictures.of(data, codec_for(album, SIDE, SIDE), 3)


def weft_step(rows: int, precision: str) -> Call:
    """One step of weft's training loop on random pictures, augmented as a run would."""
    draw = np.random.default_rng(0)
    seen, labels = random_pictures(draw), Classes(torch.from_numpy(draw.integers(0, CLASSES, 64)))
    source = labelled_pictures(seen, labels, labels, how=Augment.light(flip=True), stride=16, seed=0)
    model = vit(SMALL, Sight(SIDE, SIDE), outputs=CLASSES).build()
    training = Training(optimizer="adamw", lr=1e-4, batch=rows, precision=precision)
    return fit_step(model, Classify.Config().build(), source, training)


def peer_step(peer: Peer, pixels: Tensor, labels: Tensor, *, autocast: bool = False) -> Call:
    """Forward, backward, update."""
    model, call = peer
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16) if autocast else nullcontext():
            logits = call(model, pixels)
        F.cross_entropy(logits.float(), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def looking(rows: int, rounds: int, least: float) -> Table:
    """A pass of ViT-S/16, the same with every layer's attention rolled out, and what that adds."""
    model = vit(SMALL, Sight(SIDE, SIDE), outputs=CLASSES).build().eval()
    picture = Picture(torch.rand(rows, 3, SIDE, SIDE))

    @torch.inference_mode()
    def passed() -> None:
        model(picture)

    @torch.inference_mode()
    def rolled_out() -> None:
        rollout([readings[0].weights() for readings in readings_in(model, picture)])

    found = race({"pass": passed, "pass and rollout": rolled_out}, rounds=rounds, least=least)
    lines = [[name, t.best, t.median] for name, t in found.items()]
    lines.append(["rollout alone", *(b - a for a, b in zip(lines[0][1:], lines[1][1:], strict=True))])
    return Table(f"Attention rollout, ViT-S/16, {rows} pictures", ["what", "seconds, best", "median"], lines)


def hiding(rows: int, rounds: int, least: float) -> Table:
    """A training step of a masked autoencoder on ViT-S/16 with more and more patches hidden."""
    source = plain_pictures(random_pictures(np.random.default_rng(0)), Augment.light(flip=True), 16, 0)
    training = Training(optimizer="adamw", lr=1e-4, batch=rows, precision="fp32")
    steps = {
        share: fit_step(
            autoencoder(mae(SMALL, Sight(SIDE, SIDE))).build(), Reconstruct.Config(hide=share).build(), source, training
        )
        for share in (0.05, 0.5, 0.75)
    }
    found = race({f"{share:.0%} hidden": step for share, step in steps.items()}, rounds=rounds, least=least)
    all_seen = next(iter(found.values()))
    lines = [[n, rows / t.best, rows / t.median, all_seen.median / t.median] for n, t in found.items()]
    return Table(f"Masked autoencoder on ViT-S/16, {rows} pictures a step",
                 ["patches", "pictures/s, best", "median", "times as fast"], lines)  # fmt: skip


def table(title: str, timings: dict[str, Timing], rows: int, note: str) -> Table:
    """Pictures a second, and the ratio to weft in fp32."""
    ours = timings["weft fp32"]
    lines = [
        [n, rows / t.best, rows / t.median, ours.best / t.best, ours.median / t.median] for n, t in timings.items()
    ]
    return Table(title, ["model", "pictures/s, best", "median", "weft fp32 = 1, best", "median"], lines, note)


def measure(*, quick: bool = False, bf16: bool = False) -> list[Table]:
    """Both races."""
    torch.manual_seed(0)
    rounded, note = with_bf16(bf16)
    peers = {"Hugging Face": hugging_face} | ({"vit-pytorch": vit_pytorch} if find_spec("vit_pytorch") else {})
    infer_rows, train_rows, rounds, least = (1, 1, 1, 0.0) if quick else (8, 16, 4, 2.0)
    pixels = torch.rand(infer_rows, 3, SIDE, SIDE)
    dtypes = {"fp32": torch.float32} | ({"bf16": torch.bfloat16} if rounded else {})
    infer: dict[str, Call] = {}
    for name, dtype in dtypes.items():
        infer[f"weft {name}"] = weft_infer(pixels, dtype)
        infer |= {f"{peer} {name}": peer_infer(make(BASE), pixels, dtype) for peer, make in peers.items()}
    first = table(
        f"ViT-B/16, {infer_rows} pictures of {SIDE} pixels", race(infer, rounds=rounds, least=least), infer_rows, note
    )
    pixels, labels = torch.rand(train_rows, 3, SIDE, SIDE), torch.randint(CLASSES, (train_rows,))
    train: dict[str, Call] = {}
    for name in dtypes:
        train[f"weft {name}"] = weft_step(train_rows, name)
        train |= {
            f"{peer} {name}{' autocast' if name == 'bf16' else ''}": peer_step(
                make(SMALL), pixels, labels, autocast=name == "bf16"
            )
            for peer, make in peers.items()
        }
    second = table(
        f"Training ViT-S/16, {train_rows} pictures a step", race(train, rounds=rounds, least=least), train_rows, note
    )
    return [first, second, looking(1 if quick else 10, rounds, least), hiding(train_rows, rounds, least)]


if __name__ == "__main__":
    given = arguments(__doc__).parse_args()
    hand_in(measure(quick=given.quick, bf16=given.bf16), given.json)
