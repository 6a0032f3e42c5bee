"""Pictures with a file of the same name each that says or asks something. In folders, archives and sets of archives.

dog.jpg  dog.txt  dog.json      one caption a line, or fields: caption, or question and answer
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from weft.domains.captions.reading.about import text_fault, tidy
from weft.domains.pictures.reading.layout import arrange
from weft.domains.pictures.reading.lookup import listing_of
from weft.domains.pictures.reading.samples import FIELDS, TEXT, beside, fields_in, first_listing, stem_of
from weft.errors import DataError
from weft.files.columns import plain
from weft.files.decoding import decoded, shown
from weft.files.known_roles import ANSWER, CAPTION_NAME, QUESTION
from weft.files.pictures.archives import first_names
from weft.files.pictures.locations import NO_PICTURE, Gathered, Spotted
from weft.files.pictures.regions import Question

LOOK = 20  # files with fields that are looked at to recognise what they say
LAYOUT = (
    "put a text file of the same name beside each picture, as in dog.jpg and dog.txt, one caption a line; or name a "
    "table of pictures and captions, as in captions.tsv photos/"
)


Said = tuple[tuple[str, ...], tuple[Question, ...]]  # captions and questions


def in_place(source: Path, *, asked: bool = False) -> Gathered:
    """The pictures of a folder or archive with captions, or `asked` about; those without, and texts alone, are bad."""
    listing, what = listing_of(source), "question" if asked else "caption"
    notes = beside(listing, (FIELDS,) if asked else (TEXT, FIELDS))
    if not listing.pictures or not notes:
        problem = f"{len(listing.pictures):,} pictures and {len(notes):,} text files with {what}s"
        raise DataError(problem, where=shown(source), fix=LAYOUT)
    arranged = arrange(listing.pictures, labels=False, where=shown(source))
    stems: defaultdict[str, list[str]] = defaultdict(list)
    for entry in arranged.entries:
        stems[stem_of((entry.name,))].append(entry.name)
    taken = {"/".join(note.parts) for one in notes.values() for note in one.values()}
    others = [(name, why) for name, why in listing.skipped if why != NO_PICTURE or name not in taken]
    found = Gathered([], others + arranged.skipped)
    for entry in arranged.entries:
        stem = stem_of((entry.name,))
        said = _said(stems[stem], notes.get(stem, {}), what)
        if isinstance(said, str):
            found.bad.append((entry.name, said))
        else:
            found.entries.append(replace(entry, captions=said[0], questions=said[1]))
    alone = [note for stem, one in notes.items() if stem not in stems for note in one.values()]
    found.bad.extend(("/".join(note.parts), f"a {what} without a picture") for note in alone)
    return found


def says(source: Path, *, asked: bool = False) -> bool:
    """Whether fields beside the first pictures of a place are captions, or questions with answers."""
    try:
        if not source.is_dir() and not any(name.lower().endswith(FIELDS) for name in first_names(source, LOOK)):
            return False
        notes = islice(beside(first_listing(source), (FIELDS,)).values(), LOOK)
        said = [_said_in(fields_in(note[FIELDS]), "") for note in notes]
    except (DataError, OSError):
        return False
    return bool(said) and all(questions if asked else captions and not questions for captions, questions in said)


def _said(pictures: list[str], notes: Mapping[str, Spotted], what: str) -> Said | str:
    """What is said of a picture, or why that is not known."""
    if len(pictures) > 1:
        return f"several pictures share one name: {', '.join(pictures)}; whose {what} it is, is not clear"
    if not notes:
        return f"a picture without a {what}: there is no {TEXT} or {FIELDS} file of the same name"
    note = notes.get(TEXT) or notes[FIELDS]
    name = "/".join(note.parts)
    try:
        if TEXT in notes:
            said: Said = tuple(dict.fromkeys(tidy(decoded(note.place.content()).splitlines()))), ()
        else:
            said = _said_in(fields_in(note), name)
    except DataError as error:
        return f"its {what} {name}: {error.problem}"
    captions, questions = said
    fault = text_fault([one.text for one in questions] if what == "question" else captions, what)
    return f"{name}: {fault}" if fault is not None else ((), questions) if what == "question" else (captions, ())


def _said_in(fields: Mapping[str, Any], where: str) -> Said:
    """The captions and the questions in fields; a list of objects under "questions" holds several."""
    captions = [text for name, value in fields.items() if CAPTION_NAME.fullmatch(plain(name)) for text in _texts(value)]
    several = fields.get("questions")
    asked = [one for one in several if isinstance(one, dict)] if isinstance(several, list) else [fields]
    found = []
    for one in asked:
        questions = tidy(text for name in QUESTION.by_name(list(one))[:1] for text in _texts(list(one.values())[name]))
        answers = tidy(text for place in ANSWER.by_name(list(one)) for text in _texts(list(one.values())[place]))
        if questions and answers:
            found.append(Question(questions[0], answers, None))
    return tuple(dict.fromkeys(tidy(captions))), tuple(found)


def _texts(value: Any) -> list[str]:
    """The texts in a field: one, or several in a list; numbers are texts too."""
    many = value if isinstance(value, list) else [value]
    return [str(one) for one in many if isinstance(one, str | int | float) and not isinstance(one, bool)]
