"""The sizes that are planned, against a table of them: for budgets, amounts of data, models and presets.

tests/fixtures/sizes.json says what was decided when it was written; the rate of matrix products is stated, not
measured. How to ask the planners is known to the functions that `PLANNERS` names, and to nothing else here.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from helpers.fields import plain_codec
from helpers.trials import DATA

from weft.domains.captions.recipe import answerers as answers
from weft.domains.captions.recipe import captioners as captions
from weft.domains.fields import recipe as forecasts
from weft.domains.graphs import recipe as graphs
from weft.domains.graphs.codec import GraphCodec
from weft.domains.pairs import recipe as pairs
from weft.domains.pictures import recipe as picture_costs
from weft.domains.pictures import recipe as pictures
from weft.domains.places import recipe as places
from weft.domains.places.codec import PlaceCodec
from weft.domains.registry import CARDS
from weft.domains.texts.encoded.whole_texts import TextAmount
from weft.domains.texts.recipe import encoders, language
from weft.domains.trees import recipe as trees
from weft.domains.trees.codec import GapCodec, SymbolCodec
from weft.domains.words import recipe as words
from weft.models.backbone import context_of
from weft.models.zoo.vision import Sight, VisionSize
from weft.tasks.finetuning import first_training
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.request import Draft, Request
from weft.tasks.sizing import Sizing
from weft.training.schedule import Budget

SIZES: dict[str, dict[str, Any]] = json.loads((DATA.parent / "sizes.json").read_text())
RATE = 1e11  # multiply-adds times two a second
SHOWN = [
    "dim",
    "depth",
    "heads",
    "context",
    "patch",
    "halo",
    "span",
    "batch",
    "tokens",
    "rows",
    "dropout",
    "strength",
    "lr",
    "warmup",
]
SIDE = 32  # pixels


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a size is asked for; `amount` is the tokens, the pictures or the fields to learn from."""

    task: str
    model: str | None = None
    preset: str | None = None
    minutes: float | None = None
    amount: int
    vocab: int | None = None

    @property
    def key(self) -> str:
        """The case in words, as the table has it."""
        length = f"minutes={self.minutes:g}" if self.minutes is not None else "steps=100"
        more = {"model": self.model, "preset": self.preset, "amount": self.amount, "vocab": self.vocab}
        return " ".join([self.task, length, *(f"{name}={value}" for name, value in more.items() if value is not None)])

    @property
    def request(self) -> Request:
        """The same as a planner takes it."""
        budget = Budget(steps=100) if self.minutes is None else Budget(minutes=self.minutes)
        given = {"precision": "fp32"}
        return Request((), self.model, self.preset, budget, None, given, torch.device("cpu"))


def tokenizer_of(case: Case) -> Any:
    """A tokenizer of which a planner asks the size and the kind alone."""
    return SimpleNamespace(size=case.vocab, kind="bpe")


def draft_of(
    case: Case, recipe: Any, training: Any, *, data: Any = None, codecs: Any = None, encoded: Any = None
) -> Any:
    """A plan in the making, with what a planner asks of it alone."""
    request = case.request
    sizing = Sizing.guessed(request.budget, recipe.efficiency, request.device, training.precision)
    return Draft(request, data, codecs or {}, encoded, training, request.budget, sizing)


def of_text(case: Case) -> dict[str, Any]:
    request = case.request
    training = first_training(CARDS[case.task].training, language.RECIPE, request, language.RECIPE.model_name(request))
    vocab = case.vocab or 0
    draft = draft_of(case, language.RECIPE, training)
    config, training = language.language_model(draft, vocab=vocab, tokens=case.amount)
    size = {"dim": config.dim, "depth": len(config.trunk.all_blocks()), "context": context_of(config)}
    return {**vars(training), **size}


