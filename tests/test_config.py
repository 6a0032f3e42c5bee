"""Config trees: JSON both ways, dotted settings, and a clear refusal of everything else."""

import dataclasses
import json
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from helpers.tiny import SIZE
from hypothesis import given, settings
from hypothesis import strategies as st

import weft.runs.importing  # noqa: F401  (defines every part there is)
from weft import config as configs
from weft.config import Config, Part, field_types, from_json, parse
from weft.core import Attention, Block, Dot, LayerNorm, Mlp, PerClassToken, PreNorm, Summary, TokenShift, Trunk, Window
from weft.core.norms import RmsNorm
from weft.errors import ConfigError
from weft.json_text import MAX_JSON_BYTES, MAX_JSON_DEPTH, read_json, write_json
from weft.modalities.image import PatchEmbed
from weft.modalities.text import HashedNgrams, TextEmbed
from weft.models.stream import Stream
from weft.models.zoo import LANGUAGE_MODELS, Size
from weft.position import Rotary, Sinusoidal

PARTS = {name: c for name, c in sorted(configs._parts.items()) if c.__module__.startswith("weft.")}
ZOO = {name: make(SIZE, vocab=11, dropout=0.1) for name, make in LANGUAGE_MODELS.items()}
TREE = Trunk.Config(blocks=(Block.Config(mix=Attention.Config(heads=2)), Block.Config(transform=Mlp.Config())))
PATCHES = Stream.Config(dim=4, embed=PatchEmbed.Config(grid=(2, 2)), trunk=Trunk.Config(block=Block.Config()))
READING = PATCHES.replace(trunk=Trunk.Config(blocks=(Block.Config(), Block.Config(read=Attention.Config(heads=2)))))
WORDS = TextEmbed.Config(vocab=5, context=6, reading="free")
VECTORS = {
    "picture": PATCHES.replace(head=Summary.Config(unit=True)),
    "text": PATCHES.replace(head=Summary.Config(unit=True)),
}
NEEDS = {"Added": {"vector": (), "of": "other"}, "Pinned": {"weights": "uniform", "of": None},
         "Trunk": {"block": Block.Config()}, "Autoencoder": {"encoder": PATCHES}, "Contrastive": {"target": READING},
         **dict.fromkeys(("Even", "Ramp", "TurnRamp", "PairRamp"), {"factor": 4.0}),
         "Summary": {"last": False}, "DualEncoder": VECTORS,
         "SymbolCodec": {"names": ("(S", ")S")}, "GapCodec": {"opens": ("", "S")},
         "Grounded": {"picture": PATCHES, "text": PATCHES.replace(embed=WORDS)},
         "PictureTextEmbed": {"text": WORDS}}  # fmt: skip


