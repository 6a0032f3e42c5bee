"""What a run on graphs or sets answers for files: labels, a table of them, and vectors."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch

from weft.core.heads import summary
from weft.domains.graphs import elements
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.errors import ConfigError, DataError
from weft.tasks.asks import Answer
from weft.tasks.labels import labelling
from weft.tasks.labels.classes import ClassCodec
from weft.tasks.labels.label import LabelCodec
from weft.tasks.request import Embedded, Loaded, Prediction

WRITES = (".csv", ".tsv")
Graphs = Sequence[tuple[str, GraphSet]]  # the name of each input, with the graphs in it


class AskElements(labelling.TopLabels):
    """Settings of a prediction."""

    output: str | None = None

    names_files: ClassVar[tuple[str, ...]] = ("output",)
    about: ClassVar[Mapping[str, str]] = {
        **labelling.TopLabels.about,
        "output": "the .csv or .tsv for the answers, a row for each node, graph or set",
    }

    def check(self) -> None:
        super().check()
        if self.output is not None and Path(self.output).suffix.lower() not in WRITES:
            raise ConfigError(f"expected one of {', '.join(WRITES)}, found {self.output!r}", where="output")


def predicted(run: Loaded, given: Graphs, how: AskElements) -> list[Answer]:
    """The answer for each graph or set, or for each node of each graph; with the first, a table of all."""
    codec, found = run.codec("label", LabelCodec), list[Answer]()
    for number, (name, some) in enumerate(given):
        graphs = elements.aligned(some, elements.graph_codec(run.codecs))
        for graph, values in zip(graphs, elements.values_of(run, graphs), strict=True):
            shown = name if len(graphs) == 1 else f"{name}: {graph.name}"
            if elements.is_node_level(run):
                answers = codec.decode(values, how.top)
                nodes = [{"node": graph.node(i), **answer} for i, answer in enumerate(answers)]
                found.append(Answer(number, {"input": shown, "nodes": nodes}))
            else:
                (one,) = labelling.predictions(codec, values, [shown], how.top, how.choices)
                found.append(Answer(number, one))
    if found:
        name, classes = how.output or "answers.csv", codec.names if isinstance(codec, ClassCodec) else ()
        delimiter, answers = "\t" if Path(name).suffix.lower() == ".tsv" else ",", [one.values for one in found]
        found[0] = replace(found[0], files={name: lambda: _table(answers, classes, delimiter).encode()})
    return found


def _table(found: Sequence[Prediction], classes: Sequence[str], delimiter: str) -> str:
    """A row for each answer: its input, its node, the label, and the probability of each class."""
    rows: list[dict[str, Any]] = []
    for one in found:
        for answer in one.get("nodes", [one]):
            row = {"input": one["input"], **{k: v for k, v in answer.items() if k != "probabilities"}}
            rows.append({**row, **{f"p({name})": p for name, p in answer.get("probabilities", {}).items()}})
    filled = dict.fromkeys(name for row in rows for name in row)
    shares = [f"p({name})" for name in classes if f"p({name})" in filled]
    columns = [*(name for name in filled if name not in shares), *shares]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, delimiter=delimiter, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


@torch.inference_mode()
def embedded(run: Loaded, given: Graphs) -> Embedded:
    """The last layer's vectors: one for each graph or set, the mean over its elements, or one for each node."""
    model, found = run.stream, []
    for _, some in given:
        graphs = elements.aligned(some, elements.graph_codec(run.codecs))
        found += elements.each_of(
            run,
            graphs,
            lambda raw: model.encode(raw).x if elements.is_node_level(run) else summary(model.encode(raw), first=False),
        )
    if not found:
        raise DataError("nothing to give vectors of", where="weft embed", fix="name a file")
    return Embedded([name for name, _ in given], torch.cat(found).cpu().numpy())
