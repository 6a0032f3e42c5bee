"""Whether a file holds tagged sentences, at a quick look. Careful: tables and plain text are other tasks' data."""

from itertools import islice
from pathlib import Path

from weft.data.files import ending
from weft.data.tagged.formats import ENDINGS, Columns, read_columns, read_json_lines
from weft.data.tagged.schemes import scheme_of
from weft.errors import DataError

LOOK = 200  # sentences looked at
OWN = (".conll", ".conllu", ".bio", ".iob", ".iob2")  # endings that hold nothing else
WORDS = 4  # of a typical sentence, at least
FEW = 60  # different tags, at most, where they do not spell out entities


def looks_tagged(path: Path) -> bool:
    """Whether a file holds words with tags, beyond doubt."""
    path, suffix = Path(path), ending(path, ENDINGS)
    if suffix is None or not path.is_file():
        return False
    if suffix in OWN:
        return True
    try:
        rows = read_json_lines(path) if suffix == ".jsonl" else read_columns(path, Columns())
        found = list(islice(rows, LOOK))
    except DataError:
        return False
    good = [row for row in found if not isinstance(row, DataError)]
    if not good or len(good) < 0.9 * len(found):
        return False
    if suffix == ".jsonl":
        return True
    words = sum(len(sentence.words) for sentence in good)
    tags = {tag for sentence in good for tag in sentence.tags}
    # A table has no blank lines, so that all of it would be one sentence; words have no blanks in them.
    spaced = any(" " in word for sentence in good for word in sentence.words)
    if len(good) < 2 or words < WORDS * len(good) or spaced:
        return False
    if scheme_of([sentence.tags for sentence in good]) != "plain":
        return True
    # Parts of speech are written in capitals; verses of two words are not.
    return len(tags) <= min(FEW, words / 5) and not any(map(str.islower, tags))