def value(kind: Any) -> Any:
    """Some value of a type."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return value(next(a for a in args if a is not type(None)))
    if origin is tuple:
        return (value(args[0]),) * 2
    if origin is Literal:
        return args[-1]
    if isinstance(kind, type) and issubclass(kind, Config):
        return example(next((c for c in PARTS.values() if issubclass(c, kind) and c is not kind), kind))
    if get_origin(kind) is Mapping:
        return {"pairs": 3.0}
    return {int: 3, float: 0.25, str: "row", bool: True}[kind]


def example(kind: type[Config]) -> Config:
    """A config of a kind, with what must be given."""
    needed = {f.name for f in dataclasses.fields(kind) if f.default is f.default_factory is dataclasses.MISSING}
    given = {name: value(hint) for name, hint in field_types(kind).items() if name in needed}
    return kind(**{**given, **NEEDS.get(configs.part_name(kind), {})})


def travelled(config: Config) -> Config:
    return from_json(read_json(write_json(config.to_json()), where="test"))


def objects(data: Any, path: tuple = ()) -> Iterator[tuple[tuple, dict]]:
    """All objects in JSON data with the way to them."""
    if isinstance(data, dict):
        yield path, data
    for key, item in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from objects(item, (*path, key))


def at(data: Any, path: tuple) -> Any:
    for key in path:
        data = data[key]
    return data


def misspelt(name: str) -> str:
    """Two neighbouring letters swapped near the middle, or the last one doubled in a short name."""
    if len(name) <= 3:
        return name + name[-1]
    i = next(i for i in range(len(name) // 2, -1, -1) if name[i] != name[i + 1])
    return name[:i] + name[i + 1] + name[i] + name[i + 2 :]


@pytest.mark.parametrize("name", PARTS)
def test_every_part_travels_as_json_with_each_of_its_fields(name: str):
    config = example(PARTS[name])
    assert travelled(config) == config
    assert config.to_json()["type"] == name
    for field, hint in field_types(PARTS[name]).items():
        for other in (value(hint), None):
            try:
                variant = config.replace(**{field: other})
            except ConfigError:
                continue
            assert travelled(variant) == variant


@pytest.mark.parametrize("name", ZOO)
def test_every_zoo_config_travels_as_json(name: str):
    assert travelled(ZOO[name]) == ZOO[name]
    assert from_json(ZOO[name].to_json(), Stream.Config) == ZOO[name]


@pytest.mark.parametrize("name", ZOO)
def test_one_typo_in_any_key_is_refused_with_the_right_name(name: str):
    whole = ZOO[name].to_json()
    keys = [(path, key) for path, data in objects(whole) for key in data if key != "type"]
    assert len(keys) > 20
    for path, key in keys:
        data = json.loads(json.dumps(whole))
        here = at(data, path)
        here[misspelt(key)] = here.pop(key)
        with pytest.raises(ConfigError) as error:
            from_json(data)
        assert f"did you mean {key!r}?" in str(error.value) and repr(misspelt(key)) in str(error.value)
        assert all(str(step) in str(error.value) for step in path), "the message says where"


@pytest.mark.parametrize("name", ZOO)
def test_one_typo_in_any_name_of_a_part_is_refused_with_the_right_name(name: str):
    whole = ZOO[name].to_json()
    for path, part in objects(whole):
        data = json.loads(json.dumps(whole))
        at(data, path)["type"] = misspelt(part["type"])
        with pytest.raises(ConfigError, match=f"did you mean '{part['type']}'"):
            from_json(data)
        del at(data, path)["type"]
        with pytest.raises(ConfigError, match='needs its name under "type"'):
            from_json(data)


def test_a_key_that_stands_twice_is_refused_wherever_it_stands():
    text = write_json(ZOO["swift"].to_json())
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if '": ' in line and not line.endswith(("{", "[")):
            comma = "" if line.endswith(",") else ","
            double = "\n".join([*lines[:number], line + comma, line, *lines[number + 1 :]])
            with pytest.raises(ConfigError, match="stands twice"):
                read_json(double, where="test")


def test_a_part_stands_only_where_its_kind_may():
    data = Block.Config().to_json() | {"norm": Dot.Config().to_json()}
    with pytest.raises(
        ConfigError, match="Dot cannot stand here: expected one of the parts LayerNorm, OnePlusRmsNorm, RmsNorm"
    ):
        from_json(data)
    with pytest.raises(ConfigError, match="cannot stand here"):
        from_json(LayerNorm.Config().to_json(), Stream.Config)


@pytest.mark.parametrize("data", [None, 3, "Mlp", ["Mlp"], {"type": None}, {"type": 3}, {"type": {}}, {}])
def test_what_is_no_config_is_refused(data: Any):
    with pytest.raises(ConfigError):
        from_json(data)


@pytest.mark.parametrize("field, wrong", [
    ("depth", "2"), ("depth", 2.0), ("depth", True), ("depth", None), ("depth", 10**30), ("blocks", {}),
    ("blocks", [3]), ("norm", "LayerNorm"), ("init", None),
])  # fmt: skip
def test_a_value_of_the_wrong_type_is_refused_with_its_place(field: str, wrong: Any):
    data = {"type": "Trunk", "block": {"type": "Block"}, field: wrong}
    with pytest.raises(ConfigError, match=rf"config\.{field}"):
        from_json(data)


def test_a_missing_field_is_named():
    with pytest.raises(ConfigError, match="heads"):
        from_json({"type": "Attention"})


# What a text on the command line stands for, by the type it must have; None is a refusal.
TEXTS = [
    ("1e-4", None, 1e-4), ("1E+2", None, 100.0), ("0.5", None, 0.5), ("32", 32, 32.0), ("-7", -7, -7.0), ("0", 0, 0.0),
    ("-0", 0, 0.0), ("-0.0", None, 0.0), ("010", None, None), ("1_000", None, None), ("0x10", None, None),
    ("0b1", None, None),
    ("1e400", None, None), ("NaN", None, None), ("nan", None, None), ("Infinity", None, None), ("-inf", None, None),
    ("no", None, None), ("true", None, None), ("", None, None), (" 1", None, None), ("1 ", None, None),
    ("1\n", None, None),
    ("+1", None, None), (".5", None, None), ("5.", None, None), ("1,000", None, None), ("١", None, None),
    ("²", None, None),
    ("9223372036854775807", 2**63 - 1, 2.0**63), ("9223372036854775808", None, 2.0**63), ("9" * 19, None, 1e19),
    ("1" * 300, None, float("1" * 300)), ("1" * 400, None, None), ("9" * 5000, None, None), ("1.0", None, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("text, whole, number", TEXTS, ids=lambda v: repr(v)[:24])
def test_numbers_are_written_as_in_json_and_nothing_else_is_one(text: str, whole: int | None, number: float | None):
    for kind, expected in ((int, whole), (float, number)):
        if expected is None:
            with pytest.raises(ConfigError) as error:
                parse(text, kind, where="lr")
            assert str(error.value).startswith("lr: expected a") and len(str(error.value)) < 200
        else:
            found = parse(text, kind, where="lr")
            assert found == expected and type(found) is kind


@pytest.mark.parametrize("text, whole, number", TEXTS, ids=lambda v: repr(v)[:24])
def test_a_number_in_a_file_means_what_it_means_on_the_command_line(text: str, whole: int | None, number: float | None):
    def from_file(kind: str) -> Any:
        template = {"int": '{"type": "Window", "radius": %s}', "float": '{"type": "Dot", "temperature": %s}'}[kind]
        config = from_json(read_json(template % text, where="test"))
        return config.radius if kind == "int" else config.temperature

    for kind, expected in (("int", whole), ("float", number)):
        if text.strip() != text or text in ("true", ""):
            continue  # white space and words are a matter of JSON's own grammar
        if expected is None or expected < 0 or (kind == "float" and expected == 0):
            with pytest.raises(ConfigError):
                from_file(kind)
        else:
            assert from_file(kind) == expected


@pytest.mark.parametrize("text, expected", [("true", True), ("false", False), ("True", None), ("no", None),
                                            ("yes", None), ("1", None), ("0", None), ("", None)])  # fmt: skip
def test_truth_is_true_or_false(text: str, expected: bool | None):
    if expected is None:
        with pytest.raises(ConfigError, match="true or false"):
            parse(text, bool, where="x")
    else:
        assert parse(text, bool, where="x") is expected


def test_texts_choices_lists_and_absence():
    assert parse("no", str, where="x") == "no"
    assert parse("010", str, where="x") == "010"
    assert parse("b", Literal["a", "b"], where="x") == "b"
    with pytest.raises(ConfigError, match="one of a, b"):
        parse("c", Literal["a", "b"], where="x")
    assert parse("row,column", tuple[str, ...], where="x") == ("row", "column")
    assert parse("", tuple[str, ...], where="x") == ()
    assert parse("none", int | None, where="x") is None and parse("3", int | None, where="x") == 3
    with pytest.raises(ConfigError):
        parse("none", int, where="x")


@settings(max_examples=200)
@given(
    st.text(max_size=12), st.sampled_from([int, float, bool, int | None, Literal["a"], tuple[int, ...], Block.Config])
)
def test_any_text_is_a_value_of_its_type_or_refused(text: str, kind: Any):
    try:
        found = parse(text, kind, where="x")
    except ConfigError:
        return
    assert configs._fits(found, kind)


@given(st.integers() | st.floats() | st.booleans() | st.none() | st.text() | st.lists(st.integers()))
def test_any_value_fits_its_field_or_is_refused_at_once(anything: Any):
    for make in (lambda: Window(radius=anything), lambda: Dot.Config(temperature=anything)):
        try:
            config = make()
        except ConfigError as error:
            assert len(str(error)) < 300
        else:
            assert travelled(config) == config


def test_dotted_settings_reach_every_depth():
    config = ZOO["gpt"]
    assert config.set("dim", "32").dim == 32
    assert config.set("trunk.block.mix.heads", "8").trunk.block.mix.heads == 8
    assert config.set("embed.place.code.std", "1e-3").embed.place.code.std == 1e-3
    assert config.set("trunk.block.mix.kv_heads", "none").trunk.block.mix.kv_heads is None
    assert config.set("trunk.block.mix.rules", (Window(radius=2),)).trunk.block.mix.rules == (Window(radius=2),)
    assert config.set("trunk.norm", "RmsNorm").trunk.norm == RmsNorm.Config()
    assert config.set("trunk.block.dropout", 0) == config.set("trunk.block.dropout", "0")
    assert config == LANGUAGE_MODELS["gpt"](SIZE, vocab=11, dropout=0.1), "configs are never changed in place"


def test_dotted_settings_reach_into_lists():
    assert TREE.set("blocks.1.transform.hidden", "7").blocks[1].transform.hidden == 7
    assert TREE.set("blocks.0", Block.Config(dropout=0.5)).blocks == (Block.Config(dropout=0.5), TREE.blocks[1])
    assert Sinusoidal.Config(axes=("row", "column")).set("axes.1", "level").axes == ("row", "level")


@pytest.mark.parametrize("path, value, words", [
    ("trunk.blok.mix", "1", "did you mean 'block'"), ("dmi", "1", "did you mean 'dim'"), ("", "1", "unknown name"),
    ("dim.x", "1", "nothing to set below"), ("trunk.blocks.0", "1", "an index below 0"),
    ("dim", "wide", "a whole number"),
    ("trunk.block.mix", "Attention", "one of the parts"), ("dim", 3.5, "a whole number"), ("dim", "0", "at least 1"),
    ("trunk.norm.eps", 10**400, "a number"),
])  # fmt: skip
def test_a_setting_that_cannot_be_made_is_refused(path: str, value: Any, words: str):
    with pytest.raises(ConfigError, match=words):
        ZOO["gpt"].set(path, value)


@pytest.mark.parametrize("index", ["2", "-1", "x", "", "²", "0x0", "9" * 5000])
def test_an_index_that_is_none_is_refused(index: str):
    with pytest.raises(ConfigError, match="an index below 2"):
        TREE.set(f"blocks.{index}.dropout", "0.5")


def test_replacing_an_unknown_field_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'dropout'"):
        Block.Config().replace(dropot=0.1)


def test_configs_are_frozen_keyword_only_and_comparable():
    config = Window(radius=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.radius = 3
    with pytest.raises(TypeError):
        Window(2)
    assert config == Window(radius=2) and hash(config) == hash(Window(radius=2)) and config != Window(radius=3)


def test_two_parts_of_one_name_are_refused():
    with pytest.raises(ConfigError, match=r"two parts are called 'Mlp': weft\.core\.transforms and "):

        class Mlp(Part):
            class Config(configs.Config):
                pass

    with pytest.raises(ConfigError, match="two parts are called 'Window'"):

        class Window(Config):
            pass

    assert configs._parts["Mlp"] is PARTS["Mlp"] and configs._parts["Window"] is PARTS["Window"]


def test_a_part_of_ones_own_is_built_from_json_once_it_is_defined():
    class Doubler(Part):
        class Config(configs.Config):
            times: int = 2

        def __init__(self, config: Config, *, dim: int):
            self.width = config.times * dim

    try:
        assert from_json({"type": "Doubler", "times": 3}).build(dim=5).width == 15
    finally:
        del configs._parts["Doubler"]
    with pytest.raises(ConfigError, match="must be defined before it is loaded"):
        from_json({"type": "Doubler"})


# a model as config.json of earlier versions has it
EARLIER = """{
  "type": "Stream", "dim": 8, "outputs": 3, "memory_dim": null,
  "embed": {"type": "TextEmbed", "vocab": 5, "context": 6, "reading": "line",
            "grams": {"type": "Grams", "longest": 3, "buckets": 64, "std": 0.05}},
  "trunk": {"type": "Trunk", "depth": 1, "block": {
    "type": "Block", "shift": {"type": "Shift"}, "mix": {"type": "Attention", "heads": 2},
    "transform": {"type": "Mlp"}}},
  "head": {"type": "Joint", "tokens": 2, "std": 0.02}
}"""


def test_a_config_with_earlier_names_of_parts_builds_the_same_parameters():
    block = Block.Config(mix=Attention.Config(heads=2), transform=Mlp.Config(), shift=TokenShift.Config())
    today = Stream.Config(
        dim=8,
        embed=TextEmbed.Config(vocab=5, context=6, grams=HashedNgrams.Config(buckets=64)),
        trunk=Trunk.Config(depth=1, block=block),
        head=PerClassToken.Config(),
        outputs=3,
    )
    earlier = from_json(read_json(EARLIER, where="test"))
    assert earlier == today
    names = list(earlier.build().state_dict())
    assert names == list(travelled(today).build().state_dict())
    assert {"embed.grams.tables.1.weight", "trunk.blocks.0.mix_shift.mix", "head.outs.1.bias"} <= set(names)


def test_an_earlier_name_may_be_taken_by_a_part_of_ones_own():
    class Shift(Part):
        class Config(configs.Config):
            places: int = 1

    try:
        assert from_json({"type": "Shift", "places": 2}) == Shift.Config(places=2)
    finally:
        del configs._parts["Shift"]
    assert isinstance(from_json({"type": "Shift"}), TokenShift.Config)


def test_every_earlier_name_stands_for_a_part_of_today():
    assert set(configs.RENAMED.values()) <= set(PARTS) and not set(configs.RENAMED) & set(PARTS)


def test_an_abstract_part_cannot_be_built():
    from weft.core import Norm

    with pytest.raises(ConfigError, match="abstract"):
        Norm.Config().build(dim=3)


@settings(max_examples=60)
@given(st.integers(-8, 64), st.integers(-4, 9), st.sampled_from(["swift", "gpt", "llama"]))
def test_heads_that_do_not_divide_the_width_are_refused_before_anything_is_allocated(dim: int, heads: int, name: str):
    size = Size(dim=dim, depth=1, heads=heads, context=8)
    good = dim >= 1 and heads >= 1 and dim % heads == 0
    huge = 10**12  # building this would need terabytes: the refusal must come first
    if good:
        LANGUAGE_MODELS[name](size, vocab=huge)
        size.check()
    else:
        with pytest.raises(ConfigError):
            LANGUAGE_MODELS[name](size, vocab=huge)
        with pytest.raises(ConfigError):
            size.check()


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("field", ["dim", "depth", "context"])
@pytest.mark.parametrize("wrong", [0, -1, -(10**12)])
def test_sizes_below_one_are_refused_before_anything_is_allocated(name: str, field: str, wrong: int):
    size = dataclasses.replace(SIZE, **{field: wrong})
    with pytest.raises(ConfigError):
        LANGUAGE_MODELS[name](size, vocab=10**12)
    with pytest.raises(ConfigError, match=field):
        size.check()


@pytest.mark.parametrize("name", ZOO)
def test_an_empty_vocabulary_is_refused(name: str):
    with pytest.raises(ConfigError, match="at least 1"):
        LANGUAGE_MODELS[name](SIZE, vocab=0)


@pytest.mark.parametrize("make", [
    lambda: Mlp.Config(hidden=-3), lambda: Mlp.Config(hidden=0), lambda: Mlp.Config(ratio=-1.0),
    lambda: Window(radius=-1), lambda: Rotary.Config(base=0.0), lambda: Dot.Config(temperature=0.0),
    lambda: Trunk.Config(block=Block.Config(), depth=-2), lambda: Block.Config(dropout=-0.5),
])  # fmt: skip
def test_values_that_cannot_work_are_refused_with_what_was_found(make):
    with pytest.raises(ConfigError, match=r"found -?\d"):
        make()


@pytest.mark.parametrize("opening, closing", [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded(opening: str, closing: str):
    fine = opening * MAX_JSON_DEPTH + ("0" if "a" in opening else "") + closing * MAX_JSON_DEPTH
    read_json(fine, where="test")
    for depth in (MAX_JSON_DEPTH + 1, 2000, 100_000):
        with pytest.raises(ConfigError, match=f"nested deeper than {MAX_JSON_DEPTH}"):
            read_json(opening * depth + "0" + closing * depth, where="test")


def test_size_is_bounded_before_anything_is_parsed():
    with pytest.raises(ConfigError, match=r"file\.json: larger than 64 MiB"):
        read_json(b"x" * (MAX_JSON_BYTES + 1), where="file.json")


@pytest.mark.parametrize("text", [
    "", "{", "[1,]", "{'a': 1}", "NaN", "[Infinity]", '{"a": -Infinity}', "\ufeff{}", b"\xff\xfe", '{"a": 1} x',
    "9" * 5000, "// no\n{}", '"\\ud800" x', "1" + "0" * 4400,
])  # fmt: skip
def test_what_is_not_strict_json_is_refused(text: str | bytes):
    with pytest.raises(ConfigError, match=r"^file\.json: "):
        read_json(text, where="file.json")


def test_json_is_written_for_people_and_never_holds_nan():
    assert write_json({"a": "é"}) == '{\n  "a": "é"\n}\n'
    with pytest.raises(ValueError):
        write_json({"a": float("nan")})


_watched: list[str] | None = None


def _watch(event: str, args: tuple) -> None:
    if _watched is not None and event.split(".")[0] in (
        "import",
        "exec",
        "compile",
        "open",
        "os",
        "subprocess",
        "socket",
        "pickle",
    ):
        _watched.append(f"{event} {args}"[:120])


sys.addaudithook(_watch)


@pytest.mark.parametrize("hostile", [
    {"type": "os.system"}, {"type": "builtins.exec"}, {"type": "weft.core.Mlp"}, {"type": "__import__('os')"},
    {"type": "Mlp", "_target_": "os.system"}, {"type": "Mlp", "auto_map": {"AutoModel": "evil--x"}},
    {"type": "Mlp", "activation": "os.system"}, {"type": "Mlp", "__class__": "x"}, {"type": "Mlp", "part": "x"},
    {"type": "Mlp", "trust_remote_code": True}, {"type": "../../etc/passwd"}, {"type": "Config"}, {"type": "Part"},
    {"type": "Block", "norm": {"type": "subprocess.Popen", "args": ["true"]}},
])  # fmt: skip
def test_a_config_file_cannot_import_or_run_anything(hostile: dict):
    global _watched
    text, before = json.dumps(hostile), set(sys.modules)
    _watched = seen = []
    try:
        from_json(read_json(text, where="test"))
        refused = False
    except ConfigError:
        refused = True
    finally:
        _watched = None
    assert refused
    assert not seen and set(sys.modules) == before


def test_wiring_without_fields_is_one_word_of_json():
    assert PreNorm.Config().to_json() == {"type": "PreNorm"}


def test_configs_of_two_classes_differ_though_their_fields_are_the_same():
    class Left(Config):
        size: int = 1

    class Right(Config):
        size: int = 1

    assert Left() == Left() and hash(Left()) == hash(Left()) and Left(size=2) != Left()
    assert Left() != Right() and Left() != 1 and len({Left(), Left(size=1), Right()}) == 2
    assert repr(Left(size=3)).endswith("Left(size=3)")
