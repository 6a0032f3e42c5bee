"""Labels of a config.json: how many there are and what they are called, as the Hugging Face library decides it.

Where num_labels and the names of id2label are of different numbers, the number counts and the names are dropped for
LABEL_0, LABEL_1 ...; where there is neither, there are two.
"""

from typing import Any

from weft.errors import ConfigError

USUAL = 2  # labels where nothing is said


def with_labels(data: dict[str, Any], where: str) -> tuple[dict[str, Any], tuple[str, ...], list[str]]:
    """The config.json with a name for each label, the names, and remarks."""
    known, count = data.get("id2label"), data.get("num_labels")
    if count is not None and (type(count) is not int or not 1 <= count < 2**20):
        raise ConfigError(f"num_labels: expected a whole number from 1, found {count!r:.80}", where=where)
    names, remarks = _names(known, where) if known else (), list[str]()
    if count is not None and names and len(names) != count:
        remarks.append(f"num_labels is {count} and id2label names {len(names)}: labels are called LABEL_0, LABEL_1 ...")
    if not names or count not in (None, len(names)):
        names = _numbered(count or USUAL)
    if len(set(names)) < len(names):
        names = tuple(name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names))
        remarks.append("several labels have one name: their numbers stand behind it")
    if data.get("problem_type") == "regression" and len(names) > 1:
        problem = f"problem_type is regression with {len(names)} numbers; weft reads models of one"
        raise ConfigError(problem, where=where)
    return {**data, "id2label": {str(i): name for i, name in enumerate(names)}}, names, remarks


def write_labels(count: int) -> dict[str, Any]:
    """The keys of a config.json for labels that nobody named."""
    names = _numbered(count)
    return {"id2label": {str(i): name for i, name in enumerate(names)}, "label2id": {n: i for i, n in enumerate(names)}}


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"LABEL_{i}" for i in range(count))


def _names(known: Any, where: str) -> tuple[str, ...]:
    try:
        by_id = {int(id): name for id, name in known.items()}
        ordered = tuple(by_id[id] for id in range(len(known)))
    except (AttributeError, ValueError, KeyError):
        raise ConfigError("id2label: expected a name for each number from 0 on", where=where) from None
    if not all(isinstance(name, str) for name in ordered):
        raise ConfigError("id2label: expected names", where=where)
    return ordered
