"""Whether files hold labelled texts, at a quick look. Careful: pairs of sentences and plain text are other tasks' data."""

from itertools import islice
from pathlib import Path

from weft.data.files import ending
from weft.data.images.tables import names_pictures
from weft.data.labelled.columns import Column, choose, columns_of, is_header, names_columns
from weft.data.labelled.formats import HELD, LOOK, TABLES, TRAIN, as_cell, read_objects, table_rows
from weft.data.pairs.columns import is_known
from weft.errors import DataError

CLEAR = 5  # rows for each different label, at least
LEAST = 10  # rows to judge by
SHORT = 20_000  # bytes of a typical text; a folder of longer ones is more likely a library than a set of classes


def looks_labelled(path: Path) -> bool:
    """Whether a table, lines of JSON or a folder hold texts with labels, beyond doubt."""
    path = Path(path)
    try:
        if path.is_dir():
            return _folder(path)
        return path.is_file() and ending(path, TABLES) is not None and _table(path)
    except (DataError, OSError):
        return False


def _table(path: Path) -> bool:
    if ending(path, TABLES) == ".jsonl":
        objects = [item[1] for item in islice(read_objects(path), LOOK) if not isinstance(item, DataError)]
        keys = list(dict.fromkeys(key for data in objects for key in data))
        return _decided(columns_of(keys, [[as_cell(data.get(key)) for key in keys] for data in objects]))
    if names_pictures(path):
        return False
    found = [cells for _, cells in islice(table_rows(path), LOOK)]
    fitting = [cells for cells in found if len(cells) == len(found[0])]
    if len(fitting) < 0.9 * len(found):
        return False
    header = is_header(fitting[0], fitting[1:], (None, None))
    return _decided(columns_of(fitting[0] if header else [None] * len(fitting[0]), fitting[header:]))


def _decided(columns: list[Column]) -> bool:
    """Whether the columns say which is which; without names, labels must be few for the rows, and shorter than the texts."""
    names = [column.name for column in columns if column.name]
    if len(columns) < 2 or sum(map(is_known, names)) > 1:
        return False  # two languages, or a source and a target
    first, second = choose(columns, None, None, where="")
    text, label = columns[first], columns[second]
    if names_columns(names):
        return label.is_class or label.is_number
    few = label.is_number or label.distinct * CLEAR <= len(label.values)
    return few and len(label.values) >= LEAST and text.length >= 2 * label.length


def _folder(path: Path) -> bool:
    """Sub-folders with a number of short text files each, and no text beside them."""
    inside = [entry for entry in sorted(path.iterdir()) if not entry.name.startswith(".")]
    folders = [entry for entry in inside if entry.is_dir()]
    if any(ending(entry, (".txt", ".md")) for entry in inside if entry.is_file()):
        return False
    if len(folders) < 2 or any(folder.name.lower() in (*TRAIN, *HELD) for folder in folders):
        return False
    sizes = []
    for folder in folders:
        entries = list(islice(folder.iterdir(), LOOK))
        texts = [entry for entry in entries if ending(entry, (".txt",)) and entry.is_file()]
        if len(texts) < 2 or len(texts) * 2 < len(entries):
            return False
        sizes += [text.stat().st_size for text in texts]
    return sum(sizes) / len(sizes) <= SHORT
