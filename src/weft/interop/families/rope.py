"""Rotary turns as config.json describes them: the base, the share of a head, and the stretch for long texts.

Newer files have one object "rope_parameters", older ones "rope_theta" and "rope_scaling". Both are written.
"""

import math
from collections.abc import Mapping
from typing import Any

from weft.errors import ConfigError
from weft.interop.their_config import TheirConfig
from weft.position import EachPair, Even, PairRamp, Rotary, Stretch, TurnRamp

TYPES = {name: name for name in ("default", "linear", "llama3", "yarn", "dynamic", "longrope")}


def read_turn(
    given: TheirConfig,
    context: int,
    *,
    base: float = 10000.0,
    share: float = 1.0,
    partial: bool = False,
    types: Mapping[str, str] = TYPES,
) -> tuple[Rotary.Config, int]:
    """The turn, and the longest text that it is computed for as theirs computes it: `context` or less.

    `base` and `share` are the defaults. Turns of a share of a head need `partial`. `types` gives the kind of stretch
    for each name.
    """
    inner = given.inner("rope_scaling")
    if inner is not None and inner.data:  # where both are there, their library follows this one
        given.only("rope_parameters", inner.data)
    else:
        inner = given.inner("rope_parameters")
    inner = TheirConfig({}, given.where) if inner is None else inner
    base = inner.number("rope_theta", given.number("rope_theta", base, least=1.0), least=1.0)
    share = inner.number("partial_rotary_factor", given.number("partial_rotary_factor", share))
    if share != 1 and not partial:
        problem = f"partial_rotary_factor is {share}; weft computes it in this family only with 1.0"
        raise ConfigError(problem, where=given.where)
    older = inner.choice("type", {name: name for name in types}, "default")
    kind = inner.choice("rope_type", types, older)
    learned = inner.whole("original_max_position_embeddings", context)
    learned = given.whole("original_max_position_embeddings", learned)  # their library prefers the outer one
    if kind == "dynamic":
        inner.number("factor", least=1.0)
        given.remark(
            f"rope_type dynamic slows turns down in texts of more than {context} tokens; weft never does: keep to "
            "that length"
        )
        return Rotary.Config(base=base, share=share), context
    stretch = _stretch(kind, inner, learned, context)
    if kind == "longrope" and learned < context:
        given.remark(
            f"rope_type longrope turns all tokens otherwise in texts of more than {learned} tokens; weft reads texts "
            f"up to that length, with the turns for them, and writes no others"
        )
        context = learned
    return Rotary.Config(base=base, share=share, stretch=stretch), context


def _stretch(kind: str, inner: TheirConfig, learned: int, context: int) -> Stretch | None:
    """The stretch of a model that was trained on texts of up to `learned` tokens."""
    if kind == "linear":
        return Even(factor=inner.number("factor", least=1.0))
    if kind == "llama3":
        return TurnRamp(
            factor=inner.number("factor", least=1.0),
            context=learned,
            slow=inner.number("low_freq_factor"),
            fast=inner.number("high_freq_factor"),
        )
    if kind == "yarn":
        factor = inner.number("factor", least=1.0)
        return PairRamp(
            factor=factor,
            context=learned,
            slow=inner.number("beta_slow", 1.0) or 1.0,
            fast=inner.number("beta_fast", 32.0) or 32.0,
            whole=inner.truth("truncate", True),
            gain=inner.number("attention_factor", _yarn_gain(inner, factor)),
        )
    if kind == "longrope":
        inner.numbers("long_factor")
        if learned < 2:
            raise ConfigError(
                f"original_max_position_embeddings: expected 2 or more, found {learned}", where=inner.where
            )
        factor = inner.number("factor", context / learned)
        gain = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(learned))
        return EachPair(factors=inner.numbers("short_factor"), gain=inner.number("attention_factor", gain))
    return None


def _yarn_gain(inner: TheirConfig, factor: float) -> float:
    """The gain where the file does not name it."""

    def grown(scale: float) -> float:
        return 0.1 * scale * math.log(factor) + 1.0

    both = inner.number("mscale", 0.0), inner.number("mscale_all_dim", 0.0)
    return grown(both[0]) / grown(both[1]) if all(both) else grown(1.0)


def write_turn(turn: Rotary.Config, context: int) -> dict[str, Any]:
    """The keys of config.json that describe a turn."""
    share = {"partial_rotary_factor": turn.share} if turn.share != 1 else {}
    inner = {"rope_theta": turn.base, **share, **_written(turn.stretch, context)}
    stretched = {"rope_scaling": inner} if turn.stretch is not None else {}
    return {"rope_theta": turn.base, **share, "rope_parameters": inner, **stretched}


def _written(stretch: Stretch | None, context: int) -> dict[str, Any]:
    match stretch:
        case None:
            return {"rope_type": "default"}
        case Even():
            return {"rope_type": "linear", "factor": stretch.factor}
        case TurnRamp():
            turns = {"low_freq_factor": stretch.slow, "high_freq_factor": stretch.fast}
            length: dict[str, Any] = {"original_max_position_embeddings": stretch.context}
            return {"rope_type": "llama3", "factor": stretch.factor, **turns, **length}
        case PairRamp():
            turns = {"beta_slow": stretch.slow, "beta_fast": stretch.fast, "truncate": stretch.whole}
            length = {"original_max_position_embeddings": stretch.context, "attention_factor": stretch.gain}
            return {"rope_type": "yarn", "factor": stretch.factor, **turns, **length}
        case EachPair():
            factors = {"short_factor": list(stretch.factors), "long_factor": list(stretch.factors)}
            length = {"original_max_position_embeddings": context, "attention_factor": stretch.gain, "factor": 1.0}
            return {"rope_type": "longrope", **factors, **length}
    raise ConfigError(f"a stretch of the kind {type(stretch).__name__} has no counterpart")
