"""Sets of vectors from files, and whether sources hold some. `data.graphs.sets` does the work."""

from collections.abc import Sequence

from weft.data.decoding import shown
from weft.data.files import ending, find
from weft.data.graphs.graph_set import GraphSet
from weft.data.graphs.properties import ANY_LABEL, LabelColumn
from weft.data.graphs.sets import is_set_line, read_sets
from weft.data.readers.graphs import joined
from weft.data.survey import NO, Judgement, Survey, Surveyed

KNOWN = (".jsonl", ".npz", ".csv", ".tsv")


def read_set_files(
    sources: Sequence[str], *, set_column: str | None = None, label: LabelColumn = ANY_LABEL
) -> GraphSet:
    """The sets of some files, all of vectors of one width."""
    found = find(list(sources), KNOWN)
    sets = [read_sets(path, set_column=set_column, label=label) for path in found.paths]
    return joined(sets, tuple(shown(path.name) for path in found.paths), ", ".join(map(shown, sources)))


def judge(survey: Survey) -> Judgement:
    """Whether these are lines of JSON with a list of vectors each. Tables and arrays of sets have to be asked for."""
    return survey.weakest(_judge_source)


def _judge_source(source: Surveyed) -> Judgement:
    if source.kind != "file" or not ending(source.path, (".jsonl",)):
        return NO
    lines = [line for _, line in source.lines[:20] if line.strip()]
    is_so = bool(lines) and all(map(is_set_line, lines))
    return Judgement("sure", "a list of vectors and a label in each line") if is_so else NO
