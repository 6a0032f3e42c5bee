"""Whether a word is a text or the name of a file, where it may be either. Refuses to know what is done with the file.

A file that is there is meant. A pattern stands for the files that it matches. What is not there is a name where it
looks like nothing else: one word with the ending of a file that weft reads ("test.csv", "*.jpg"). All other words are
texts, "I love node.js" and "really?" among them.
"""

from pathlib import Path

from weft.errors import DataError
from weft.files.decoding import shown
from weft.files.documents import ENDINGS as DOCUMENTS
from weft.files.endings import PAIRS, TAGGED
from weft.files.finding import ending, is_pattern, matching, missing
from weft.files.grid_formats import ENDINGS as GRIDS
from weft.files.mailboxes import ENDINGS as MAILS
from weft.files.pictures.formats import ARCHIVES, named_as_picture
from weft.files.remote import without_secrets
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import LISTS

LONGEST_NAME = 1024  # characters, beyond which a text is no name of a file
OTHERS = (".md", ".npz", ".npy", ".graphml", ".gml", ".mrg", ".ptb")
KNOWN = (*TABLES, *LISTS, *DOCUMENTS, *PAIRS, *TAGGED, *MAILS, *GRIDS, *ARCHIVES, *OTHERS)
AS_TEXT = "to take it as a text, add --text"


def files_named(word: str) -> list[Path]:
    """The files that a word names; none where it is a text. A name that no file has is refused."""
    if not word.strip() or len(word) >= LONGEST_NAME or "\n" in word or "\0" in word:
        return []
    path, looks = Path(word), looks_like_file(word)
    try:
        if path.is_file():
            return [path]
        if path.is_dir() and word.endswith(("/", "\\")):
            raise DataError("a folder, expected a text or a file", where=shown(word), fix=f"name a file; {AS_TEXT}")
        pattern = is_pattern(word) and (looks or ("*" in word and len(word.split()) == 1))
        if pattern and (found := [one for one in matching(path)[1] if one.is_file()]):
            return found
    except OSError:  # with signs or a length that no name has
        return []
    if looks:
        error = missing(path)
        near = f"{error.fix}{' — ' if error.fix.endswith('?') else '; '}" if error.fix else ""
        raise DataError("no such file", where=error.where, fix=f"{near}{AS_TEXT}")
    return []


def looks_like_file(word: str) -> bool:
    """Whether a word that is no file's name looks like one: a single word with the ending of a file that weft reads."""
    one = len(word.split()) == 1 and "://" not in word
    here = one and ("/" in word or "\\" in word) and Path(word).suffix != "" and Path(word).parent.is_dir()
    return here or (one and Path(word).stem != "" and (ending(word, KNOWN) is not None or named_as_picture(word)))


def names_remote_file(address: str) -> bool:
    """Whether an address ends as a file does that weft reads; else it may be a text."""
    return ending(without_secrets(address), KNOWN) is not None
