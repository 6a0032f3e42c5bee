"""Models of graphs and sets: sizes that suit a budget, and the settings that go with them."""

from collections.abc import Sequence
from typing import TypeVar

from weft.domains.graphs.codec import EncodedGraph, GraphCodec
from weft.domains.graphs.dataset.data import GraphData
from weft.domains.graphs.encoded import EncodedGraphs, NodePositions
from weft.domains.graphs.positions import STEP_KINDS, solvable
from weft.domains.graphs.reading.graph_set import NODE_BYTES, SMALLER
from weft.domains.graphs.settings import ELEMENTS, ElementTraining
from weft.errors import ConfigError
from weft.machine import memory
from weft.modalities.graph import Graph
from weft.modalities.graph_embed import STEPS, GraphEmbed
from weft.models.stream import Model, Stream
from weft.models.zoo import Size
from weft.models.zoo.graphs import GRAPH_MODELS, SET_MODELS, Wanted
from weft.position import Kinds
from weft.tasks.labels.label import LabelCodec
from weft.tasks.labels.numbers import NumberCodec
from weft.tasks.recipe import OF_A_TRUNK, MinEpochs, Recipe, sized, with_model_settings, with_own_numbers
from weft.tasks.request import Draft, Loaded

EFFICIENCY = 0.06  # nodes are few and narrow
MIN_EPOCHS = MinEpochs(600)
LADDER = (
    Size(dim=64, depth=2, heads=4, context=1),
    Size(dim=64, depth=4, heads=4, context=1),
    Size(dim=96, depth=4, heads=6, context=1),
    Size(dim=128, depth=6, heads=8, context=1),
)
PRESETS = {name: sized(preset) for name, preset in ELEMENTS.items()}
MOST_FOR_ALL = 1500  # nodes of a graph up to which all of them read all
WAVES = 8  # eigenvectors
LAYER_BYTES, EDGE_BYTES = (
    24,
    300,
)  # of memory, as measured: of each value of a node in a layer, and of an edge at each end
DEGREES = 16  # degrees of nodes with a vector each
AVERAGED = 8  # snapshots of the weights, where numbers of whole graphs are learned
USUAL_DROPOUT = {"nodes": 0.4, "graphs": 0.1}
BAGS_DROPOUT = 0.7  # of sparse features of nodes: of many words of a text few tell its label
AVERAGED_BAGS_DROPOUT = 0.8  # within gcn and appnp, on sparse features
BAGS_STD = 0.1  # with which the table of sparse features starts
RATE = {"lr": 3e-3, "optimizer": "adamw", "weight_decay": 0.1, "table_decay": 0.1}
TOKEN_NET_RATE = {"lr": 5e-3, "optimizer": "adamw", "weight_decay": 1.0, "table_decay": 2.0}
AVERAGING_RATE = {**TOKEN_NET_RATE, "lr": 2e-2, "table_decay": 5.0, "precision": "fp32"}  # sums in bf16 are slower
LOOK_STEPS = 10  # between two looks at held-out nodes of a single graph: few labels are soon learned by heart
FIXED = (*OF_A_TRUNK, "input_dropout")
GRAPHS: Recipe[Size] = Recipe(
    models=GRAPH_MODELS,
    presets=PRESETS,
    default="graph-transformer",
    rates={"graph-transformer": RATE, "gat": TOKEN_NET_RATE, "gcn": AVERAGING_RATE, "appnp": AVERAGING_RATE},
    fixed=FIXED,
    kept=FIXED,
    efficiency=EFFICIENCY,
)
SETS: Recipe[Size] = Recipe(
    models=SET_MODELS,
    presets=PRESETS,
    default="transformer",
    rates=dict.fromkeys(SET_MODELS, RATE),
    fixed=FIXED,
    kept=FIXED,
    efficiency=EFFICIENCY,
)
T = TypeVar("T", bound=ElementTraining)


def step_operations(size: Size, encoded: EncodedGraphs) -> float:
    """Floating-point operations to train on one node, with its edges."""
    weights = size.depth * 8 * size.dim**2
    reading = size.depth * 4 * size.dim * encoded.edges / max(encoded.nodes, 1)
    return 6 * weights + 3 * reading


