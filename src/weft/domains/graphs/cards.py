"""Tasks on graphs of nodes and on sets of vectors."""

from weft.domains.graphs.settings import ELEMENTS, GraphTraining, SetTraining
from weft.tasks.card import Card
from weft.tasks.preset import in_words

ELEMENT_PRESETS = in_words(ELEMENTS)

GRAPH = Card(
    name="graph",
    summary="learn labels of nodes, or of whole graphs",
    files=".npz with edges, x and labels; a table of edges with one of nodes (edges.csv nodes.csv); GraphML, GML or "
    "node-link .json; many graphs as a text or a folder of the TU collection; tables with a column smiles",
    sample="weft's party (360 guests in four groups of friends, and who knows whom)",
    example="graph.json",
    home="weft.domains.graphs.labels.GraphLabels",
    reads="weft.domains.graphs.dataset.reader.LabelledGraphs",
    training=GraphTraining,
    models={
        "graph-transformer": "the default for whole graphs: attention along edges and to all nodes, with distances and "
        "Laplacian eigenvectors",
        "gat": "attention along edges only; for large graphs",
        "gcn": "graph convolution: normalised sums along edges (Kipf and Welling, 2017), no attention",
        "appnp": "an MLP on each node, then ten averages along edges (personalised PageRank): for few labels",
    },
    presets=ELEMENT_PRESETS,
    races=("gcn", "appnp", "gat", "graph-transformer"),
    listed=15,
)
SETS = Card(
    name="sets",
    summary="learn labels of sets of vectors",
    files=".jsonl with a list of vectors and a label in each line; .npz with x, set and labels; a table with a "
    "vector in each row and a column that names its set",
    sample="weft's dice (1,200 throws, with or without a pair)",
    example="sets.jsonl",
    home="weft.domains.graphs.labels.SetLabels",
    reads="weft.domains.graphs.dataset.reader.LabelledSets",
    training=SetTraining,
    models={
        "transformer": "the default: attention between all vectors of a set",
        "deepsets": "averages over the set, no attention (Zaheer et al., 2017)",
    },
    presets=ELEMENT_PRESETS,
    listed=16,
)

CARDS = (GRAPH, SETS)
