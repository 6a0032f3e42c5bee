"""Plain methods for pictures: the nearest thumbnails, and a linear model on their principal components."""

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn import functional as F

from weft.domains.pictures.given import frames_for, in_batches
from weft.domains.pictures.reading.album import Album
from weft.objectives.measures.nearest import asked_within, nearest_classes, nearest_numbers, neighbours
from weft.tasks.baselines import Baseline
from weft.tasks.labels.baselines import LabelTarget
from weft.tasks.request import Loaded
from weft.training.progress import Progress

SIDE = 16  # pixels of a thumbnail
COMPONENTS = 50
MOST_PICTURES = 3_000  # that are opened to learn from


def picture_baselines(run: Loaded, target: LabelTarget, train: Album, held_out: Album) -> Iterator[Baseline]:
    """The nearest thumbnails; a linear model on principal components of thumbnails."""
    known, asked = thumbnails(run, train), thumbnails(run, held_out)
    if len(asked_within(len(asked), len(known))) == len(asked):
        near = neighbours(known, asked)
        answers = nearest_classes(*near, target.known, target.codec.outputs) if target.classes else (
            nearest_numbers(*near, target.known))  # fmt: skip
        yield target.scored("nearest", "the nearest training pictures", answers)
    from sklearn.decomposition import PCA

    pca = PCA(min(COMPONENTS, *known.shape), svd_solver="randomized", whiten=True, random_state=0).fit(known)
    features = pca.transform(known), pca.transform(asked)
    yield target.fitted("pca", f"principal components with {target.regression}", target.linear(), *features)


def thumbnails(run: Loaded, album: Album) -> np.ndarray:
    """(pictures, numbers): each picture at SIDE x SIDE pixels, from 0 to 1."""
    found = np.zeros((len(album), 0), np.float32)
    for rows, picture in in_batches(run, frames_for(run, album), Progress(quiet=True)):
        small = F.interpolate(picture.pixels.cpu().float(), (SIDE, SIDE), mode="area").flatten(1)
        if not found.shape[1]:
            found = np.zeros((len(album), small.shape[1]), np.float32)
        found[rows] = torch.nan_to_num(small).numpy()
    return found