def new_model(draft: Draft[GraphData, EncodedGraphs, T], recipe: Recipe[Size]) -> tuple[Stream.Config, T]:
    """A model for graphs or sets, and the settings with everything decided."""
    request, training, encoded = draft.request, draft.training, draft.encoded
    name = recipe.model_name(request)
    whole = draft.data.level == "graphs" and draft.data.thing == "graphs"
    numbers = whole and isinstance(draft.codecs["label"], NumberCodec)
    ladder: Sequence[Size] = LADDER[1:] if numbers else LADDER
    ladder = LADDER[:1] if name == "appnp" else ladder  # which reaches far by its averages, not by layers
    size = PRESETS.get(request.preset or "") or draft.sizing.choose(
        ladder,
        lambda size: step_operations(size, encoded),
        encoded.nodes,
        lambda some, seen: MIN_EPOCHS.choose(some, seen, encoded.nodes),
    )
    size = with_own_numbers(size, training)
    codec, level = draft.codec("graph", GraphCodec).config, draft.data.level
    sparse = codec.bags and level == "nodes"
    usual = AVERAGED_BAGS_DROPOUT if sparse and name in ("gcn", "appnp") else USUAL_DROPOUT[level]
    dropout = usual if training.dropout is None else training.dropout
    usual = BAGS_DROPOUT if sparse else 0.0
    input_dropout = usual if training.input_dropout is None else training.input_dropout
    transformer, largest = name == "graph-transformer", encoded.largest.size
    everywhere = transformer and largest <= MOST_FOR_ALL
    joined = encoded.data.thing == "graphs"
    embed = GraphEmbed.Config(
        features=codec.features,
        bags=codec.bags,
        kinds=tuple(len(words) + 1 for words in codec.kinds),
        degrees=DEGREES if joined and not codec.bags else 0,
        waves=WAVES if transformer and solvable(largest) else 0,
        dropout=input_dropout,
        std=BAGS_STD if codec.bags else GraphEmbed.Config().std,
    )
    wanted = Wanted(
        level=level,
        outputs=draft.codec("label", LabelCodec).outputs,
        types=codec.type_count,
        weighted=codec.weighted,
        steps=STEP_KINDS if everywhere else 0,
        typical=encoded.typical if numbers else None,
    )
    config = recipe.models[name](size, embed, wanted, dropout=dropout)
    if numbers and "average" not in request.settings:
        training = training.replace(average=AVERAGED)
    if level == "nodes" and largest == encoded.nodes and training.evaluate_every is None:
        training = training.replace(evaluate_every=LOOK_STEPS)
    return with_model_settings(config, request), training.replace(dropout=dropout, input_dropout=input_dropout)


def places_of(model: Model.Config) -> NodePositions:
    """What a model wants to know of nodes besides the data."""
    stream = model.reader()
    assert isinstance(stream.embed, GraphEmbed.Config)
    bias = stream.trunk.bias
    return NodePositions(stream.embed.waves, isinstance(bias, Kinds.Config) and bias.relation == STEPS)


def position_remarks(model: Model.Config, largest: EncodedGraph, name: str) -> dict[str, str]:
    """What a graph transformer knows of where nodes are, and what it goes without, for a plan."""
    if name != "graph-transformer":
        return {}
    places = places_of(model)
    found = [f"{places.waves} eigenvectors of the Laplacian"] if places.waves else []
    found += [] if found else ["none: eigenvectors of large graphs need SciPy (pip install 'weft[graph]')"]
    if not places.steps and largest.size > MOST_FOR_ALL:
        found.append(
            f"{largest.size:,} nodes are too many for attention between all of them and for their distances (at most "
            f"{MOST_FOR_ALL:,}): they read along edges only"
        )
    return {"positions": "; ".join(found)}


def check_size(model: Model.Config, graph: EncodedGraph | Graph, where: str, *, training: bool = False) -> None:
    """Refuse a graph that would not fit into memory, before anything is computed: it is read as a whole."""
    if places_of(model).steps and graph.size > 4 * MOST_FOR_ALL:
        problem = (
            f"{graph.size:,} nodes, with attention between all of them: {graph.size**2 * 4 / 2**30:.1f} GB a layer"
        )
        raise ConfigError(problem, where=where, fix="use a model with attention along edges only: --model gat")
    stream = model.reader()
    kept = stream.trunk.depth if training else 1  # layers whose values are held at once
    needed = graph.size * (NODE_BYTES + LAYER_BYTES * stream.dim * kept) + 2 * len(graph.edges) * EDGE_BYTES
    room = memory()
    if needed > room:
        problem = (
            f"a graph of {graph.size:,} nodes and {len(graph.edges):,} edges needs about {needed / 1e9:,.1f} GB to be "
            f"{'trained on' if training else 'read'} as a whole, and this machine has {room / 1e9:,.1f} GB"
        )
        raise ConfigError(problem, where=where, fix=f"{SMALLER}; or --preset tiny" if training else SMALLER)


def graph_facts(run: Loaded, thing: str) -> dict[str, str]:
    """How much there was to learn from, for a model card."""
    rows = f"{run.data.amount('train')} to train on, {run.data.amount('held_out')} held out"
    joined = f", {run.data.amount('edges')} edges" if thing != "sets" else ""
    return {thing: rows, "size": f"{run.data.amount('nodes')} {'vectors' if thing == 'sets' else 'nodes'}{joined}"}
