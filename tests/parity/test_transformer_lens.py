"""Lens, ablation, patching and direct attribution against TransformerLens, where it is installed; it is not required.

pip install transformer-lens        # 4.3: `TransformerBridge`, the hooked form of a model of the Hugging Face library
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.foreign import built, library, saved
from helpers.foreign_models import decoders

from weft.inspect.attribution import direct
from weft.inspect.effects import ablation, patching
from weft.inspect.lens import lens
from weft.inspect.study import Study, stream_study
from weft.interop import read_folder
from weft.modalities.text import Text

EXACT = 2e-4  # of logits of random weights in fp32
LENGTH = 7


def ids(seed: int) -> torch.Tensor:
    return torch.randint(1, 61, (1, LENGTH), generator=torch.Generator().manual_seed(seed))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A tiny GPT-2 hooked by TransformerLens, and the same imported."""
    hooked = pytest.importorskip("transformer_lens")
    tokenizers, models = pytest.importorskip("tokenizers"), library()
    folder = tmp_path_factory.mktemp("gpt2") / "a"
    theirs = built(*decoders.CASES["gpt2"])
    ours = read_folder(saved(theirs, folder)).model
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(n): n for n in range(61)}, unk_token="0"))
    spoken = models.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="0", eos_token="1", pad_token="1")
    bridge = hooked.TransformerBridge.boot_transformers(str(folder), hf_model=theirs, tokenizer=spoken, device="cpu")
    return bridge.eval(), ours


def study(ours: Any, text: torch.Tensor) -> Study:
    return stream_study(ours, Text(text), names=[str(n) for n in range(LENGTH)], label=str, place=LENGTH)


@torch.no_grad()
def hooked(bridge: Any, one: Study, text: torch.Tensor, name: str, edit: Callable[[torch.Tensor], None]) -> float:
    """The measure of their model while the numbers at a hook are edited in place."""

    def hook(x: torch.Tensor, hook: Any) -> torch.Tensor:
        x = x.clone()
        edit(x)
        return x

    return float(one.measure(bridge.run_with_hooks(text, fwd_hooks=[(name, hook)])[:, -1])[0])


@torch.no_grad()
def test_lens_and_attribution_are_theirs(both: Any) -> None:
    bridge, ours = both
    one, (logits, cache) = study(ours, ids(1)), bridge.run_with_cache(ids(1))
    found, parts = lens(one), {(part.layer, part.head): part.value for part in direct(one).parts if part.head}
    whole = [row for row, step in enumerate(found.steps) if not step.branch]
    torch.testing.assert_close(torch.from_numpy(found.values[-1]), logits[0, -1], atol=EXACT, rtol=0)
    last = cache[f"blocks.{bridge.cfg.n_layers - 1}.hook_resid_post"][0, -1]
    scale = (last.var(correction=0) + bridge.cfg.eps).rsqrt()
    gain, unembed = bridge.ln_final.weight, bridge.unembed.W_U
    towards = unembed[:, one.answer] - unembed[:, one.against]
    for layer in range(bridge.cfg.n_layers):
        state = cache[f"blocks.{layer}.hook_resid_post"]
        theirs = bridge.unembed(bridge.ln_final(state))[0, -1]
        torch.testing.assert_close(torch.from_numpy(found.values[whole[layer + 1]]), theirs, atol=EXACT, rtol=0)
        for head in range(bridge.cfg.n_heads):
            z = cache[f"blocks.{layer}.attn.hook_z"].reshape(1, LENGTH, bridge.cfg.n_heads, -1)[0, -1, head]
            added = z @ bridge.blocks[layer].attn.W_O[head]
            value = float(((added - added.mean()) * scale * gain) @ towards)
            assert parts[layer + 1, head + 1] == pytest.approx(value, abs=EXACT)


def test_heads_switched_off_and_streams_patched_change_the_answer_as_theirs_do(both: Any) -> None:
    bridge, ours = both
    one, text, other = study(ours, ids(1)), ids(1), ids(2)
    table, patched = ablation(one).measures, patching(one, study(ours, other)).measures
    with torch.no_grad():
        _, cache = bridge.run_with_cache(other)
    for layer in range(bridge.cfg.n_layers):
        for head in range(bridge.cfg.n_heads):

            def off(x: torch.Tensor, head: int = head) -> None:
                x.view(1, LENGTH, bridge.cfg.n_heads, -1)[:, :, head] = 0.0

            expected = hooked(bridge, one, text, f"blocks.{layer}.attn.hook_z", off)
            assert table[layer, head] == pytest.approx(expected, abs=EXACT)
        name = f"blocks.{layer}.hook_resid_pre"
        for token in range(LENGTH):

            def taken(x: torch.Tensor, token: int = token, name: str = name) -> None:
                x[:, token] = cache[name][:, token]

            assert patched[layer, token] == pytest.approx(hooked(bridge, one, text, name, taken), abs=EXACT)
