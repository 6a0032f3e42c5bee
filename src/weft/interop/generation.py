"""How texts are written, as generation_config.json says it, in the words of `weft predict`; and the other way round.

A file that says nothing but ids of marks leaves weft's own settings as they are. One that says anything else is
followed with all that it leaves unsaid meaning what it means in the Hugging Face library: the likeliest text, one beam.
"""

from collections.abc import Mapping
from typing import Any, Literal

from weft.errors import ConfigError, listed
from weft.interop.marks import Marks

Writing = Literal["continues", "answers"]  # a language model that draws, or an encoder–decoder that searches
USUAL_TOP_K = 50  # what their library draws from where a file does not say
# Keys that change the text and have no counterpart here, with the values that switch them off.
UNFOLLOWED: dict[str, tuple[Any, ...]] = {
    "min_length": (0, 1),
    "min_new_tokens": (0, 1),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "encoder_repetition_penalty": (1.0,),
    "sequence_bias": (),
    "begin_suppress_tokens": (),
    "forced_decoder_ids": (),
    "exponential_decay_length_penalty": (),
    "num_beam_groups": (1,),
    "diversity_penalty": (0.0,),
    "penalty_alpha": (0.0,),
    "typical_p": (1.0,),
    "epsilon_cutoff": (0.0,),
    "eta_cutoff": (0.0,),
    "guidance_scale": (1.0,),
    "constraints": (),
    "force_words_ids": (),
    "stop_strings": (),
    "watermarking_config": (),
    "dola_layers": (),
}
SAYS_HOW = (
    "do_sample", "num_beams", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "length_penalty",
    "early_stopping", "max_new_tokens", "max_length",
)  # fmt: skip
LIMITS: dict[str, tuple[float, float]] = {
    "num_beams": (1, 100), "temperature": (0, 100), "top_k": (0, 2**31), "top_p": (0, 1), "min_p": (0, 1),
    "repetition_penalty": (0, 100), "length_penalty": (-10, 10), "max_new_tokens": (1, 1e6), "max_length": (1, 2**63),
}  # fmt: skip


def read_generation(
    data: Mapping[str, Any], writing: Writing | None, *, context: int, marks: Marks, where: str
) -> tuple[dict[str, Any], list[str]]:
    """Settings of a prediction by their names here, and remarks on keys that change the text and are not followed.

    `writing` is how the model writes, None if it does not; it reads `context` tokens.
    """
    if writing is None:
        return {}, []
    given = {key: value for key, value in data.items() if value is not None}
    odd = [key for key, off in UNFOLLOWED.items() if key in given and given[key] not in (*off, [], {}, False)]
    never, strings = _never(given, where)
    odd += ["bad_words_ids"] * strings
    forced_end = _forced_end(given, marks, where)
    odd += ["forced_eos_token_id"] * (forced_end is None)
    odd += ["forced_bos_token_id"] * (writing == "continues" and marks.first is not None)
    if not any(key in given for key in SAYS_HOW):
        return {"never": never} if never else {}, _remarks(odd)
    _check(given, where)
    draws, beams = given.get("do_sample", False), given.get("num_beams", 1)
    found: dict[str, Any] = {"temperature": 0.0}
    if draws:
        found = {"temperature": float(given.get("temperature", 1.0)), "top_p": float(given.get("top_p", 1.0))}
        found["top_k"] = given.get("top_k", USUAL_TOP_K) or None
    if writing == "answers":
        found |= {"beam": beams, "length_penalty": float(given.get("length_penalty", 1.0))}
        found["early_stopping"] = given.get("early_stopping", False) is True
        odd += ["early_stopping"] * (beams > 1 and given.get("early_stopping") == "never")
        odd += [key for key in ("repetition_penalty",) if given.get(key, 1.0) != 1.0]
        odd += ["min_p"] * (draws and given.get("min_p", 0.0) > 0)
        found |= {"forced_end": True} if forced_end else {}
    else:
        found["repetition_penalty"] = float(given.get("repetition_penalty", 1.0))
        found |= {"min_p": float(given["min_p"])} if draws and "min_p" in given else {}
    found |= {"never": never} if never else {}
    odd += ["num_beams"] * (beams > 1 and (draws or writing == "continues"))
    longest = _longest(given, writing, len(marks.opening()) or 1, forced_end is True)
    if longest is not None and longest < context:
        found["max_tokens"] = longest
    elif writing == "continues" and "max_new_tokens" not in given and given.get("max_length", context) < context:
        odd.append("max_length")  # counts the prompt too
    return found, _remarks(odd)


