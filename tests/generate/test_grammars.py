"""Texts under a pattern or a schema: whatever is drawn matches, and what cannot be meant is refused."""

import json
import random
import re

import pytest
from helpers.spaced_tokenizer import spaced

from weft.errors import ConfigError, WeftError
from weft.modalities import tokenizer_making
from weft.modalities.tokenizer import Tokenizer

pytest.importorskip("llguidance")
from weft.generate.grammars import GrammarRule, pattern_rule, schema_rule  # noqa: E402

TEXT = ['hello world 12-34 "abc": {} [1,2] true false yes no, the cat.'] * 3
SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["cat", "dog"]}, "good": {"type": "boolean"}},
    "required": ["name", "good"],
    "additionalProperties": False,
}


@pytest.fixture(params=["bytes", "characters", "bpe", "sentencepiece"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "sentencepiece":
        return spaced()
    return tokenizer_making.train(request.param, TEXT, 290 if request.param == "bpe" else None)


def drawn(rule: GrammarRule, tokenizer: Tokenizer, seed: int) -> str:
    chance, ids, text = random.Random(seed), (), tokenizer.stream(after=tokenizer.encode("the cat"))
    said = ""
    while (token := chance.choice(rule.allowed(ids).tolist())) != tokenizer.end:
        ids = (*ids, token)
        said += text.feed(token)
    return said + text.finish()


def within(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(f"-{text}").tolist()[len(tokenizer.encode("-")) :]


def test_whatever_is_drawn_matches_the_pattern(tokenizer: Tokenizer) -> None:
    rule = pattern_rule(tokenizer, r"(yes|no), [a-e]{2,4}\.")
    texts = [drawn(rule, tokenizer, seed) for seed in range(8)]
    assert all(re.fullmatch(r"(yes|no), [a-e]{2,4}\.", text) for text in texts) and len(set(texts)) > 2


def test_whatever_is_drawn_is_json_that_fits_the_schema() -> None:
    tokenizer = tokenizer_making.train("bytes", TEXT)
    found = json.loads(drawn(schema_rule(tokenizer, json.dumps(SCHEMA)), tokenizer, 0))
    assert set(found) == {"name", "good"} and found["name"] in ("cat", "dog") and isinstance(found["good"], bool)


def test_what_follows_does_not_depend_on_the_order_of_asking(tokenizer: Tokenizer) -> None:
    rule, text = pattern_rule(tokenizer, "yes|no|yet"), within(tokenizer, "ye")
    once = rule.allowed(text).tolist()
    rule.allowed(within(tokenizer, "n"))
    assert once == rule.allowed(text).tolist() == pattern_rule(tokenizer, "yes|no|yet").allowed(text).tolist()


def test_patterns_and_schemas_that_cannot_be_meant_are_refused() -> None:
    tokenizer = tokenizer_making.train("characters", TEXT)
    with pytest.raises(ConfigError, match="not a regular expression that can be followed: unclosed group"):
        pattern_rule(tokenizer, "(")
    with pytest.raises(ConfigError, match="nope"):
        schema_rule(tokenizer, '{"type": "nope"}')
    with pytest.raises(WeftError, match="no tokens with which"):
        pattern_rule(tokenizer, "é").allowed(())
