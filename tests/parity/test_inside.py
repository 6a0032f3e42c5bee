"""Lens, patching, ablation and direct attribution against hooks on the Hugging Face library's own GPT-2."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers.foreign import built, library, saved
from helpers.foreign_models import decoders

from weft.inspect.attribution import direct
from weft.inspect.effects import ablation, branch_ablation, patching
from weft.inspect.lens import lens
from weft.inspect.study import Study, stream_study
from weft.interop import read_folder
from weft.modalities.text import Text

EXACT = 2e-4  # of logits of random weights in fp32
LENGTH = 7
Edit = Callable[[torch.Tensor], torch.Tensor]


def ids(seed: int) -> torch.Tensor:
    return torch.randint(1, 61, (1, LENGTH), generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    library()
    theirs = built(*decoders.CASES["gpt2"])
    return theirs, read_folder(saved(theirs, tmp_path_factory.mktemp("gpt2") / "a")).model


def study(ours: Any, text: torch.Tensor) -> Study:
    return stream_study(ours, Text(text), names=[str(n) for n in range(LENGTH)], label=str, place=LENGTH)


def measured(theirs: Any, one: Study, text: torch.Tensor, part: Any = None, edit: Edit | None = None) -> float:
    """The measure of their model, where what a module gives, or is given (`pre`), is edited."""
    handle = None
    if part is not None and edit is not None:
        module, pre = part
        if pre:
            handle = module.register_forward_pre_hook(lambda _, given: (edit(given[0]), *given[1:]))
        else:

            def after(_: Any, given: Any, made: Any) -> Any:
                return (edit(made[0]), *made[1:]) if isinstance(made, tuple) else edit(made)

            handle = module.register_forward_hook(after)
    with torch.no_grad():
        logits = theirs(text).logits[:, -1]
    if handle is not None:
        handle.remove()
    return float(one.measure(logits)[0])


def hidden(theirs: Any, text: torch.Tensor) -> list[torch.Tensor]:
    """Their stream ahead of each block and after the last, without the last norm."""
    found: list[torch.Tensor] = []
    blocks = theirs.transformer.h
    handles = [block.register_forward_pre_hook(lambda _, given: found.append(given[0])) for block in blocks]

    def last(_: Any, given: Any, made: Any) -> None:
        found.append(made[0] if isinstance(made, tuple) else made)

    handles.append(blocks[-1].register_forward_hook(last))
    with torch.no_grad():
        theirs(text)
    for handle in handles:
        handle.remove()
    return found


def test_the_lens_is_their_norm_and_head_after_each_block(both: Any):
    theirs, ours = both
    one, text = study(ours, ids(1)), ids(1)
    found = lens(one)
    states = hidden(theirs, text)
    whole = [row for row, step in enumerate(found.steps) if not step.branch]
    assert len(whole) == len(states)
    with torch.no_grad():
        for row, state in zip(whole, states, strict=True):
            logits = theirs.lm_head(theirs.transformer.ln_f(state[:, -1]))[0]
            assert np.abs(found.values[row] - logits.numpy()).max() < EXACT


def test_heads_and_mlps_that_are_off_change_the_measure_as_theirs_do(both: Any):
    theirs, ours = both
    one, text, heads = study(ours, ids(1)), ids(1), theirs.config.n_head
    width = theirs.config.n_embd // heads
    table, branches = ablation(one).measures, branch_ablation(one).measures
    for layer, block in enumerate(theirs.transformer.h):
        for head in range(heads):

            def off(x: torch.Tensor, start: int = head * width) -> torch.Tensor:
                return x.clone().index_fill_(-1, torch.arange(start, start + width), 0.0)

            expected = measured(theirs, one, text, (block.attn.c_proj, True), off)
            assert table[layer, head] == pytest.approx(expected, abs=EXACT)
        expected = measured(theirs, one, text, (block.mlp, False), torch.zeros_like)
        assert branches[layer, 1] == pytest.approx(expected, abs=EXACT)


def test_a_patched_stream_changes_the_measure_as_theirs_does(both: Any):
    theirs, ours = both
    one, text, other = study(ours, ids(1)), ids(1), ids(2)
    states, found = hidden(theirs, other), patching(one, study(ours, other)).measures
    for layer, block in enumerate(theirs.transformer.h):
        for token in range(LENGTH):

            def patched(x: torch.Tensor, at: int = token, source: torch.Tensor = states[layer]) -> torch.Tensor:
                x = x.clone()
                x[:, at] = source[:, at]
                return x

            expected = measured(theirs, one, text, (block, True), patched)
            assert found[layer, token] == pytest.approx(expected, abs=EXACT)


def test_what_heads_add_directly_is_what_their_last_norm_and_head_make_of_it(both: Any):
    theirs, ours = both
    one, text = study(ours, ids(1)), ids(1)
    inputs: list[torch.Tensor] = []
    blocks = theirs.transformer.h
    handles = [
        block.attn.c_proj.register_forward_pre_hook(lambda _, given: inputs.append(given[0])) for block in blocks
    ]
    last = hidden(theirs, text)[-1][0, -1]
    for handle in handles:
        handle.remove()
    norm, width = theirs.transformer.ln_f, theirs.config.n_embd // theirs.config.n_head
    scale = (last.var(correction=0) + norm.eps).rsqrt()
    towards = theirs.lm_head.weight[one.answer] - theirs.lm_head.weight[one.against]
    parts = {(part.layer, part.head): part.value for part in direct(one).parts if part.branch == "mix"}
    for layer, block in enumerate(blocks):
        for head in range(theirs.config.n_head):
            rows = slice(head * width, (head + 1) * width)
            added = inputs[layer][0, -1, rows] @ block.attn.c_proj.weight[rows]
            expected = float(((added - added.mean()) * scale * norm.weight) @ towards)
            assert parts[layer + 1, head + 1] == pytest.approx(expected, abs=EXACT)
    assert abs(direct(one).missing) < 1e-5 * max(1.0, abs(direct(one).measure))
