"""Pictures to learn from and pictures held out: a pure function of their contents and labels."""

from collections import defaultdict

from weft.domains.pictures.reading.album import Album
from weft.domains.pictures.reading.copies import copied
from weft.files.held_out import SHARE, split_rows


def split_album(album: Album, share: float = SHARE, *, even: bool = True) -> tuple[Album, Album, str]:
    """Hold out about a share of every class, those whose content has the lowest SHA-256; also the rule in words.

    Labels matter only where shares are to be `even`. Identical pictures fall on the same side, and so do copies:
    saved again in another format, turned or mirrored. Of each class with two different pictures at least one is held
    out, and at least one stays.
    """
    labels = album.labels if even else None
    sides = split_rows(range(len(album)), _keys(album), share, what="pictures", groups=labels)
    each = "of each class " if labels else ""
    rule = (
        f"{len(sides[1]):,} of {len(album):,} pictures: about {share:.0%} {each}are held out, those whose content has "
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
