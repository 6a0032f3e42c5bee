"""Users' pictures with questions about them and the answers, every picture tried before it is relied on.

What has no picture, no question or no answer is named and left out, up to a bound; beyond it the data is refused.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from weft.domains.captions.reading.about import AboutPicture
from weft.domains.captions.reading.kept import kept_readings
from weft.domains.captions.reading.question_tables import (
    QuestionColumns,
    first_rows,
    is_question_list,
    judge_table,
    read_rows,
)
from weft.domains.captions.reading.rows import PictureRows
from weft.domains.captions.reading.sources import LOOK, Files, Sources, files_in, judged, sorted_out
from weft.domains.captions.reading.stems import in_place, says
from weft.domains.captions.reading.vqa import Answers, is_answers, is_questions, question_rows
from weft.domains.pictures.reading.album import FoundPictures
from weft.domains.pictures.reading.lookup import Shelves
from weft.domains.pictures.reading.trying import names_of, try_all
from weft.errors import DataError, listed
from weft.files.bad_rows import Skip
from weft.files.gather import Reading
from weft.files.json_values import ENDINGS as JSON
from weft.files.json_values import is_json
from weft.files.pictures.locations import Gathered
from weft.files.survey import NO, Judgement, Survey, Surveyed, weakest
from weft.files.tables import ENDINGS as TABLES
from weft.files.tables import is_table

ENDINGS = (*TABLES, *JSON)
FORMS = (
    "name a table with pictures, questions and answers, or VQA's two files of questions and of annotations, and the "
    "folder or archive of the pictures where it is elsewhere"
)


def read_questions(
    sources: Sequence[str | Path],
    *,
    further: Sequence[str | Path] = (),
    asked: QuestionColumns = QuestionColumns(),
    skip: Skip = None,
    progress: Callable[[int, int], None] | None = None,
) -> FoundPictures:
    """Find pictures and what is asked about them, and decode every picture once.

    `sources` are tables, or the files of VQA, with the folders and archives of their pictures; a folder may hold both.
    Pictures that are not there are looked for where `further` data has its own. `asked` names columns of tables.
    """
    files, places, skipped = _sorted_out(sources)
    if not files:
        return _in_places(places, names_of(sources), skip, progress)
    others, more, _ = _sorted_out(further) if further and not places else Sources([], [], [])
    read = PictureRows(Shelves(places, more, [file.parent for file in others], what="question"))
    for reading in kept_readings("questions", files, asked, lambda: _readings(files, asked, names_of(sources))):
        read.add(reading)
    gathered = read.gathered(skip, names_of(sources))
    gathered.skipped.extend(skipped)
    return try_all(gathered, labels=False, where=names_of(sources), skip=skip, progress=progress)


def _readings(files: Sequence[Path], asked: QuestionColumns, where: str) -> Iterator[Reading[AboutPicture]]:
    """How each file is read; behind the others stands what is wrong with answers in files of their own."""
    answers = Answers([file for file in files if is_answers(file)])
    if answers.known and not any(map(is_questions, files)):
        raise DataError("answers without the file of their questions", where=where, fix=FORMS)
    for file in files:
        if is_questions(file):
            yield Reading((file,), question_rows(file, answers))
        elif not is_answers(file):
            yield read_rows(file, asked)
    for file in files[:1]:
        yield Reading((file,), answers.left())


def _in_places(
    places: Sequence[Path], where: str, skip: Skip, progress: Callable[[int, int], None] | None
) -> FoundPictures:
    """The pictures of places where the questions about each stand in a file beside it."""
    found = Gathered([])
    for one in (in_place(place, asked=True) for place in places):
        found.entries.extend(one.entries)
        found.skipped.extend(one.skipped)
        found.bad.extend(one.bad)
    return try_all(found, labels=False, where=where, skip=skip, progress=progress)


def _sorted_out(sources: Sequence[str | Path]) -> Sources:
    found = sorted_out(sources, ENDINGS, _files_in, fix=FORMS)
    if not found.files and not all(says(place, asked=True) for place in found.places):
        outside = f"; {listed([name for name, _ in found.skipped])} {found.skipped[0][1]}" if found.skipped else ""
        raise DataError(f"no questions about pictures in it{outside}", where=names_of(sources), fix=FORMS)
    return found


def _files_in(folder: Path, most: int | None = None) -> Files:
    return files_in(folder, ENDINGS, lambda path: bool(_judge_file(Surveyed(path))), most)


def judge(survey: Survey) -> Judgement:
    """Whether these are questions about pictures with their answers, alone or with the places of their pictures."""
    return judged(survey, _judge_file, _judge_place)


def _judge_file(source: Surveyed) -> Judgement:
    if is_table(source.path) and not is_json(source.path):
        return weakest(map(judge_table, source.tables))
    if is_questions(source.path) or is_answers(source.path):
        return Judgement("sure", "questions about pictures in the form of VQA v2")
    if not is_question_list(source.path):
        perhaps = weakest(map(judge_table, source.tables))
        return NO if perhaps else perhaps  # fields with other names have to be named
    return judge_table(first_rows(source.path)) or NO  # what is wrong further on, reading it says


def _judge_place(source: Surveyed) -> Judgement:
    if says(source.path, asked=True):
        return Judgement("sure", "pictures with the questions about each in a file beside it")
    found = source.kind == "folder" and _files_in(source.path, LOOK).taken
    return Judgement("sure", "a folder with questions about pictures") if found else NO
