"""Pictures with captions and questions, drawn by weft."""

from weft.data.images.album import Found


def scenes(count: int = 5000, held_out: int = 500, *, seed: int = 1907) -> Found:
    """Scenes of our own: pictures of 48 x 48 pixels with captions, questions, and the regions that their words are about.

    Held-out pictures have colours and shapes that are never together in those to learn from.
    """
    from weft.data.samples.scene_album import sample_scenes

    return Found(sample_scenes(count, seed), sample_scenes(held_out, seed, unseen=True) if held_out else None)
