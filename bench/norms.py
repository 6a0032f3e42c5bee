"""Layer norm and batch norm: does a picture get the same answer in training and in use, alone and among others?

    python bench/norms.py --vit runs/vit --resnet runs/resnet --test test.zip

Takes two trained runs, one normed by layer (vit), one by batch (resnet), and lets each name the same pictures in
training mode (no dropout, no tokens left out) in batches of 1 and of 64, and in use. Statistics of a batch are put back
after each measurement.
"""

import copy
from typing import Any

import numpy as np
import torch
from report import Table, arguments, hand_in

import weft
from weft.config import from_json
from weft.domains.pictures.codec import PictureCodec
from weft.domains.pictures.encoded.frames import by_shape, frames_of
from weft.domains.pictures.reading.trying import read_images


@torch.no_grad()
def answers(model: torch.nn.Module, batches: Any, *, training: bool) -> tuple[np.ndarray, np.ndarray]:
    """Logits for all pictures, and the rows they belong to."""
    model = copy.deepcopy(model).train(training)
    found, rows = [], []
    for some, picture in batches:
        found.append(model(picture).double().numpy())
        rows.append(some)
    return np.concatenate(found), np.concatenate(rows)


def measure(given: Any) -> list[Table]:
    """Accuracy and the largest change of a logit, each beside the model in use."""
    lines = []
    for name, folder in (("layer norm (vit)", given.vit), ("batch norm (resnet)", given.resnet)):
        run = weft.load(folder)
        codecs = run.config["codecs"]
        codec = from_json(codecs["picture"], PictureCodec.Config).build(read=lambda name: "")
        found = read_images(given.test).train
        mixed = np.random.default_rng(0).permutation(len(found))  # a batch of one class alone would be unlike training
        album = found.take(mixed[: given.most])
        embed = run.model.embed
        embed.config = embed.config.replace(drop=0.0)
        frames = frames_of(album, codec.config.size, embed.config.channels)
        truth = np.array([codecs["label"]["names"].index(label) for label in album.labels])
        used, _ = answers(run.model, by_shape(frames, codec, 1, 64), training=False)
        for batch in (1, 64):
            logits, rows = answers(run.model, by_shape(frames, codec, 1, batch), training=True)
            accuracy = float((logits.argmax(1) == truth[rows]).mean())
            lines.append(
                [name, batch, float((used.argmax(1) == truth).mean()), accuracy, float(np.abs(logits - used).max())]
            )
    columns = ["norm", "batch", "accuracy in use", "accuracy in training mode", "largest change of a logit"]
    return [Table("The same network in training mode and in use", columns, lines)]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--vit", required=True, metavar="RUN")
    parser.add_argument("--resnet", required=True, metavar="RUN")
    parser.add_argument("--test", required=True, metavar="DATA")
    parser.add_argument("--most", type=int, default=512)
    hand_in(measure(found := parser.parse_args()), found.json)
