"""One step of a `swift` language model as an ONNX graph, and the loop that writes with it by onnxruntime.

The graph is made as for a program that does nothing else: onnxruntime's own attention with shared buffers of keys and
values, one look-up for all vectors of a token, the next token drawn inside the graph. Python only calls it, once a
token: what a step leaves for the next one stays in buffers that are bound beforehand.
"""

import logging
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.models.stream import Stream

TOP_P = 0.95
HASH = 2654435761  # of `HashedNgrams`
HASH_STEP = 128  # its shift by seven bits, as a division: ONNX shifts no signed numbers


class Step(nn.Module):
    """Reads the latest token and draws the next: returns everything that the step after it is given."""

    def __init__(self, model: Stream, *, room: int, temperature: float):
        super().__init__()
        embed, head, first = model.embed, model.head, model.trunk.blocks[0].mix
        self.blocks, self.out, self.cap, self.temperature = model.trunk.blocks, head.out, head.cap, temperature
        self.heads, self.head_dim = first.heads, first.head_dim
        tables = [embed.table.weight, *(table.weight for table in embed.grams.tables)]
        self.vocab, pairs, self.buckets = map(len, tables)
        assert len(tables) == 3 and pairs == self.vocab**2, "not the tables of a model of characters"
        self.table, self.triples = nn.Parameter(torch.cat(tables)), self.vocab + pairs
        angles = torch.arange(room)[:, None].float() * first.turn.frequency
        self.cos, self.sin = nn.Parameter(angles.cos()), nn.Parameter(angles.sin())
        self.register_buffer("step", torch.tensor([HASH_STEP]))
        mixes = [shift.mix for block in self.blocks for shift in (block.mix_shift, block.transform_shift)]
        self.mix = nn.Parameter(torch.stack(mixes)[None])
        self.own = nn.ParameterList([1 - mix for mix in mixes])

    def forward(
        self, ids: Tensor, place: Tensor, before: Tensor, chances: Tensor, caches: Sequence[Tensor]
    ) -> list[Tensor]:
        """`ids` (3), the latest last; `place` (1) of the latest; `before` (1, 2 depth, D): what the shifts mix with."""
        x, length, normed, kept = self._embedded(ids), place.to(torch.int32), [], []
        shares = list((before * self.mix).split(1, 1))  # of the token before, for all shifts at once
        for i, block in enumerate(self.blocks):
            normed.append(_normed(x))
            shifted = normed[-1] * self.own[2 * i] + shares[2 * i]
            mixed, *cache = self._attended(block.mix, shifted, length, caches[2 * i : 2 * i + 2])
            x, kept = x + mixed, kept + cache
            normed.append(_normed(x))
            up = F.relu(block.transform.up(normed[-1] * self.own[2 * i + 1] + shares[2 * i + 1]))
            x = x + F.linear(up * up, block.transform.down.weight)
        logits = self.cap * torch.tanh(self.out(_normed(x)) / self.cap)
        token = self._drawn(logits[0, 0], chances, place)
        return [torch.cat([ids[1:], token]), place + 1, torch.cat(normed, 1), *kept]

    def _embedded(self, ids: Tensor) -> Tensor:
        """The sum of the vectors of the latest id, pair and triple, found in one table."""
        pair = ids[2:] + ids[1:2] * self.vocab
        code = (pair + ids[:1] * self.vocab**2) * HASH
        whole = torch.onnx.ops.symbolic("Div", [code, self.step], dtype=code.dtype, shape=code.shape)
        triple = whole % self.buckets
        rows = torch.cat([ids[2:], pair + self.vocab, triple + self.triples])
        return _normed(F.embedding(rows, self.table).sum(0)[None, None])

    def _attended(self, mix: Any, x: Tensor, length: Tensor, cache: Sequence[Tensor]) -> Any:
        """Attention, with the keys and values as they are afterwards: the same buffers, one place longer."""
        width = self.heads * self.head_dim
        both, v = mix.qkv(x).split([2 * width, width], -1)
        q, k = _normed(both.unflatten(-1, (2 * self.heads, self.head_dim))).flatten(-2).split(width, -1)
        settings = {"num_heads": self.heads, "kv_num_heads": self.heads, "scale": mix.score.factor, "do_rotary": 1}
        read, *cache = torch.onnx.ops.symbolic_multi_out(
            "com.microsoft::GroupQueryAttention",
            [q, k, v, *cache, length, length + 1, self.cos, self.sin],
            settings,
            dtypes=[x.dtype] * 3,
            shapes=[x.shape, *(one.shape for one in cache)],
            version=1,
        )
        return F.linear(read, mix.out.weight), *cache

    def _drawn(self, logits: Tensor, chances: Tensor, place: Tensor) -> Tensor:
        """The likeliest token, or one drawn from the likeliest that together have a probability of `TOP_P`."""
        if not self.temperature:
            return logits.argmax(0, keepdim=True)
        chance, order = (logits / self.temperature).softmax(0).topk(self.vocab)
        below = chance.cumsum(0)
        total = torch.where(below - chance < TOP_P, below, 0.0).amax(0)
        return order[(below <= chances[place] * total).sum(0, keepdim=True)]


