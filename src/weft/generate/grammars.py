"""Texts that match a pattern or a JSON schema, as a rule of what a search may write next. Computed by llguidance."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.errors import ConfigError, WeftError
from weft.modalities.tokenizer import Tokenizer

INSTALL = "pip install 'weft[grammar]'"
KINDS = {"--set pattern": "regular expression", "--set schema": "JSON schema"}
NO_TOKENS = "NoExtensionBias"  # what llguidance reports where the grammar asks for bytes that no token has
REASON = re.compile(r".*error: (.+?)(?: \d+ \||$)")  # behind a drawing of the regular expression


class GrammarRule:
    """The tokens that may follow what was written, so that the whole will match a grammar."""

    def __init__(self, tokenizer: Tokenizer, grammar: str, where: str):
        """`grammar` is llguidance's own form; `where` names the setting that it was made of."""
        library = _library()
        self.end, self.size, self._where = tokenizer.end, tokenizer.size, where
        wrapped = library.TokenizerWrapper(_Vocabulary(tokenizer, where))
        known = library.LLTokenizer(wrapped, n_vocab=tokenizer.size, eos_token=tokenizer.end)
        self._start = library.LLMatcher(known, grammar, log_level=0)
        self._never = tokenizer.special[tokenizer.special != tokenizer.end]
        self._matchers: dict[tuple[int, ...], Any] = {}  # after what was written last in each row
        self._check(self._start)

    def allowed(self, written: Sequence[int]) -> np.ndarray:
        """The ids that may come next, the end where the text may end."""
        matcher = self._after(tuple(written))
        if matcher.is_stopped():
            return np.array([self.end])
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")[: self.size]
        self._check(matcher)
        bits[self._never] = 0  # an unknown sign stands for no text
        found = np.flatnonzero(bits)
        if not len(found):
            raise self._no_tokens()
        return found

    def _after(self, written: tuple[int, ...]) -> Any:
        """The matcher that has read what was written: that of one token less goes on, since rows only grow."""
        if written not in self._matchers:
            matcher = self._matchers.pop(written[:-1], None) if len(written) > 1 else None
            new = written if matcher is None else written[-1:]
            matcher = self._start.deep_copy() if matcher is None else matcher
            matcher.consume_tokens(list(new))
            self._check(matcher)
            self._matchers[written] = matcher
        return self._matchers[written]

    def _no_tokens(self) -> WeftError:
        problem = "the model has no tokens with which what it wrote could go on to match"
        return WeftError(problem, where=self._where, fix="ask for something else, or use a model with other tokens")

    def _check(self, matcher: Any) -> None:
        if matcher.is_error():
            report = " ".join(str(matcher.get_error()).split())[:200]
            if report.startswith(NO_TOKENS):
                raise self._no_tokens()
            reason = found[1] if (found := REASON.search(report)) else report
            problem = f"not a {KINDS[self._where]} that can be followed: {reason}"
            raise ConfigError(problem, where=self._where, fix="mend it, or make it simpler")


def pattern_rule(tokenizer: Tokenizer, pattern: str) -> GrammarRule:
    """Texts that match a regular expression from their first character to their last."""
    return GrammarRule(tokenizer, _library().LLMatcher.grammar_from_regex(pattern), "--set pattern")


def schema_rule(tokenizer: Tokenizer, schema: str) -> GrammarRule:
    """JSON that fits a JSON schema, which is given as text."""
    try:
        plain = {"whitespace_flexible": False}  # else a model may write white space without end
        grammar = _library().LLMatcher.grammar_from_json_schema(schema, defaults=plain)
    except ValueError as error:
        raise ConfigError(f"not a JSON schema: {error}", where="--set schema") from None
    return GrammarRule(tokenizer, grammar, "--set schema")


class _Vocabulary:
    """A tokenizer as llguidance wants to see it: the bytes of each token, and a function from texts to ids."""

    bos_token_id = None

    def __init__(self, tokenizer: Tokenizer, where: str):
        content = tokenizer.token_bytes
        if content is None:
            problem = "the tokens of this tokenizer are not parts of a text that could be joined"
            raise WeftError(
                problem,
                where=where,
                fix="use a model whose tokens are bytes, characters, byte-level bpe or SentencePiece's",
            )
        self.eos_token_id = tokenizer.end
        self.special_token_ids = tokenizer.special.tolist()
        special = set(self.special_token_ids)
        self.tokens = [
            tokenizer.names[id].encode() if id in special else one or b"\xff" for id, one in enumerate(content)
        ]
        self._ids = {one: id for id, one in enumerate(content) if one and id not in special}
        self._longest = max(map(len, self._ids), default=0)

    def __call__(self, text: str | bytes) -> list[int]:
        """The ids of a text within another one: the longest token first, and no space before the first word."""
        left = text.encode() if isinstance(text, str) else text
        found = []
        while left:
            sizes = range(min(self._longest, len(left)), 0, -1)
            size = next((size for size in sizes if left[:size] in self._ids), None)
            if size is None:  # no token has this byte: the rest cannot be written
                break
            found.append(self._ids[left[:size]])
            left = left[size:]
        return found


def _library() -> Any:
    try:
        import llguidance
    except ImportError:
        problem = "llguidance is not installed, needed for patterns and schemas"
        raise WeftError(problem, where="--set pattern, --set schema", fix=INSTALL) from None
    return llguidance
