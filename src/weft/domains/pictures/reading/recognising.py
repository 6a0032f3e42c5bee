"""Whether sources hold pictures, with or without classes. Decodes nothing."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from weft.domains.pictures.reading.arrays import holds_pictures, is_arrays
from weft.domains.pictures.reading.folders import in_folder, side_by_side
from weft.domains.pictures.reading.idx import Side, is_idx, sides_in
from weft.domains.pictures.reading.label_tables import label_tables, picture_tables
from weft.domains.pictures.reading.samples import CLASS, FIELDS, labelled, shards_in, without_notes
from weft.domains.pictures.reading.tables import is_picture_table, label_place, picture_column
from weft.errors import DataError
from weft.files.known_roles import PICTURE
from weft.files.parquet_columns import has_pictures
from weft.files.pictures.archives import first_names, in_archive
from weft.files.pictures.formats import named_as_picture
from weft.files.pictures.locations import NO_PICTURE, has_picture, is_one_picture, leftover
from weft.files.survey import FILES, NO, Judgement, Survey, Surveyed, sure_if, weakest
from weft.files.tables import Table

LOOK = 200  # files looked at to recognise a folder or an archive


def judge(survey: Survey) -> Judgement:
    """Whether these are pictures with classes: in folders and archives, arrays of them, or tables of paths."""
    places = [source.path for source in survey.sources if source.kind in ("folder", "archive")]
    found = survey.weakest(partial(_judge_source, places=places))
    if not found:
        return found
    return replace(found, general=True) if _has_classes(survey) else NO


def judge_alone(survey: Survey) -> Judgement:
    """Whether these are several pictures without classes, from which more than one thing could be learned."""
    found = survey.weakest(_judge_source)
    if not found or _has_classes(survey) or is_one_picture(survey):
        return NO
    why = f"{found.why} without classes; with a folder for each class, classes can be learned"
    return Judgement("possible", why, general=True)


def _has_classes(survey: Survey) -> bool:
    """Whether some source may name the classes of its pictures: by folders, by a table, or in arrays."""
    return any(map(_names_classes, survey.sources))


def _names_classes(source: Surveyed) -> bool:
    if sides := _idx_sides(source):
        return all(side.labels is not None for side in sides)
    if source.tables and (source.kind == "file" or picture_tables(source.path)):
        return any(map(_names_labels, source.tables))
    if _has_samples(source):
        return True
    if source.kind == "folder":
        return bool(label_tables(source.path)) or (side_by_side(source.path) > 1 and _different(source))
    if source.kind in ("archive", "pattern"):
        names = [Path(name) for name in source.names if not any(map(leftover, Path(name).parts))]
        cut = len(source.names) >= FILES  # classes may follow
        return len({name.parent for name in names}) > 1 or (cut and len(names[0].parts) > 1)
    return is_arrays(source.path)


def _has_samples(source: Surveyed) -> bool:
    """Whether files beside the pictures name their classes."""
    if source.kind not in ("folder", "archive"):
        return False
    shards = shards_in(source.path) if source.kind == "folder" else [source.path]
    try:
        names = first_names(shards[0], LOOK) if shards else source.names
        notes = any(name.lower().endswith((CLASS, FIELDS)) for name in names)
        found = (in_archive(shards[0]) if shards else in_folder(source.path, most=LOOK)) if notes else None
    except DataError:
        return False
    return found is not None and labelled(found) is not None


def _names_labels(table: Table) -> bool:
    """Whether a table may say what class its pictures are of: one with pictures in its rows need not."""
    place = picture_column(table)
    inside = place is not None and has_pictures(table.path)
    return not inside or any(column.values for column in table.columns if column.place != place)


def _idx_sides(source: Surveyed) -> list[Side]:
    """The sides of idx files, as MNIST has them, that a source is or holds."""
    try:
        return sides_in(source.path) if source.kind == "folder" or is_idx(source.path) else []
    except OSError:
        return []


def _different(source: Surveyed) -> bool:
    """Whether the folders of the pictures have different names: train/images and test/images are no classes."""
    parents = {Path(name).parent.name for name in source.names if named_as_picture(name)}
    return len(parents) > 1 or (len(source.names) >= FILES and _branches(source.path))


def _branches(folder: Path) -> bool:
    """Whether the folders in a folder hold pictures themselves, or folders of different names."""
    inside = [entry for entry in folder.iterdir() if entry.is_dir() and not leftover(entry.name)]
    below = {entry.name for one in inside for entry in one.iterdir() if entry.is_dir()}
    flat = any(named_as_picture(entry.name) for one in inside for entry in islice(one.iterdir(), LOOK))
    return flat or len(below) > 1


def _judge_source(source: Surveyed, places: Sequence[Path] = ()) -> Judgement:
    if _idx_sides(source) or (source.kind in ("file", "archive") and is_idx(source.path)):
        return Judgement("sure", "pictures in idx files, as MNIST has them")
    if source.kind == "folder" and picture_tables(source.path):
        return weakest(_judge_table(table, places) for table in source.tables)
    if source.kind == "folder" and (shards := shards_in(source.path)):
        return _judge_names(first_names(shards[0], LOOK), "archives of pictures")
    if source.kind == "folder":
        if tables := label_tables(source.path):
            return Judgement("sure", f"a folder of pictures, whose classes {tables[0].name} gives")
        try:
            found = in_folder(source.path, most=LOOK)
        except DataError:
            return NO
        others = [name for name, reason in found.skipped if reason == NO_PICTURE]
        others = without_notes(["/".join(one.parts) for one in found.pictures] + others)[len(found.pictures) :]
        return sure_if(len(found.pictures) > len(others), "a folder of pictures")
    if source.kind == "archive":
        return _judge_names(source.names[:LOOK], "an archive of pictures")
    if source.kind == "pattern":
        return sure_if(sum(map(named_as_picture, source.names)) * 2 > len(source.names), "pictures, by their endings")
    if source.kind != "file":
        return NO
    if source.tables:
        return weakest(_judge_table(table, places) for table in source.tables)
    if is_arrays(source.path):
        return sure_if(holds_pictures(source.path), "arrays that have the shape of pictures")
    return sure_if(not is_picture_table(source.path) and has_picture(source.path), "a picture")


def _judge_names(found: Sequence[str], why: str) -> Judgement:
    """Whether most members of an archive are pictures, but for what stands beside them."""
    names = without_notes(name for name in found if not any(map(leftover, Path(name).parts)))
    return sure_if(sum(map(named_as_picture, names)) * 2 > len(names), why)


def _judge_table(table: Table, places: Sequence[Path]) -> Judgement:
    """Whether a column that is named after pictures holds their names, or one those of pictures at hand."""
    if not is_picture_table(table.path):
        return NO
    if (place := picture_column(table, places)) is not None:
        others = [column for column in table.columns if column.place != place]
        if not others and has_pictures(table.path):
            return Judgement("sure", "a table with pictures in its rows")
        if others and not any(column.values for column in others):
            return NO  # as of talks about pictures, whose turns are lists
        try:
            label_place(table, place, None)
        except DataError as error:
            labels = [c for c in others if (c.is_class and c.distinct > 1) or c.is_number]
            return Judgement("possible", error.problem, f"--set label_column={labels[0].called}") if labels else NO
        return Judgement("sure", f"a table of pictures (column {table.columns[place].called})")
    why = "names of pictures: with a header line that names the columns, as in path,label, their classes can be learned"
    return Judgement("possible", why) if PICTURE.by_content(table.columns) else NO
