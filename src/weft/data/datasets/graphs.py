"""Graphs in files to learn from and held out; and sets, which are graphs without edges."""

from collections.abc import Sequence
from typing import Protocol, final

from weft.data.datasets.dataset import Count, Reader
from weft.data.datasets.graph_data import GraphData, Level
from weft.data.datasets.graph_division import node_data, whole_data
from weft.data.graphs.graph_set import GraphSet
from weft.data.graphs.properties import LabelColumn
from weft.data.labels import Kind
from weft.data.readers import graphs, sets
from weft.data.samples.graphs import dice_throws, party
from weft.data.survey import Judgement, Survey
from weft.errors import DataError


class GraphColumns(Protocol):
    """What may be said of graphs in files."""

    @property
    def directed(self) -> bool | None: ...

    @property
    def label_column(self) -> str | None: ...

    @property
    def labels(self) -> Kind | None: ...

    @property
    def level(self) -> Level | None: ...


class SetColumns(Protocol):
    """What may be said of sets in files."""

    @property
    def set_column(self) -> str | None: ...

    @property
    def label_column(self) -> str | None: ...

    @property
    def labels(self) -> Kind | None: ...


@final
class LabelledGraphs(Reader[GraphData]):
    """Graphs in files of many kinds."""

    sample = "graph"

    def judge(self, survey: Survey) -> Judgement:
        return graphs.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: GraphColumns, count: Count | None = None
    ) -> GraphData:

        def files(some: Sequence[str]) -> GraphSet:
            return graphs.read_graphs(some, directed=asked.directed, label=LabelColumn(asked.label_column))

        found = files(sources) if sources else party()
        level = level_of(found, asked.level, ", ".join(sources))
        if level == "nodes":
            return node_data(found, files([valid]) if valid else None, asked.labels, valid)
        return whole_data(found, files([valid]) if valid else None, asked.labels, valid)


@final
class LabelledSets(Reader[GraphData]):
    """Sets of vectors in files."""

    sample = "sets"

    def judge(self, survey: Survey) -> Judgement:
        return sets.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: SetColumns, count: Count | None = None
    ) -> GraphData:

        def files(some: Sequence[str]) -> GraphSet:
            return sets.read_set_files(some, set_column=asked.set_column, label=LabelColumn(asked.label_column))

        found = files(sources) if sources else dice_throws()
        held = files([valid]) if valid else None
        return whole_data(found, held, asked.labels, valid, thing="sets", elements="vectors")


def level_of(found: GraphSet, asked: Level | None, where: str) -> Level:
    """Whether labels are of whole graphs or of nodes; refused where there are none."""
    has = {"graphs": found.has_graph_labels, "nodes": found.has_node_labels}
    level: Level = asked or ("graphs" if has["graphs"] else "nodes")
    if not has[level]:
        fix = "name their column or array label, or say which it is: --set label_column=NAME"
        raise DataError(f"no labels of {asked or 'nodes or of graphs'}", where=where, fix=fix)
    return level
