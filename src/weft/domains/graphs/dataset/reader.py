"""Graphs in files to learn from and held out; and sets, which are graphs without edges."""

from collections.abc import Sequence
from typing import final

from weft.domains.graphs.dataset.data import GraphData, Level
from weft.domains.graphs.dataset.division import node_data, whole_data
from weft.domains.graphs.reading import files as graphs
from weft.domains.graphs.reading import set_files as sets
from weft.domains.graphs.reading.graph_set import GraphSet
from weft.domains.graphs.reading.properties import LabelColumn
from weft.domains.graphs.sample import dice_throws, party
from weft.domains.graphs.settings import GraphTraining, SetTraining
from weft.errors import DataError
from weft.files.dataset import Count, Reader
from weft.files.survey import Judgement, Survey


@final
class LabelledGraphs(Reader[GraphData]):
    """Graphs in files of many kinds."""

    sample = "graph"

    def judge(self, survey: Survey) -> Judgement:
        return graphs.judge(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: GraphTraining, count: Count | None = None
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
        self, sources: Sequence[str], valid: str | None, asked: SetTraining, count: Count | None = None
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
