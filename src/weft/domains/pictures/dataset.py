"""Pictures to learn from and pictures held out: with a class or a number each, or without.

The split is a pure function of their contents and labels.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, final

from weft.batches.order import key
from weft.domains.pictures.reading import arrays, recognising
from weft.domains.pictures.reading.album import Album, FoundPictures
from weft.domains.pictures.reading.copies import copied
from weft.domains.pictures.reading.tables import is_picture_table
from weft.domains.pictures.reading.trying import OF_CLASSES, read_images
from weft.domains.pictures.sample import digits
from weft.domains.pictures.settings import PictureLabelTraining, PictureTraining
from weft.errors import DataError, listed
from weft.files.columns import number
from weft.files.dataset import Count, Dataset, Reader
from weft.files.decoding import shown
from weft.files.held_out import SHARE, share_of_each, split_rows
from weft.files.known_roles import LABEL, PICTURE
from weft.files.labels import Kind
from weft.files.pictures.formats import is_archive
from weft.files.pictures.locations import FilePlace
from weft.files.survey import Judgement, Survey, Surveyed


def split_album(album: Album, share: float = SHARE, *, even: bool = True) -> tuple[Album, Album, str]:
    """Hold out about a share of every class, those whose content has the lowest SHA-256; also the rule in words.

    Labels matter only where shares are to be `even`. Identical pictures fall on the same side, and so do copies:
    saved again in another format, turned or mirrored. Of each class with two different pictures at least one is held
    out, and at least one stays.
    """
    labels = album.labels if even else None
    sides = split_rows(range(len(album)), _keys(album), share, what="pictures", groups=labels)
    how_much = share_of_each(share, len(sides[1]), len(album), "class" if labels else "")
    rule = (
        f"{len(sides[1]):,} of {len(album):,} pictures: {how_much} are held out, those whose content has "
        "the lowest SHA-256, so that identical, re-encoded and turned pictures fall on the same side"
    )
    return album.take(sides[0]), album.take(sides[1]), rule


def _keys(album: Album) -> list[bytes]:
    """What each picture is dealt out by: its digest, or the lowest of its copies'.

    Where all pictures of a class are copies of one, their own digests decide: else none could be held out.
    """
    lowest: defaultdict[int, bytes] = defaultdict(lambda: b"\xff" * 33)
    first = copied([picture.thumbnail for picture in album.pictures], album.labels)
    for group, digest in zip(first, album.digests, strict=True):
        lowest[group] = min(lowest[group], digest)
    keys, labels = [lowest[group] for group in first], album.labels or ("",) * len(album)
    different = {
        label: len({key for key, own in zip(keys, labels, strict=True) if own == label}) for label in set(labels)
    }
    alone = [different[label] == 1 for label in labels]
    return [digest if own else key for digest, key, own in zip(album.digests, keys, alone, strict=True)]


SET_APART = "the part of the data that is set apart in it"
SCENES = "weft's scenes"
UNSEEN = "scenes of their own: each shows a colour and a shape that are never together in those to learn from"


@dataclass(frozen=True, kw_only=True)
class PictureData(Dataset[Album, Album]):
    """Pictures in albums; `kind` says what their labels are, where they have any.

    `still` ones are not moved, cropped or turned in training: what is said of them would no longer be true.
    """

    kind: Kind | None = None
    still: bool = False

    def example(self) -> str | None:
        """The file of the first held-out picture; None where it stands in no file of its own."""
        place = self.held_out.pictures[0].place if self.held_out.pictures else None
        return str(place.path) if isinstance(place, FilePlace) else None

    def pictures_in_numbers(self) -> dict[str, Any]:
        """How many pictures there are to train on, of which sizes, classes and kinds."""
        return pictures_in_numbers(self.train)

    def contact_sheet(self, title: str, format: str) -> bytes:
        """A sheet of pictures spread evenly over those to train on, each with its name and its class."""
        return contact_sheet_of(self.train, title, format)


@final
class LabelledPictures(Reader[PictureData]):
    """Pictures with a class or a number each."""

    sample = "digits"
    roles = (PICTURE, LABEL)

    def judge(self, survey: Survey) -> Judgement:
        return recognising.judge(survey)

    def refusal(self, source: Surveyed) -> DataError | None:
        return arrays.refusal(source.path) if source.kind == "file" else None

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PictureLabelTraining, count: Count | None = None
    ) -> PictureData:
        found, given = _read(sources, valid, asked, count, labels=True)
        kind = asked.labels or kind_of(found.train.labels or ())
        if kind == "classes":
            data = held_apart(found, given, name_of(sources, "scikit-learn's digits"), valid)
            _same_classes(data.train, data.held_out, data.rule)
            classes = data.train.classes
            headline = f"{data.described} of {len(classes)} classes: {listed(classes)}"
        else:
            data = held_apart(found, given, name_of(sources, "scikit-learn's digits"), valid, even=False)
            headline = f"{data.described} with a number each"
            data = replace(data, notes=tuple(n for n in data.notes if not n.endswith(OF_CLASSES)))
        return replace(data, kind=kind, notes=(headline, *data.notes[1:]))


@final
class Pictures(Reader[PictureData]):
    """Pictures alone, in classes or not."""

    sample = "digits"
    roles = (PICTURE,)

    def judge(self, survey: Survey) -> Judgement:
        return recognising.judge_alone(survey)

    def read(
        self, sources: Sequence[str], valid: str | None, asked: PictureTraining, count: Count | None = None
    ) -> PictureData:
        found, given = _read(sources, valid, asked, count, labels=False)
        return held_apart(found, given, name_of(sources, "scikit-learn's digits"), valid)


def kind_of(labels: Sequence[str]) -> Kind:
    """Numbers where all labels are numbers and some have fractions: whole numbers are more likely to be classes."""
    values = [number(label) for label in labels]
    return "numbers" if any(v is not None and not v.is_integer() for v in values) and None not in values else "classes"


def name_of(sources: Sequence[str], sample: str) -> str:
    """The names of the data in words."""
    return listed([Path(source).name for source in sources]) if sources else sample


def held_apart(
    found: FoundPictures,
    given: FoundPictures | None,
    name: str,
    valid: str | None,
    *,
    even: bool = True,
    apart: str = SET_APART,
) -> PictureData:
    """What is trained on and what is held out: other data that was `given`, a part set apart in it, or split off.

    The split takes an `even` share of every class; `apart` says what the part is that is set apart in the data.
    """
    train, skipped = found.train, [*found.train.skipped, *(found.held_out.skipped if found.held_out else ())]
    notes = [f"{number:,} x {note}" for note, number in train.notes.items()]
    if given is not None:
        held, rule = given.held_out or given.train, f"the pictures in {shown(valid or '')}"
        skipped += held.skipped
    elif found.held_out is not None:
        held, rule = found.held_out, apart
    else:
        train, held, rule = split_album(train, even=even)
    if not len(train) or not len(held):
        raise DataError(f"{len(train)} pictures to train on and {len(held)} held out are too few", where=name)
    described = f"{len(train) + len(held):,} pictures ({name})"
    if skipped:
        notes.append(f"{len(skipped):,} skipped: {listed([f'{name} ({why})' for name, why in skipped])}")
    return PictureData(
        train=train,
        held_out=held,
        rule=rule,
        fingerprint=key(train.fingerprint, held.fingerprint),
        described=described,
        notes=(described, *notes),
        skipped=tuple(skipped),
        amounts={"pictures": len(train), "held_out": len(held)},
        taken=found.taken,
    )


def _read(
    sources: Sequence[str], valid: str | None, asked: PictureTraining, count: Count | None, *, labels: bool
) -> tuple[FoundPictures, FoundPictures | None]:
    """The pictures in files, or the sample; and those to be held out, where they are named."""
    how: dict[str, Any] = {"labels": labels, "skip": asked.allowed, "label": getattr(asked, "label_column", None)}
    found = read_images(sources, **how, progress=count) if sources else FoundPictures(digits(), None)
    places = [s for s in sources if valid is not None and (Path(s).is_dir() or is_archive(Path(s)))]
    tables = valid is not None and is_picture_table(Path(valid))
    return found, None if valid is None else read_images([valid, *places] if tables else [valid], **how)


def _same_classes(train: Album, held: Album, rule: str) -> None:
    unknown = sorted(set(held.classes) - set(train.classes))
    if unknown:
        problem = f"held out are pictures of {listed(unknown)}, of which there are none to train on"
        raise DataError(problem, where=rule, fix="give both the same class names")


ON_SHEET = 40  # pictures on a contact sheet
SHEET_SIDE = 128  # pixels of the shorter side of a picture on a sheet


def pictures_in_numbers(album: Album) -> dict[str, Any]:
    """How many pictures there are, of which sizes and kinds."""
    sizes = []
    for picture in album.pictures:
        if picture.kept is not None:
            height, width = (round(side * picture.kept.span) for side in picture.kept.pixels.shape[:2])
            sizes.append((height * width, width, height))
    grey = sum(p.kept is not None and p.kept.pixels.shape[2] == 1 for p in album.pictures)
    classes = Counter(album.labels or ())
    found: dict[str, Any] = {
        "count": len(album),
        "kinds": dict(Counter(Path(n).suffix.lower() or "no ending" for n in album.names)),
    }
    if sizes:
        sizes.sort()
        pick: Mapping[str, tuple[int, int, int]] = {
            "smallest": sizes[0], "typical": sizes[len(sizes) // 2], "largest": sizes[-1]
        }  # fmt: skip
        found["sizes"] = {name: f"{width} x {height}" for name, (_, width, height) in pick.items()}
        found["grey"] = grey
    if 0 < len(classes) <= len(album) / 2:
        found["classes"] = dict(classes.most_common())
        found["typical_class"] = round(median(classes.values()))
    return found


def contact_sheet_of(album: Album, title: str, format: str) -> bytes:
    """A sheet of pictures spread evenly over an album, each with its name and its class."""
    from weft.inspect.sheets import contact_sheet

    some = [len(album) * k // min(ON_SHEET, len(album)) for k in range(min(ON_SHEET, len(album)))]
    pixels = [album.read(k, SHEET_SIDE).pixels for k in some]
    names = [" ".join(filter(None, [Path(album.names[k]).name, album.pictures[k].label])) for k in some]
    return contact_sheet(pixels, names, title=f"{title}: {len(some)} of {len(album):,} pictures", format=format)  # type: ignore[arg-type]
