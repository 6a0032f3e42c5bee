"""Decoders that begin with a language model: its tokenizer, embedding, blocks and head; the reading of a memory is new.

An encoder–decoder is made as always, with the language model's sizes. Then its decoder becomes the language model,
whose blocks read the memory as the decoder's would have.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from weft.core import Attention, Block
from weft.core.recurrent import Recurrent
from weft.errors import ConfigError, WeftError
from weft.modalities.text import TextEmbed
from weft.models.outline import outline, own_tensors
from weft.models.seq2seq import Seq2Seq
from weft.models.stream import Model, Stream
from weft.models.zoo import Size
from weft.tasks.finetuning import plain_model
from weft.tasks.request import Loaded
from weft.training.precision import Weights

WHERE = "--set decoder"
ATTENTION, RECURRENCE = "attention (swift, gpt, llama)", "recurrence (lstm)"


def language_model(run: Loaded) -> Stream.Config:
    """The model of a run that a decoder may begin with; a run of another task is refused."""
    model, task = plain_model(run), run.config.get("task")
    if (
        task != "language-model"
        or not isinstance(model, Stream)
        or not isinstance(model.config.embed, TextEmbed.Config)
    ):
        problem = f"{run.folder.path} is a run of {task or 'no task'}, and a decoder starts from a language-model run"
        raise WeftError(problem, where=WHERE, fix="name a run of weft train --task language-model")
    return model.config


def suited_writer(run: Loaded) -> str:
    """The model whose decoder may begin with a language model, where none is named."""
    blocks = language_model(run).trunk.all_blocks()
    return "show-attend-tell" if any(isinstance(block.mix, Recurrent.Config) for block in blocks) else "swift"


def size_of_language(config: Stream.Config, context: int) -> Size:
    """The sizes of a language model, for a decoder that reads `context` tokens."""
    blocks = config.trunk.all_blocks()
    return Size(dim=config.dim, depth=len(blocks), heads=getattr(blocks[0].mix, "heads", 1), context=context)


def with_language(made: Seq2Seq.Config, language: Stream.Config, context: int, dropout: float) -> Seq2Seq.Config:
    """An encoder–decoder whose decoder is a language model and reads the memory where the one that was made does."""
    embed, trunk = language.embed, language.trunk
    assert isinstance(embed, TextEmbed.Config)
    if embed.limit is not None and context > embed.limit:
        problem = f"texts have up to {context} tokens, and the language model knows {embed.limit} places"
        raise ConfigError(problem, where=WHERE, fix=f"leave longer ones out with --set context={embed.limit}")
    template = made.target.trunk.all_blocks()
    if len(template) != len(trunk.all_blocks()):
        problem = (
            f"this decoder needs {len(template)} layers or more, and the language model has {len(trunk.all_blocks())}"
        )
        raise WeftError(problem, where=WHERE, fix="name a language model with more layers, or another --model")
    blocks = [_reading(own, like) for own, like in zip(trunk.all_blocks(), template, strict=True)]
    blocks = [block.replace(dropout=dropout) for block in blocks]
    alike = all(block == blocks[0] for block in blocks)
    layers = {"block": blocks[0], "depth": len(blocks)} if alike else {"blocks": tuple(blocks), "depth": 1}
    trunk = trunk.replace(**{"block": None, "blocks": (), **layers}, memory=made.target.trunk.memory)
    embed = embed.replace(dropout=dropout, **({} if embed.limit is not None else {"context": context}))
    bridge = None if made.source.dim == language.dim else language.dim
    return made.replace(target=language.replace(embed=embed, trunk=trunk), bridge=bridge)


def _reading(own: Block.Config, like: Block.Config) -> Block.Config:
    """A block of a language model that reads a memory as another block does."""
    recurrent = isinstance(like.mix, Recurrent.Config)
    if (recurrent and type(own.mix) is not type(like.mix)) or (
        not recurrent and not isinstance(own.mix, Attention.Config)
    ):
        has, needs = (ATTENTION, RECURRENCE) if recurrent else (RECURRENCE, ATTENTION)
        problem = f"this decoder works by {needs}, and the language model by {has}"
        raise WeftError(problem, where=WHERE, fix=f"name a language model of {needs}, or another --model")
    if recurrent:
        return own.replace(mix=like.mix)
    assert isinstance(own.mix, Attention.Config)
    return own.replace(read=None if like.read is None else own.mix.replace(turn=None, bias=None, rules=()))


def language_weights(run: Loaded, config: Model.Config) -> Mapping[str, Tensor]:
    """The weights of a language model under the names of the decoder that begins with it.

    Where a map of the decoder also takes what was read from the memory, that part of it begins with zeros.
    """
    wanted = {name: t.shape for name, t in own_tensors(outline(config)).items()}
    found = {f"target.{name}": t for name, t in Weights(plain_model(run), torch.float32).tensors().items()}
    return {name: _widened(name, t, wanted.get(name)) for name, t in found.items()}


def _widened(name: str, tensor: Tensor, shape: torch.Size | None) -> Tensor:
    """A tensor with zeros behind its columns, up to the shape that is needed."""
    if tensor.shape == shape:
        return tensor
    if (
        shape is None
        or tensor.ndim != 2
        or len(shape) != 2
        or shape[0] != tensor.shape[0]
        or shape[1] < tensor.shape[1]
    ):
        problem = f"the decoder has no place for the language model's {name.removeprefix('target.')}"
        raise WeftError(f"{problem} of {list(tensor.shape)}", where=WHERE, fix="choose another --model")
    wide = tensor.new_zeros(shape)
    wide[:, : tensor.shape[1]] = tensor
    return wide


def encoder_alone(run: Loaded) -> Loaded:
    """A run of an encoder–decoder as a run of its encoder, for those who give it another decoder."""
    model = plain_model(run)
    encoder = model.get_submodule(model.backbone()[1].rstrip("."))
    assert isinstance(encoder, Stream)
    ends = {name: codec for name, codec in run.codecs.items() if name == "picture"}
    return replace(run, model=encoder, codecs=ends)