def write_generation(how: Mapping[str, Any], *, longest: int, marks: Marks = Marks()) -> dict[str, Any]:
    """The keys of a generation_config.json for settings of a prediction; `longest` is the most tokens that fit.

    A language model's prompt has to fit too: where that may not be, its text ends with the model's context.
    """
    draws, most, forced = how["temperature"] > 0, how.get("max_tokens") or longest, how.get("forced_end", False)
    bound = (
        {"max_length": longest}
        if "beam" not in how and 2 * most > longest
        else {"max_new_tokens": min(most + forced, longest)}
    )
    keys: dict[str, Any] = {"do_sample": draws, **bound}
    keys |= {"suppress_tokens": list(how["never"])} if how["never"] else {}
    keys |= {"forced_eos_token_id": marks.eos[0]} if forced and marks.eos else {}
    if draws:
        keys |= {"temperature": how["temperature"], "top_p": how["top_p"], "top_k": how["top_k"] or 0}
        keys |= {"min_p": how["min_p"]} if how.get("min_p") else {}
    if "beam" in how:
        beams = 1 if draws else how["beam"]
        searched = {"length_penalty": how["length_penalty"], "early_stopping": how["early_stopping"]}
        return {**keys, "num_beams": beams, **(searched if beams > 1 else {})}
    return {**keys, "num_beams": 1, "repetition_penalty": how["repetition_penalty"]}


def _longest(given: Mapping[str, Any], writing: Writing, opening: int, forced_end: bool) -> int | None:
    """The most tokens that are written after the opening; None where a file says none, or counts the prompt too."""
    forced = opening - 1 + forced_end  # their library counts all but the first token of the opening as written
    if "max_new_tokens" in given:
        return max(1, given["max_new_tokens"] - forced)
    return max(1, given["max_length"] - 1 - forced) if writing == "answers" and "max_length" in given else None


def _forced_end(given: Mapping[str, Any], marks: Marks, where: str) -> bool | None:
    """Whether the last token that the limit leaves is an end, whatever was likely; None where it is another token."""
    ids = given.get("forced_eos_token_id", [])
    ids = [ids] if type(ids) is int else ids
    if not isinstance(ids, list) or not all(type(id) is int for id in ids):
        raise ConfigError(f"forced_eos_token_id: expected an id, found {ids!r:.80}", where=where)
    return None if set(ids) - set(marks.eos) else bool(ids)


def _never(given: Mapping[str, Any], where: str) -> tuple[list[int], bool]:
    """The ids that are never written, and whether there are also strings of several ids that are not."""
    words, ids = given.get("bad_words_ids", []), given.get("suppress_tokens", [])
    listed = isinstance(ids, list) and isinstance(words, list) and all(isinstance(word, list) for word in words)
    found = [*ids, *(word[0] for word in words if len(word) == 1)] if listed else []
    if not listed or not all(type(id) is int and -1 <= id < 2**31 for id in found):
        problem = f"expected ids of tokens, found {[words, ids]!r:.80}"
        raise ConfigError(problem, where=f"{where}: bad_words_ids, suppress_tokens")
    return sorted(set(found) - {-1}), any(len(word) != 1 for word in words)  # -1 stands for no token


def _check(given: Mapping[str, Any], where: str) -> None:
    for key, (least, most) in LIMITS.items():
        whole = key in ("num_beams", "top_k", "max_new_tokens", "max_length")
        value = given.get(key, least)
        if type(value) not in ((int,) if whole else (int, float)) or not least <= value <= most:
            raise ConfigError(f"{key}: expected a number from {least:g} to {most:g}, found {value!r:.80}", where=where)
    if type(given.get("do_sample", False)) is not bool:
        raise ConfigError(f"do_sample: expected true or false, found {given['do_sample']!r:.80}", where=where)


def _remarks(odd: list[str]) -> list[str]:
    names = sorted(set(odd))
    return [f"settings of its generation that weft does not follow, texts may differ: {listed(names)}"] if odd else []
