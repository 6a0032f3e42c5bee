"""Models for fields: sizes that suit data and budget, and their settings. Reads no files and trains nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from weft.domains.fields.codec.anomalies import FieldCodec
from weft.domains.fields.dataset import FieldData
from weft.domains.fields.encoded.seen import SeenFields, tokens_apart, tokens_of
from weft.domains.fields.settings import FIELDS, ForecastTraining
from weft.modalities.field import FieldEmbed
from weft.models.stream import Stream
from weft.models.zoo.fields import FIELD_MODELS, FieldSize
from weft.tasks.recipe import OF_A_TRUNK, MinEpochs, Recipe, heads_for, with_model_settings
from weft.tasks.request import Draft, Loaded

ForecastDraft = Draft[FieldData, SeenFields, ForecastTraining]
MOST_TOKENS = 640  # of a window, where the plan decides
PATCHES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
CELLS_AT_ONCE = 800_000  # cells of the windows that are computed at once: bounds the memory of a step
VALUES_PER_WEIGHT = 0.5  # values to train on for each weight of the trunk: with fewer they are learned by heart
MIN_EPOCHS = MinEpochs(15, 20_000)

PRESETS = {name: FieldSize(one.dim, one.depth, one.heads) for name, one in FIELDS.items()}
LADDER = (
    FieldSize(dim=48, depth=1, heads=2),
    FieldSize(dim=64, depth=2, heads=2),
    FieldSize(dim=96, depth=3, heads=3),
    FieldSize(dim=128, depth=4, heads=4),
    FieldSize(dim=192, depth=4, heads=6),
    FieldSize(dim=256, depth=6, heads=8),
    FieldSize(dim=384, depth=8, heads=12),
)
SWIFT = {"lr": 3e-3, "matrix_lr": 3.0, "weight_decay": 0.1, "patience": 4}
FORECASTING = Recipe(
    models=FIELD_MODELS,
    presets=PRESETS,
    default="swift",
    rates={"swift": SWIFT, "atmorep": {**SWIFT, "lr": 2e-3}},
    fixed=(*OF_A_TRUNK, "patch", "halo", "span", "history", "ahead"),
    kept=("dim", "depth", "heads", "patch", "halo", "span", "history", "ahead"),
    efficiency=0.15,  # the making of windows included
)


def new_model(draft: ForecastDraft, name: str) -> Stream.Config:
    """A model that suits data and budget."""
    training, config = draft.training, draft.codec("field", FieldCodec).config
    build, span = FIELD_MODELS[name], training.span or (config.times if name == "swift" else 1)

    def make(size: FieldSize) -> Stream.Config:
        shape: dict[str, Any] = {"layers": len(config.layers), "times": config.times, "wraps": config.wraps}
        return build(size, **shape, span=span, dropout=training.dropout or 0.0)

    preset = draft.request.preset
    sizes = [_with_own_numbers(size, draft, span) for size in (LADDER if preset is None else (PRESETS[preset],))]
    allowed = [size for size in sizes if 12 * size.dim**2 * size.depth * VALUES_PER_WEIGHT <= draft.encoded.values]
    windows = len(draft.data.train)
    chosen = draft.sizing.choose(
        allowed or sizes[:1],
        lambda size: cost(make(size), draft),
        windows,
        lambda some, seen: MIN_EPOCHS.choose(some, seen, windows),
    )
    return with_model_settings(make(chosen), draft.request)


def _with_own_numbers(size: FieldSize, draft: ForecastDraft, span: int) -> FieldSize:
    """A size with the user's numbers in place of its own, and patches that give a bearable number of tokens."""
    training, codec = draft.training, draft.codec("field", FieldCodec)
    patch = next((p for p in PATCHES if tokens_of(codec, p, span) <= MOST_TOKENS), PATCHES[-1])
    size = replace(size, patch=patch, halo=max(1, patch // 4))
    given = {n: v for n in ("dim", "depth", "heads", "patch", "halo") if (v := getattr(training, n)) is not None}
    if "dim" in given and "heads" not in given:
        given["heads"] = heads_for(given["dim"], 32)
    size = replace(size, **given)
    size = replace(size, apart=tokens_apart(codec, size.patch))
    size.check()
    return size


def cost(model: Stream.Config, draft: ForecastDraft) -> float:
    """Floating-point operations to learn from one window."""
    embed, codec = embed_of(model), draft.codec("field", FieldCodec)
    tokens, depth = tokens_of(codec, embed.patch, embed.span), len(model.trunk.all_blocks())
    side = embed.patch + 2 * embed.halo
    weights = 12 * model.dim**2 * depth + model.dim * (3 * embed.span * side**2 + embed.size)
    return 6.0 * tokens * (weights + 2 * depth * tokens * model.dim)


def decided(training: ForecastTraining, model: Stream.Config, codec: FieldCodec) -> ForecastTraining:
    """The settings with everything decided."""
    embed, blocks = embed_of(model), model.trunk.all_blocks()
    return training.replace(
        dim=model.dim,
        depth=len(blocks),
        heads=getattr(blocks[0].mix, "heads", None) if blocks else None,
        patch=embed.patch,
        halo=embed.halo,
        span=embed.span,
        history=codec.config.history,
        ahead=codec.config.ahead,
        dropout=training.dropout or 0.0,
        micro=training.micro or max(1, min(training.batch, CELLS_AT_ONCE // codec.cells)),
    )


def embed_of(model: Stream.Config) -> FieldEmbed.Config:
    """The embedder of a model for fields."""
    assert isinstance(model.embed, FieldEmbed.Config)
    return model.embed


def field_facts(run: Loaded) -> Mapping[str, str]:
    """How much there was to learn from."""
    return {"fields": run.data.amount("train"), "layers": ", ".join(run.data.columns)}
