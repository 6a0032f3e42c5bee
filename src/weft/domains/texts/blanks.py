"""Blanks filled in by a run's encoder: candidates for them, and how likely hidden tokens are. Knows no files."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from weft.batches.like_lengths import ids_together
from weft.core import PerToken
from weft.domains.texts.encoded.masking import MaskedWindows
from weft.domains.texts.views.streams import ANSWERS
from weft.errors import ConfigError, WeftError
from weft.generate.compute import Compute
from weft.inspect.views import LookedAnswer
from weft.modalities.tokenizer import Tokenizer
from weft.models.stream import Stream
from weft.objectives.scoring import scored_by_row
from weft.tasks.measuring import windows_in_time
from weft.tasks.request import Loaded, Prediction
from weft.training.progress import Progress


class AskBlanks(Compute):
    """Settings of a prediction."""

    top: int = 5
    choices: tuple[str, ...] = ()

    about: ClassVar[Mapping[str, str]] = {
        "top": "how many candidates to list for each blank",
        "choices": "words to choose from, separated by commas; each must be one token of the model",
        **Compute.about,
    }

    def check(self) -> None:
        if self.top < 1:
            raise ConfigError(f"must be at least 1, found {self.top}", where="top")


def filler(run: Loaded) -> Stream:
    """The run's model, if it has logits over tokens; imported models may come without."""
    model = run.stream
    if not isinstance(model.head, PerToken):
        fix = "use weft embed and weft look, or fine-tune it: weft train DATA --from RUN"
        raise WeftError("this model has no head that could fill in blanks", where=str(run.folder.path), fix=fix)
    return model


def single_token(tokenizer: Tokenizer, word: str) -> int:
    """The token that a word is in running text; a blank is one token, so a word of several cannot fill it."""
    for spelt in (f" {word}", word) if tokenizer.cuts_at_words else (word,):
        ids = tokenizer.encode(spelt)
        if len(ids) == 1 and ids[0] not in tokenizer.special:
            return int(ids[0])
    problem = f"{word!r} is not one token of this model, and a blank holds one"
    raise WeftError(problem, where="--set choices", fix="choose among shorter or more usual words")


@torch.inference_mode()
def candidates(
    model: Stream,
    tokenizer: Tokenizer,
    framed: Sequence[tuple[np.ndarray, np.ndarray]],
    top: int,
    choices: Sequence[str] = (),
) -> list[list[list[Prediction]]]:
    """For each text, given by its ids and the places of its blanks, the candidates for each blank.

    These are the likeliest tokens that are not special, and how likely they are; of `choices` only, where given.
    """
    assert model.head is not None
    device, found = next(model.parameters()).device, [list[list[Prediction]]() for _ in framed]
    model.eval()
    for some, lines in ids_together([ids for ids, _ in framed]):
        x = model.encode(lines.to(device).raw()).x
        for row, i in enumerate(some):
            at_blanks = model.head.values(x[row, torch.from_numpy(framed[i][1]).to(device)])
            found[i] = _likeliest(at_blanks.cpu(), tokenizer, top, choices)
    return found


def _likeliest(
    values: Float[Tensor, "blanks V"], tokenizer: Tokenizer, top: int, choices: Sequence[str]
) -> list[list[Prediction]]:
    shares = values.softmax(-1)[:, : tokenizer.size]
    shares[:, torch.from_numpy(tokenizer.special)] = 0
    if choices:
        some = torch.tensor([single_token(tokenizer, one) for one in choices])
        open_to = torch.zeros_like(shares).index_fill_(1, some, 1.0) * shares
        shares, top = open_to / open_to.sum(-1, keepdim=True), min(top, len(set(some.tolist())))
    best = shares.topk(min(top, shares.shape[1]))
    return [
        [
            {"token": tokenizer.decode([id]), "probability": round(p, 6)}
            for id, p in zip(row.tolist(), ps.tolist(), strict=True)
        ]
        for row, ps in zip(best.indices, best.values, strict=True)
    ]


def blank_answer(model: Stream, tokenizer: Tokenizer, ids: np.ndarray) -> LookedAnswer | None:
    """What fills the blanks of ids: the likeliest candidates for one, the likeliest each for several; or None."""
    places = np.flatnonzero(ids == tokenizer.mask)
    if not len(places) or not isinstance(model.head, PerToken):
        return None
    (found,) = candidates(model, tokenizer, [(ids, places)], ANSWERS)
    best = found[0] if len(found) == 1 else [one[0] for one in found]
    said = tuple((one["token"].strip() or repr(one["token"]), one["probability"]) for one in best)
    return LookedAnswer(said, "in the blank" if len(found) == 1 else "in the blanks")


def score(
    model: Stream, windows: MaskedWindows, progress: Progress, seconds: float | None = None
) -> tuple[np.ndarray, dict[str, str]]:
    """Window by window: the summed loss of hidden tokens in nats, how many were guessed right and their number.

    And whether these are all windows.
    """

    def rows(most: int | None, count: Callable[[int], None] | None) -> np.ndarray:
        return scored_by_row(model, windows.held_out(most=most), count)

    return windows_in_time(windows.windows, rows, progress, seconds)