def of_pairs(case: Case) -> dict[str, Any]:
    request = case.request
    codec = SimpleNamespace(tokenizer=tokenizer_of(case))
    encoded: Any = SimpleNamespace(given=codec, codec=codec, tokens=case.amount, context=128, other_targets=None)
    training = first_training(CARDS[case.task].training, pairs.RECIPE, request, pairs.RECIPE.model_name(request))
    return vars(pairs.encoder_decoder(draft_of(case, pairs.RECIPE, training, encoded=encoded))[1])


def of_trees(case: Case) -> dict[str, Any]:
    """Sentences of `amount` tokens, or trees of `amount` symbols, with 20 labels of phrases."""
    request, name = case.request, trees.RECIPE.model_name(case.request)
    training: Any = first_training(CARDS[case.task].training, trees.RECIPE, request, name)
    tokenizer = tokenizer_of(case)
    codec = SimpleNamespace(tokenizer=SimpleNamespace(**vars(tokenizer), word_starts=(1,), end=2))
    symbols = SymbolCodec.of(["XX", *(f"{sign}{label}" for sign in "()" for label in range(20))])
    amount = TextAmount(case.amount, 40)
    encoded: Any = SimpleNamespace(given=codec, codec=codec, tokens=case.amount, context=128, amount=amount)
    encoded.other_targets = symbols if training.form == "symbols" else None
    codecs = {"gaps": GapCodec(GapCodec.Config(opens=("", *map(str, range(100))), closes=20), read=str.encode)}
    draft = draft_of(case, trees.RECIPE, training, codecs=codecs, encoded=encoded)
    return vars((trees.gap_tagger if name == "gaps" else trees.tree_writer)(draft)[1])


def of_whole_texts(case: Case) -> dict[str, Any]:
    head: Any = {"fill-mask": "fill", "classify-text": "pooled", "tag-text": "tags", "answer-text": "span"}[case.task]
    outputs, request = 3 if head in ("pooled", "tags") else None, case.request
    wanted = encoders.EncoderWanted(head, outputs, tokenizer_of(case), TextAmount(case.amount, 40))
    training: Any = first_training(
        CARDS[case.task].training, encoders.RECIPE, request, encoders.RECIPE.model_name(request)
    )
    return vars(encoders.new_encoder(draft_of(case, encoders.RECIPE, training), wanted)[1])


COSTS: dict[str, Any] = {
    "classify-images": picture_costs.labelled_cost,
    "reconstruct-images": picture_costs.hiding_cost,
    "distill-images": picture_costs.views_cost,
    "caption": captions.caption_cost,
}
LADDERS_OF = {"caption": captions.LADDER_OF, "answer": answers.LADDERS}
WITHOUT = {"caption": captions.WITHOUT, "answer": answers.WITHOUT}


def of_pictures(case: Case) -> dict[str, Any]:
    draft, name = drafted(case), case.model or CARDS[case.task].task.recipe.model_name(case.request)
    ladder = LADDERS_OF.get(case.task, {}).get(name, name)
    cost = _cost_of(case.task, name)
    size = pictures.choose_size(draft, ladder if ladder in pictures.LADDERS else "vit", cost)
    backbone = maker(draft, case.task, name)(size)
    decided = pictures.decided(draft, backbone, lambda *_: cost(size), WITHOUT.get(case.task, ()))
    net = {} if size.net is None else {"net": list(size.net.widths)}
    return {**vars(decided), **(net if ladder != "vit" else {})}


def drafted(case: Case) -> Any:
    card, request = CARDS[case.task], case.request
    training = first_training(card.training, card.task.recipe, request, card.task.model_name(request))
    codec = SimpleNamespace(config=SimpleNamespace(size=SIDE))
    encoded = SimpleNamespace(sight=Sight(SIDE, SIDE), train=range(case.amount), codec=codec)
    return draft_of(case, card.task.recipe, training, data=SimpleNamespace(still=False), encoded=encoded)


def maker(draft: Any, task: str, model: str) -> Callable[[VisionSize], Any]:
    outputs = 10 if task == "classify-images" else None
    return pictures.backbone_maker(draft, CARDS[task].task.recipe.models[model], outputs)


