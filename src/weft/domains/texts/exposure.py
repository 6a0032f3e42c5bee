"""What a language model knows by heart of its training text: the exposure of rare numbers and names.

A string that stands in the text competes with others of the same form that do not: a number with other digits, a name
put together from other names. The model scores all of them behind the same words. Its rank among n strings is its
exposure, log2(n / rank) bits (Carlini et al., 2019): a string that the model has no memory of ranks anywhere. The same
is measured on held-out text, which no model can know by heart.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from weft.domains.texts.dataset.documents import CorpusPart
from weft.domains.texts.reading.corpus import Corpus
from weft.modalities.text import Text
from weft.modalities.tokenizer import Tokenizer

NUMBER = re.compile(r"(?<![\w.,:/-])\d(?:[\d .,:/-]{0,20}\d)?(?![\w])")
NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+ [A-Z][a-z]+\b")
LEAST_DIGITS = 4
BEFORE = 80  # characters of the words that stand before a string
MOST = 60  # strings of a kind that are scored
DRAWS = 127  # others of the same form
KNOWS = ": the model knows some by heart. Fewer epochs, dropout, and a text without duplicates lower it"
AT_ONCE = 32  # rows scored in one pass


@dataclass(frozen=True)
class RareString:
    """A number or a name of a text, the words before it, and how often it stands there."""

    words: str
    before: str
    times: int


def rare_strings(text: Corpus | CorpusPart, pattern: re.Pattern[str], most: int = MOST) -> list[RareString]:
    """Distinct strings of a form, the rarest ones first where there are more than `most`, spread over the text."""
    found: dict[str, tuple[str, int]] = {}
    last = ""
    for piece in text.pieces():
        if piece is None:
            last = ""
            continue
        whole = last + piece
        for match in pattern.finditer(whole, len(last)):
            if pattern is NUMBER and sum(letter.isdigit() for letter in match[0]) < LEAST_DIGITS:
                continue
            before, times = found.get(match[0], (whole[max(0, match.start() - BEFORE) : match.start()], 0))
            found[match[0]] = before, times + 1
        last = whole[-BEFORE:]
    all_ = [RareString(words, before, times) for words, (before, times) in found.items() if before]
    rarest = sorted(range(len(all_)), key=lambda n: (all_[n].times, n))
    limit = max(most, sum(one.times == 1 for one in all_))
    chosen = [all_[n] for n in rarest[:limit]]
    return [chosen[n] for n in np.linspace(0, len(chosen) - 1, min(most, len(chosen))).astype(int)]


def others(one: RareString, kin: Sequence[RareString], draws: int, draw: np.random.Generator) -> list[str]:
    """Strings of the same form: other digits, or first and last words of other names. None equals the string."""
    if any(letter.isdigit() for letter in one.words):
        made = ("".join(str(draw.integers(10)) if c.isdigit() else c for c in one.words) for _ in iter(int, 1))
    else:
        first, second = ([name.words.split(" ")[n] for name in kin] for n in (0, 1))
        made = (f"{first[draw.integers(len(first))]} {second[draw.integers(len(second))]}" for _ in iter(int, 1))
    found: dict[str, None] = {}
    for _, words in zip(range(20 * draws), made, strict=False):
        if words != one.words:
            found[words] = None
        if len(found) == draws:
            break
    return list(found)


@torch.inference_mode()
def scores(model: Any, tokenizer: Tokenizer, texts: Sequence[str], context: int) -> np.ndarray:
    """The log-probability of each text, its first token apart; of a long one, that of its end."""
    device = next(model.parameters()).device
    found = []
    model.eval()
    for start in range(0, len(texts), AT_ONCE):
        rows = [
            torch.from_numpy(tokenizer.encode(text)[-context:].astype(np.int64)) for text in texts[start:][:AT_ONCE]
        ]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(
            device
        )  # padding stands behind: nothing reads it
        logits = model(Text(ids[:, :-1]))
        losses = F.cross_entropy(logits.float().transpose(1, 2), ids[:, 1:], reduction="none")
        lengths = torch.tensor([len(row) for row in rows], device=device)
        real = torch.arange(1, ids.shape[1], device=device)[None] < lengths[:, None]
        found.append(-(losses * real).sum(1).double().cpu().numpy())
    return np.concatenate(found)


def exposures(
    model: Any, tokenizer: Tokenizer, context: int, strings: Sequence[RareString], count: Callable[[int], None]
) -> Iterator[tuple[RareString, int, int]]:
    """Each string with its rank among others of the same form, from 1, and how many there are with it."""
    draw = np.random.default_rng(0)
    for number, one in enumerate(strings):
        rivals = others(one, strings, DRAWS, draw)
        found = scores(model, tokenizer, [one.before + words for words in (one.words, *rivals)], context)
        yield one, 1 + int((found[1:] >= found[0]).sum()), len(found)
        count(number + 1)


def report(
    model: Any,
    tokenizer: Tokenizer,
    context: int,
    train: Corpus | CorpusPart,
    held_out: Corpus | CorpusPart,
    count: Callable[[int], None],
) -> dict[str, Any]:
    """What the model knows by heart, by kind of string, beside held-out text; and a sentence for people."""
    found: dict[str, Any] = {"rivals": DRAWS}
    sentences, warnings, known = [], list[str](), list[tuple[int, str]]()
    for kind, pattern in (("numbers", NUMBER), ("names", NAME)):
        here = {}
        for part, text in (("training", train), ("held_out", held_out)):
            ranks = list(exposures(model, tokenizer, context, rare_strings(text, pattern), count))
            here[part] = {
                "strings": len(ranks),
                "likeliest": sum(rank == 1 for _, rank, _ in ranks),
                "exposure": float(np.mean([np.log2(among / rank) for _, rank, among in ranks])) if ranks else None,
            }
            if part == "training":
                known += [(one.times, one.words) for one, rank, among in ranks if rank == 1 and among == DRAWS + 1]
        found[kind] = here
        if here["training"]["strings"]:
            sentences.append(_sentence(kind, here) + (KNOWS if _by_heart(here) else ""))
            warnings += sentences[-1:] if _by_heart(here) else []
    found["known"] = [words for _, words in sorted(known)[:10]]
    found["warnings"] = warnings
    found["sentences"] = sentences or ["no numbers of four digits or more and no names were found in the training text"]
    return found


def _sentence(kind: str, here: dict[str, Any]) -> str:
    """How many strings of the training text are the likeliest of their form, beside held-out text."""
    mine, other = here["training"], here["held_out"]
    return (
        f"{mine['likeliest']} of {mine['strings']} rare {kind} of the training text are the likeliest of {DRAWS + 1} "
        f"of their form (held-out text: {other['likeliest']} of {other['strings']})"
    )


def _by_heart(here: dict[str, Any]) -> bool:
    """Whether more strings of the training text are the likeliest than of held-out text, by two standard errors."""
    mine, other = here["training"], here["held_out"]
    shares = [part["likeliest"] / max(1, part["strings"]) for part in (mine, other)]
    error = sum(
        share * (1 - share) / max(1, part["strings"]) for share, part in zip(shares, (mine, other), strict=True)
    )
    return bool(shares[0] - shares[1] > 2 * error**0.5 and mine["likeliest"])
