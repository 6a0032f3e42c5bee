"""Pictures to learn from and pictures held out: a pure function of their contents and labels."""

from weft.data.held_out import SHARE, held_digests
from weft.data.images.album import Album


def split_album(album: Album, share: float = SHARE, *, even: bool = True) -> tuple[Album, Album, str]:
    """Hold out about a share of every class, those whose content has the lowest SHA-256; also the rule in words.

    Unless the shares are to be `even`, labels have no say.
    Identical pictures fall on the same side. Of each class with two different pictures at least one is held out, and at
    least one stays.
    """
    labels = album.labels if even else None
    held = set(held_digests(album.digests, share, what="pictures", groups=labels))
    sides: tuple[list[int], list[int]] = ([], [])
    for index, digest in enumerate(album.digests):
        sides[digest in held].append(index)
    each = "of each class " if labels else ""
    rule = (
        f"{len(sides[1]):,} of {len(album):,} pictures: about {share:.0%} {each}are held out, those whose content has the "
        "lowest SHA-256, so that identical pictures fall on the same side"
    )
    return album.take(sides[0]), album.take(sides[1]), rule
