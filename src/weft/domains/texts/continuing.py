"""How a text is continued: sampling, precision, and what the continuation must look like."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from weft.config import MAX_JSON_BYTES
from weft.domains.texts.codec.text import TextCodec
from weft.errors import ConfigError
from weft.generate import Sampling
from weft.generate.choices import Choices, Rule
from weft.generate.compute import Compute
from weft.generate.prompts import Prompt
from weft.modalities.tokenizer import Tokenizer


class Continuing(Sampling, Compute):
    """Settings of a prediction."""

    choices: tuple[str, ...] = ()
    pattern: str | None = None
    schema: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("schema",)
    about: ClassVar[Mapping[str, str]] = {
        **Sampling.about,
        **Compute.about,
        "choices": "continue with one of these texts, separated by commas",
        "pattern": "a regular expression that the whole continuation matches (needs weft[grammar])",
        "schema": "a .json file with a JSON schema: the continuation is JSON that fits it (needs weft[grammar])",
    }

    def check(self) -> None:
        super().check()
        given = [name for name in ("choices", "pattern", "schema") if getattr(self, name)]
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)}: a continuation is under one of these", where=given[1])

    def rule(self, tokenizer: Tokenizer) -> Rule | None:
        """What may be written; None where anything may."""
        if self.choices:
            return Choices([tokenizer.encode(text) for text in self.choices], tokenizer.end)
        if self.pattern is not None or self.schema is not None:
            from weft.generate.grammars import pattern_rule, schema_rule

            if self.pattern is not None:
                return pattern_rule(tokenizer, self.pattern)
            return schema_rule(tokenizer, self._schema_text())
        return None

    def _schema_text(self) -> str:
        path = Path(self.schema or "")
        if not path.is_file() or path.stat().st_size > MAX_JSON_BYTES:
            raise ConfigError(f"there is no such file, or it is too large: {path}", where="schema")
        try:
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", where=str(path)) from None


def prompts_of(codec: TextCodec, texts: Sequence[str], how: Continuing) -> list[Prompt]:
    """Texts as a decoder goes on from them; an empty one begins with the end of another."""
    rule = how.rule(codec.tokenizer)
    prompts = [[*codec.marks.before, *ids.tolist()] or [codec.tokenizer.end] for ids in codec.ids(texts)]
    return [Prompt(ids, how, tuple(codec.ends), rule) for ids in prompts]


def unread(text: str, prompt: list[int], window: int | None, codec: TextCodec) -> dict[str, int]:
    """What of a prompt the model does not see, where there is any: tokens before its context, unknown characters."""
    late = len(prompt) - window if window is not None and len(prompt) > window else 0
    return {name: n for name, n in (("unread", late), ("unknown", codec.tokenizer.unknown(text))) if n}
