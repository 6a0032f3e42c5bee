"""Pictures to learn from and pictures held out: a pure function of their contents and labels."""

from collections import defaultdict

from weft.data.images.album import Album
from weft.errors import ConfigError, DataError

SHARE = 0.1


def split_album(album: Album, share: float = SHARE, *, even: bool = True) -> tuple[Album, Album, str]:
    """Hold out about a share of every class, those whose content has the lowest SHA-256; also the rule in words.

    Unless the shares are to be `even`, labels have no say.
    Identical pictures fall on the same side. Of each class with two different pictures at least one is held out, and at
    least one stays.
    """
    if not 0 < share < 1:
        raise ConfigError(f"expected a share between 0 and 1, found {share}", where="share")
    groups: defaultdict[str, set[bytes]] = defaultdict(set)
    seen: dict[bytes, str] = {}
    labels = album.labels if even else None
    for label, digest in zip(labels or [""] * len(album), album.digests, strict=True):
        # A picture under several labels is dealt out with the first of them, so that all its copies stay together.
        groups[seen.setdefault(digest, label)].add(digest)
    held = {one for digests in groups.values() for one in _lowest(digests, share)}
    if not held:
        problem = f"{len(seen)} different pictures are too few to hold some out"
        raise DataError(problem, fix="add more pictures, or name other data to validate on")
    sides: tuple[list[int], list[int]] = ([], [])
    for index, digest in enumerate(album.digests):
        sides[digest in held].append(index)
    each = "of each class " if labels else ""
    rule = (
        f"{len(sides[1]):,} of {len(album):,} pictures: about {share:.0%} {each}are held out, those whose content has the "
        "lowest SHA-256, so that identical pictures fall on the same side"
    )
    return album.take(sides[0]), album.take(sides[1]), rule


def _lowest(digests: set[bytes], share: float) -> list[bytes]:
    """About a share of the digests: at least one and not all, where there are two."""
    count = min(max(1, round(share * len(digests))), len(digests) - 1)
    return sorted(digests)[:count]