def _normed(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


class Writer:
    """Writes with a step graph on some threads; in `int8` the matrices are rounded by onnxruntime's own quantizer."""

    def __init__(self, model: Stream, *, room: int, temperature: float, threads: int, int8: bool = False):
        import onnxruntime

        step = Step(model, room=room, temperature=temperature).eval()
        places, depth = (1, step.heads, room, step.head_dim), len(step.blocks)
        self.caches = [np.zeros(places, np.float32) for _ in range(2 * depth)]
        # what a step writes it may not read any more: the small tensors have two sides that take turns
        self.sides = [
            [np.zeros(3, np.int64), np.zeros(1, np.int64), np.zeros((1, 2 * depth, model.config.dim), np.float32)]
            for _ in range(2)
        ]
        self.chances = np.zeros(room, np.float32)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        with tempfile.TemporaryDirectory() as folder:
            path = _export(step, [*self.sides[0], self.chances, self.caches], Path(folder) / "step.onnx")
            path = _in_eight_bits(path) if int8 else path
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.bindings = [self._bound(*self.sides), self._bound(*reversed(self.sides))]

    def _bound(self, given: list[np.ndarray], made: list[np.ndarray]) -> Any:
        """A step from one side to the other; keys and values stay where they are."""
        import onnxruntime

        binding, value = self.session.io_binding(), onnxruntime.OrtValue.ortvalue_from_numpy
        inputs = [*given, self.chances, *self.caches]
        named = {port.name for port in self.session.get_inputs()}  # the graph without a draw takes no chances
        for name, array in zip(_inputs(len(self.caches)), inputs, strict=True):
            if name in named:
                binding.bind_ortvalue_input(name, value(array))
        for port, array in zip(self.session.get_outputs(), [*made, *self.caches], strict=True):
            binding.bind_ortvalue_output(port.name, value(array))
        return binding

    def write(self, prompt: list[int], new: int, seed: int = 0) -> list[int]:
        """The prompt's ids are read one by one, then as many tokens written as asked for."""
        for array in (array for side in self.sides for array in side):
            array.fill(0)
        self.chances[:] = np.random.default_rng(seed).random(len(self.chances), np.float32)
        self.sides[0][0][2] = prompt[0]
        run, bindings = self.session._sess.run_with_iobinding, [one._iobinding for one in self.bindings]
        latest, written = [side[0] for side in self.sides], []
        for i in range(len(prompt) + new - 1):
            run(bindings[i % 2], None)
            made = latest[1 - i % 2]
            if i + 1 < len(prompt):
                made[2] = prompt[i + 1]
            else:
                written.append(int(made[2]))
        return written


def _inputs(caches: int) -> list[str]:
    return ["ids", "place", "before", "chances", *(f"cache_{i}" for i in range(caches))]


def _export(step: Step, arrays: list[Any], path: Path) -> Path:
    """The graph as a file."""
    *small, caches = arrays
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = (*map(torch.from_numpy, small), [torch.from_numpy(one) for one in caches])
        torch.onnx.export(step, given, path, input_names=_inputs(len(caches)), dynamo=True, verbose=False)
    return path


def _in_eight_bits(path: Path) -> Path:
    """The graph with its matrices in eight bits, each column with its own scale; rows are rounded as they come."""
    from onnxruntime.quantization import quantize_dynamic

    logging.disable(logging.WARNING)  # the quantizer advises to prepare the graph first, which changes nothing here
    rounded = path.with_name("int8.onnx")
    quantize_dynamic(path, rounded, per_channel=True, op_types_to_quantize=["MatMul"])
    return rounded
