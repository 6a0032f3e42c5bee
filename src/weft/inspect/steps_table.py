"""Attention step by step as a table for a terminal or a page: as many columns as there is room for."""

import math
import textwrap

import numpy as np
from rich.cells import cell_len, set_cell_size

from weft.errors import harmless
from weft.inspect.steps import Steps

SHOWN_NUMBERS = 4  # numbers of a vector in the table, where there is room
LABEL_COLUMNS = 20  # columns of a label in the table
BAR_COLUMNS = 12  # width of the bar of a weight of 1
LINE_COLUMNS = 100  # of sentences, where no width is given


def table(steps: Steps, *, width: int | None = None) -> str:
    """The steps as plain text with aligned columns, the biggest weight marked.

    Vectors show their first numbers: as many as fit into `width` columns, and four where no width is given. Where there
    is no room for one, keys and values are left out, then the bars.
    """
    for shown, bars in [*((n, True) for n in range(SHOWN_NUMBERS, -1, -1)), (0, False)]:
        body = _columns(steps, shown, bars)
        if width is None or max(map(cell_len, body)) <= width:
            break
    return "\n".join(line for given in _lines(steps, body, shown) for line in _wrapped(given, width, given in body))


def _lines(steps: Steps, body: list[str], shown: int) -> list[str]:
    query, (d, e) = _short(steps.query.strip() or steps.query), (steps.q.size, steps.v.shape[1])
    ruler = "-" * max(map(cell_len, body))
    total = "nothing may be read: all weights are 0" if not steps.readable.any() else f"{steps.weights.sum():.4f}"
    where = f"{steps.layer}, head {steps.head + 1}" if steps.layer else f"head {steps.head + 1}"
    return [
        f"How {query} reads {len(steps.keys)} tokens in {where}",
        "",
        f"1. The query q of {query}, {d} numbers:  {_vector(steps.q, max(shown, 1))}",
        "",
        f"2. Each token has a key k of {d} numbers and a value v of {e}.",
        f"   score  = {steps.formula}",
        f"   scaled = {_scaling(steps)}",
        *([f"   factor = {steps.factor:.4g} = {steps.why}"] if steps.why else []),
        f"   weight = softmax = exp({_exponent(steps)}) / sum of exp({_exponent(steps)}),",
        "            the sum over the tokens that may be read",
        "",
        *[*body[:2], ruler, *body[2:], ruler],
        f"   sum of the weights: {total}{'' if steps.readable.all() else ';  closed: may not be read here'}",
        "",
        f"3. output = sum of weight × v, {e} numbers:  {_vector(steps.output, max(shown, 1))}",
    ]


def _wrapped(line: str, width: int | None, whole: bool) -> list[str]:
    """A sentence in lines that fit; rows of the table are as they are."""
    if whole or cell_len(line) <= (width or LINE_COLUMNS) or not line.strip("-"):
        return [line.rstrip()]
    return textwrap.wrap(line, width or LINE_COLUMNS, subsequent_indent=" " * 12, break_long_words=False)


def _scaling(steps: Steps) -> str:
    d = steps.q.size
    if _by_root(steps):
        return f"score / √d = score / √{d} = score × {steps.factor:.4g}"
    if math.isclose(steps.factor, 1.0):
        return "score: this kind of score is not scaled"
    return f"score × factor = score × {steps.factor:.4g}"


def _by_root(steps: Steps) -> bool:
    return steps.formula == "q·k" and math.isclose(steps.factor, steps.q.size**-0.5)


def _exponent(steps: Steps) -> str:
    return "scaled" if steps.bias is None else "scaled + bias"


def _columns(steps: Steps, shown: int, bars: bool) -> list[str]:
    """Two lines of headings and one for each key, columns padded to one width."""
    best = int(steps.weights.argmax()) if steps.readable.any() else -1
    by = (
        f"/ √{steps.q.size}"
        if _by_root(steps)
        else "= score"
        if math.isclose(steps.factor, 1.0)
        else f"× {steps.factor:.4g}"
    )
    signed = lambda numbers: [f"{x + 0.0:.4f}" for x in numbers]  # noqa: E731
    columns = [
        ["", "", *(">" if n == best else "" for n in range(len(steps.keys)))],
        ["token", "", *map(_short, steps.keys)],
        *([["k", "", *(_vector(k, shown) for k in steps.k)]] if shown else []),
        ["score", steps.formula, *signed(steps.scores)],
        ["scaled", by, *signed(steps.scaled)],
        *([] if steps.bias is None else [["bias", "", *signed(steps.bias)]]),
        [
            "weight",
            "softmax",
            *(f"{w:.4f}" if r else "closed" for w, r in zip(steps.weights, steps.readable, strict=True)),
        ],
        *([["", "", *(_bar(w, n == best) for n, w in enumerate(steps.weights))]] if bars else []),
        *([["v", "", *(_vector(v, shown) for v in steps.v)]] if shown else []),
    ]
    left = {
        0,
        1,
        *([len(columns) - 1 - bool(shown)] if bars else []),
    }  # marks, labels and bars begin at the left; numbers end at the right
    return ["  ".join(cells) for cells in zip(*(_padded(c, n in left) for n, c in enumerate(columns)), strict=True)]


def _bar(weight: float, best: bool) -> str:
    return "█" * round(BAR_COLUMNS * weight) + (" biggest" if best else "")


def _padded(cells: list[str], left: bool) -> list[str]:
    width = max(map(cell_len, cells))
    return [cell + " " * (width - cell_len(cell)) if left else " " * (width - cell_len(cell)) + cell for cell in cells]


def _vector(numbers: np.ndarray, shown: int) -> str:
    text = " ".join(f"{x:7.3f}" for x in numbers[:shown])
    return f"{text} …" if numbers.size > shown else text


def _short(label: str) -> str:
    shown = harmless(label).replace("\n", "↵").replace("\t", "⇥")
    bare = shown.strip(" ")
    shown = "␣" * (len(shown) - len(shown.lstrip(" "))) + bare if bare else "␣" * len(shown)
    return shown if cell_len(shown) <= LABEL_COLUMNS else set_cell_size(shown, LABEL_COLUMNS - 1) + "…"
