"""CLIP's tower of texts alone, and texts that CLIP and SigLIP read; pictures as SigLIP 2 takes them."""

from typing import Any

import torch

from helpers.foreign_models.newer_pictures import CLIP_TEXT

CASES: dict[str, tuple[str, dict]] = {
    "clip, texts alone": ("CLIPTextModel", CLIP_TEXT),
    "clip, texts alone, projected": ("CLIPTextModelWithProjection", {**CLIP_TEXT, "projection_dim": 12}),
}


def ended_texts(config: Any, draw: torch.Generator) -> dict[str, torch.Tensor]:
    """Three texts whose end marks stand at different places, the last of them padded by end marks."""
    end = config.vocab_size - 1 if config.eos_token_id == 2 else config.eos_token_id
    ids = torch.randint(3, end, (3, 9), generator=draw)
    mask = torch.ones_like(ids)
    for row, place in enumerate((8, 5, 2)):
        ids[row, place:] = end
        mask[row, place + 1 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def patched_pictures(config: Any, draw: torch.Generator, rows: int = 3, columns: int = 5) -> dict[str, torch.Tensor]:
    """Two pictures cut into patches, as SigLIP 2 is given them, with room for two patches more."""
    size = config.num_channels * config.patch_size**2
    mask = torch.arange(rows * columns + 2).expand(2, -1) < rows * columns
    return {
        "pixel_values": torch.randn(2, rows * columns + 2, size, generator=draw),
        "pixel_attention_mask": mask.long(),
        "spatial_shapes": torch.tensor([[rows, columns]] * 2),
    }


def filled_texts(config: Any, draw: torch.Generator) -> dict[str, torch.Tensor]:
    """Three texts of different lengths, filled up to the length that SigLIP reads."""
    ids = torch.randint(3, config.vocab_size, (3, config.max_position_embeddings), generator=draw)
    for row, length in enumerate((9, 5, 2)):
        ids[row, length:] = config.pad_token_id
    return {"input_ids": ids}
