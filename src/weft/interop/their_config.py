"""A config.json of theirs, read by an allow-list: what is not asked for is refused, known to be harmless, or noted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from weft.errors import ConfigError, listed
from weft.interop.labels import with_labels

T = TypeVar("T")


def names(text: str) -> frozenset[str]:
    """The words of a text as a set of names."""
    return frozenset(text.split())


# These name code or arithmetic from elsewhere.
REFUSED = {
    "auto_map": "asks for code that comes with the model; weft runs none",
    "trust_remote_code": "asks for code that comes with the model; weft runs none",
    "custom_pipelines": "asks for code that comes with the model; weft runs none",
    "_target_": "names code to run; weft runs none",
    "_attn_implementation_internal": "names code to run; weft has its own",
    "quantization_config": "the weights are quantised; use a copy in float32, bfloat16 or float16",
    "compression_config": "the weights are compressed; use a copy in float32, bfloat16 or float16",
    "adapters": "the model has adapters; merge them into its weights first",
    "pruned_heads": "heads were pruned; weft cannot build layers of different shapes from this",
}
# These say nothing about the numbers that a model computes.
HARMLESS = names(
    """_name_or_path architectures model_type torch_dtype dtype transformers_version use_cache return_dict
    return_dict_in_generate output_attentions output_hidden_states output_scores initializer_range initializer_factor
    init_std task_specific_params problem_type finetuning_task id2label label2id num_labels gradient_checkpointing
    bos_token_id eos_token_id pad_token_id sep_token_id cls_token_id mask_token_id unk_token_id decoder_start_token_id
    forced_bos_token_id forced_eos_token_id bad_words_ids begin_suppress_tokens suppress_tokens prefix max_length
    min_length length_penalty num_beams num_beam_groups num_return_sequences no_repeat_ngram_size early_stopping
    encoder_no_repeat_ngram_size repetition_penalty temperature top_k top_p typical_p do_sample diversity_penalty
    exponential_decay_length_penalty remove_invalid_values normalize_before_output chunk_size_feed_forward
    tokenizer_class tie_encoder_decoder torchscript use_bfloat16 _attn_implementation _commit_hash
    _num_labels static_position_embeddings"""
)


class TheirConfig:
    """The keys of a config.json. Each is asked for by its type; `finish` judges the rest."""

    def __init__(self, data: Any, where: str, *, known_code: Iterable[str] = (), file: str = "config.json"):
        """`known_code` names classes in "auto_map" that need not be run: the family computes the same."""
        if not isinstance(data, dict):
            raise ConfigError("expected an object", where=where)
        self.data: dict[str, Any] = data
        self.where = where
        self.file = file
        self._asked: set[str] = set()
        self._inner: list[TheirConfig] = []
        self._remarks: list[str] = []
        for key, why in REFUSED.items():
            if key == "auto_map" and _all_among(data.get(key), known_code):
                self._asked.add(key)
            elif data.get(key) not in (None, False, {}, []):
                raise ConfigError(f"{key}: {why}", where=where)

    def whole(self, key: str, default: int | None = None, *, least: int = 1) -> int:
        """A whole number."""
        value = self._value(key, default)
        if type(value) is not int or not least <= value < 2**31:
            raise self._wrong(key, value, f"a whole number from {least}")
        return value

    def number(self, key: str, default: float | None = None, *, least: float = 0.0) -> float:
        """A number."""
        value = self._value(key, default)
        if type(value) not in (int, float) or not least <= value < 1e30:
            raise self._wrong(key, value, f"a number from {least}")
        return float(value)

    def number_or_none(self, key: str, default: float | None) -> float | None:
        """A number, or None where the key is null; the default where it is left out."""
        self._asked.add(key)
        return None if self.data.get(key, default) is None else self.number(key, default)

    def wholes(self, key: str, default: Sequence[int] | None = None, *, least: int = 1) -> tuple[int, ...]:
        """Whole numbers in a list."""
        value = self._value(key, default)
        if not isinstance(value, list | tuple) or not all(type(n) is int and least <= n < 2**31 for n in value):
            raise self._wrong(key, value, f"a list of whole numbers from {least}")
        return tuple(value)

    def sides(self, key: str, default: int) -> tuple[int, int]:
        """A height and a width, or one number for both."""
        value = self.data.get(key)
        height, *rest = (self.whole(key, default),) if not isinstance(value, list | tuple) else self.wholes(key) or (0,)
        if len(rest) > 1 or not height:
            raise self._wrong(key, value, "a height and a width")
        return height, rest[0] if rest else height

    def numbers(self, key: str, default: Sequence[float] | None = None) -> tuple[float, ...]:
        """Numbers in a list."""
        value = self._value(key, default)
        if not isinstance(value, list | tuple) or not all(type(n) in (int, float) and abs(n) < 1e30 for n in value):
            raise self._wrong(key, value, "a list of numbers")
        return tuple(map(float, value))

    def labels(self) -> int:
        """How many labels a head tells apart."""
        self._asked |= {"id2label", "num_labels"}
        return len(with_labels(self.data, self.where)[1])

    def truth(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        value = self._value(key, default)
        if type(value) is not bool:
            raise self._wrong(key, value, "true or false")
        return value

    def choice(self, key: str, known: Mapping[str, T], default: str | None = None) -> T:
        """One of the names that weft has a counterpart for."""
        value = self._value(key, default)
        if not isinstance(value, str) or value not in known:
            # No guess at a misspelling: the name that is nearest in letters is other arithmetic.
            fix = f"known: {', '.join(sorted(known))}"
            raise ConfigError(f"{key} is {value!r:.80}, which weft does not compute", where=self.where, fix=fix)
        return known[value]

    def choices(self, key: str, known: Mapping[str, T], default: Sequence[str] | None = None) -> tuple[T, ...]:
        """A list of names that weft has a counterpart for."""
        value = self._value(key, default)
        if not isinstance(value, list | tuple):
            raise self._wrong(key, value, "a list of names")
        return tuple(TheirConfig({key: name}, self.where).choice(key, known) for name in value)

    def listed(self, key: str, default: Sequence[Any] | None = None) -> Sequence[Any]:
        """A list of anything: whoever asks for it judges what is in it."""
        value = self._value(key, default)
        if not isinstance(value, list | tuple):
            raise self._wrong(key, value, "a list")
        return value

    def only(self, key: str, *values: Any, default: Any = None) -> None:
        """A key that must have one of these values, or be left out where the default is one of them."""
        value = self.data.get(key, default)
        self._asked.add(key)
        if value is not None and not any(type(value) is type(v) and value == v for v in values):
            expected = " or ".join(map(repr, values)) or "nothing"
            raise ConfigError(f"{key} is {value!r:.80}; weft computes it only with {expected}", where=self.where)

    def inner(self, key: str) -> "TheirConfig | None":
        """An object inside; None where it is not there."""
        value = self.data.get(key)
        self._asked.add(key)
        if value is None:
            return None
        self._inner.append(TheirConfig(value, f"{self.where}: {key}", file=self.file))
        return self._inner[-1]

    def mapping(self, key: str) -> Mapping[str, Any]:
        """An object inside as it is, empty where it is not there: whoever asks for it judges its keys."""
        value = self.data.get(key)
        self._asked.add(key)
        if not isinstance(value, dict | None):
            raise self._wrong(key, value, "an object")
        return value or {}

    def has(self, key: str) -> bool:
        """Whether a key is set to anything."""
        return self.data.get(key) is not None

    def names(self, key: str) -> bool:
        """Whether a key is there, be it set to nothing."""
        return key in self.data

    def remark(self, text: str) -> None:
        """Note what users should know of the model: `finish` returns it with the others."""
        self._remarks.append(text)

    def finish(self, harmless: Iterable[str] = ()) -> list[str]:
        """All remarks, also on what nobody asked for; keys that are unset or switched off need none."""
        known = self._asked | HARMLESS | set(harmless)
        odd = sorted(k for k, v in self.data.items() if k not in known and v not in (None, False, 0, "", {}, []))
        unknown = [f"keys of {self.file} that weft does not know were not followed: {listed(odd)}"] if odd else []
        return self._remarks + unknown + [remark for inner in self._inner for remark in inner.finish(harmless)]

    def _value(self, key: str, default: Any) -> Any:
        self._asked.add(key)
        value = self.data.get(key)
        value = default if value is None else value
        if value is None:
            raise ConfigError(f"{key} is missing", where=self.where)
        return value

    def _wrong(self, key: str, value: Any, expected: str) -> ConfigError:
        return ConfigError(f"{key}: expected {expected}, found {value!r:.80}", where=self.where)


def _all_among(code: Any, known: Iterable[str]) -> bool:
    """Whether an "auto_map" names nothing but known classes."""
    return isinstance(code, dict) and all(isinstance(name, str) and name in known for name in code.values())