def measured_maker(draft: Any, task: str, model: str) -> Callable[[VisionSize], Any]:
    """The backbone by whose cost a size is chosen."""
    if task != "caption":
        return maker(draft, task, model)
    return pictures.backbone_maker(draft, captions.sizing_encoder(model), None)


@cache
def _cost_of(task: str, model: str) -> Callable[[VisionSize], float]:
    """The operations to learn from a picture, counted once for each size."""
    draft = drafted(Case(task=task, model=model, amount=1))
    make = measured_maker(draft, task, model)
    cost = answers.answer_cost(model) if task == "answer" else COSTS[task]
    return cache(lambda size: cost(make(size), draft.training))


def of_fields(case: Case, shape: tuple[int, int, int] = (2, 36, 72)) -> dict[str, Any]:
    """Fields of some layers, rows and columns; `amount` is how many there are to train on."""
    request = case.request
    name = forecasts.FORECASTING.model_name(request)
    training = first_training(CARDS[case.task].training, forecasts.FORECASTING, request, name)
    codec = plain_codec(shape, history=6, ahead=6, lags=1)
    encoded: Any = SimpleNamespace(values=float(case.amount * math.prod(shape)), codec=codec)
    data, codecs = SimpleNamespace(train=range(case.amount)), {"field": codec}
    draft = draft_of(case, forecasts.FORECASTING, training, data=data, codecs=codecs, encoded=encoded)
    return vars(forecasts.decided(training, forecasts.new_model(draft, name), codec))


def of_places(case: Case) -> dict[str, Any]:
    request = case.request
    training = first_training(CARDS[case.task].training, places.RECIPE, request, "field")
    codecs = {
        "place": PlaceCodec(PlaceCodec.Config(axes=("x", "y"), middle=(0.0, 0.0), reach=(1.0, 1.0)), read=str.encode),
        "label": NumberCodec(NumberCodec.Config(), read=str.encode),
    }
    encoded: Any = SimpleNamespace(train=range(case.amount))
    return vars(places.new_field(draft_of(case, places.RECIPE, training, codecs=codecs, encoded=encoded))[1])


def of_words(case: Case) -> dict[str, Any]:
    """A text of `amount` words, `vocab` of them different."""
    request = case.request
    training: Any = first_training(CARDS[case.task].training, words.RECIPE, request, words.RECIPE.model_name(request))
    return vars(words.sized_vectors(request, training, words=case.vocab or 0, text=case.amount)[1])


def of_graphs(case: Case) -> dict[str, Any]:
    """Graphs or sets of `amount` nodes with four edges each, `vocab` in the largest."""
    request, recipe = case.request, graphs.GRAPHS if case.task == "graph" else graphs.SETS
    training = first_training(CARDS[case.task].training, recipe, request, recipe.model_name(request))
    codecs = {
        "graph": GraphCodec(GraphCodec.Config(features=4), read=str.encode),
        "label": NumberCodec(NumberCodec.Config(), read=str.encode),
    }
    data: Any = SimpleNamespace(level="nodes" if case.task == "graph" else "graphs", thing=f"{case.task}s")
    encoded: Any = SimpleNamespace(
        nodes=case.amount, edges=4 * case.amount, largest=SimpleNamespace(size=case.vocab), data=data
    )
    draft = draft_of(case, recipe, training, data=data, codecs=codecs, encoded=encoded)
    model, training = graphs.new_model(draft, recipe)
    return {**vars(training), "dim": model.dim, "depth": len(model.trunk.all_blocks())}


PLANNERS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "language-model": of_text,
    "translate": of_pairs,
    "parse": of_trees,
    "fill-mask": of_whole_texts,
    "classify-text": of_whole_texts,
    "tag-text": of_whole_texts,
    "answer-text": of_whole_texts,
    "classify-images": of_pictures,
    "reconstruct-images": of_pictures,
    "distill-images": of_pictures,
    "caption": of_pictures,
    "answer": of_pictures,
    "forecast": of_fields,
    "fit-field": of_places,
    "embed-words": of_words,
    "graph": of_graphs,
    "sets": of_graphs,
}


