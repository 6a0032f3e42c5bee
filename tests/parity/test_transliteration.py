"""An encoder–decoder that other people trained, in a layout of its own: weft's parts spell names as it does."""

import json
from pathlib import Path

import torch

from weft.core import Attention, Block, LayerNorm, Mlp, PerToken, Trunk
from weft.generate.sampling import Sampling, generator
from weft.generate.search import Drawing, Line, search
from weft.generate.session import Session
from weft.interop.rules import SameTensor, layers
from weft.interop.weight_table import WeightTable
from weft.interop.weights import Shards, fill
from weft.modalities.text import Text, TextEmbed
from weft.models.outline import own_tensors
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Stream
from weft.position import Add, Sinusoidal

DIM, HEADS, DEPTH = 32, 8, 6
START, END = 1, 2


def side(vocab: int, *, decodes: bool) -> Stream.Config:
    attention = Attention.Config(heads=HEADS)
    norm = LayerNorm.Config(eps=1e-5)
    block = Block.Config(
        mix=attention,
        read=attention if decodes else None,
        transform=Mlp.Config(activation="relu", hidden=128),
        norm=norm,
    )
    # wavelengths go by i / (D/2 - 1) there and by i / (D/2) here, which is another base; places are counted from 1
    code = Sinusoidal.Config(base=10000 ** (DIM / (DIM - 2)), start=1)
    embed = TextEmbed.Config(
        vocab=vocab, context=64, reading="line" if decodes else "free", place=Add.Config(code=code), scale=DIM**0.5
    )
    trunk = Trunk.Config(depth=DEPTH, block=block, norm=norm)
    return Stream.Config(dim=DIM, embed=embed, trunk=trunk, head=PerToken.Config(offsets=True) if decodes else None)


def table() -> WeightTable:
    def linear(theirs: str, ours: str) -> list:
        return [SameTensor(f"{theirs}/{end}", f"{ours}.{end}") for end in ("weight", "bias")]

    def norm(theirs: str, ours: str) -> list:
        return [
            SameTensor(f"{theirs}/layer_norm/gamma", f"{ours}.gain"),
            SameTensor(f"{theirs}/layer_norm/beta", f"{ours}.offset"),
        ]

    def branch(theirs: str, ours: str, parts: dict[str, str]) -> list:
        rules = [rule for name, part in parts.items() for rule in linear(f"{theirs}/{name}", f"{ours}.{part}")]
        return [*norm(theirs, f"{ours}_norm"), *rules]

    def layer(theirs: str, ours: str, *, reads: bool) -> list:
        rules = branch(f"{theirs}/self_attention", f"{ours}.mix", {"linear_0": "qkv", "linear_1": "out"})
        if reads:
            parts = {"linear_0": "q", "linear_1": "kv", "linear_2": "out"}
            rules += branch(f"{theirs}/attention", f"{ours}.read", parts)
        return rules + branch(f"{theirs}/ffn", f"{ours}.transform", {"linear_0": "up", "linear_1": "down"})

    rules = []
    for theirs, ours in (("encoder", "source"), ("decoder", "target")):
        rules.append(SameTensor(f"{theirs}/embeddings/weight", f"{ours}.embed.table.weight"))
        rules += layers(DEPTH, layer(f"{theirs}/layer_{{i}}", f"{ours}.trunk.blocks.{{i}}", reads=theirs == "decoder"))
        rules += norm(theirs, f"{ours}.trunk.norm")
    return WeightTable(rules, linear("decoder/projection", "target.head.out"))


def test_a_checkpoint_in_a_layout_of_its_own_spells_names_as_it_did(shared_data: Path):
    folder = shared_data / "weights" / "aren-transliteration"
    words = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    model = Seq2Seq.Config(
        source=side(len(words["source"]), decodes=False), target=side(len(words["target"]), decodes=True)
    ).build()
    with Shards(folder) as theirs:
        rules = table()
        rules.check(theirs.shapes, own_tensors(model), where="the checkpoint")
        fill(rules, own_tensors(model), theirs)
    model.eval()
    for name, spelt in json.loads((folder / "golden.json").read_text(encoding="utf-8")).items():
        ids = torch.tensor([[words["source"].index(letter) for letter in name.split()]])
        with torch.inference_mode():
            memory = model.memorise(Text(ids))
        line = Line([START], END, 30, generator(0, [START], 0))
        search(Session(model.target, memory=memory), [[START]], Drawing([line], Sampling(temperature=0.0)))
        assert "".join(words["target"][id] for id in line.ids if id != END) == spelt