def planned(case: Case) -> dict[str, Any]:
    """What is decided for a case, in the words of settings."""
    found = PLANNERS[case.task](case)
    kept = {name: found[name] for name in (*SHOWN, "net") if found.get(name) is not None}
    return {name: float(f"{v:.6g}") if isinstance(v, float) else v for name, v in kept.items()}


def cases() -> Iterator[Case]:
    """Every task with its usual model over a grid; its other models and its (small) presets at one point of it."""
    for name, planner in PLANNERS.items():
        card, seen = CARDS[name], planner in (of_pictures, of_fields)
        amounts = (300, 5_000, 100_000) if seen else (10_000, 1_000_000, 100_000_000)
        if planner is of_fields:
            amounts = (40, 500, 20_000)
        vocabs = (None,) if seen or planner is of_places else (64, 8192)
        for minutes in (1.0, 5.0, 20.0, 60.0, None):
            for amount in amounts:
                for vocab in vocabs:
                    yield Case(task=name, minutes=minutes, amount=amount, vocab=vocab)
        for model in card.models:
            for minutes in (1.0, 60.0):
                yield Case(task=name, model=model, minutes=minutes, amount=amounts[1], vocab=vocabs[-1])
        for preset in list(card.presets)[: 3 if seen else None]:
            yield Case(task=name, preset=preset, minutes=5.0, amount=amounts[1], vocab=vocabs[-1])


@pytest.fixture(autouse=True)
def rated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The speed of the machine is stated."""
    monkeypatch.setattr("weft.tasks.sizing.product_rate", lambda device, dtype: RATE)


def test_the_table_has_every_case_and_every_task() -> None:
    assert [case.key for case in cases()] == list(SIZES) and list(CARDS) == sorted(PLANNERS, key=list(CARDS).index)


def check(planning: list[Case]) -> None:
    """What is planned is what the table says."""
    assert {case.key: planned(case) for case in planning} == {case.key: SIZES[case.key] for case in planning}


def named_of_pictures(case: Case) -> bool:
    """Whether it names a model of pictures: counting the operations of each takes long."""
    return case.model is not None and PLANNERS[case.task] is of_pictures


@pytest.mark.parametrize("task", PLANNERS)
def test_what_is_planned_is_what_was_planned(task: str) -> None:
    check([case for case in cases() if case.task == task and not named_of_pictures(case)])


@pytest.mark.slow
@pytest.mark.parametrize("task", [task for task, planner in PLANNERS.items() if planner is of_pictures])
def test_what_is_planned_for_each_model_of_pictures_is_what_was_planned(task: str) -> None:
    check([case for case in cases() if case.task == task and named_of_pictures(case)])


def test_the_table_is_no_constant() -> None:
    for task in PLANNERS:
        least = 2 if task == "embed-words" else 3  # vectors of words have a width alone, for small texts and large
        sizes = [size for key, size in SIZES.items() if key.split()[0] == task and "preset" not in key]
        assert len({(size.get("dim"), size.get("depth"), str(size.get("net"))) for size in sizes}) >= least, task


def test_few_fields_get_a_small_model_however_long_there_is() -> None:
    few, many = (planned(Case(task="forecast", minutes=600.0, amount=amount)) for amount in (10, 20_000))
    assert few["dim"] <= 64 and few["depth"] <= 2 and many["dim"] > 96


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 4, 8), (3, 36, 72), (1, 181, 360)])
def test_patches_keep_the_number_of_tokens_bearable(shape: tuple[int, int, int]) -> None:
    patch = of_fields(Case(task="forecast", minutes=1.0, amount=500), shape)["patch"]
    tokens = shape[0] * math.prod(-(-side // patch) for side in shape[1:])
    assert tokens <= 640 and (patch <= 4 or tokens > 100)
