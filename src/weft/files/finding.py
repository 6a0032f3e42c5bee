"""Finding users' files. Knows names, folders and patterns; refuses to know what the files mean.

A file named by hand is taken or refused with an error; one met in a folder or by a pattern is taken, or listed with a
reason.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from weft.errors import DataError, nearest
from weft.files import foreign
from weft.files.bad_rows import reasons
from weft.files.bounds import OUTSIDE, leads_out, link_leads_out
from weft.files.decoding import GZIP, HEAD, is_binary, is_utf8, is_wide, kind, opened, shown, wide_encoding
from weft.files.pictures.formats import is_archive, named_as_picture

TWICE = "already taken"
NOT_TEXT = (".xlsx", ".parquet")  # files of rows, which have libraries of their own
TRIED = 1000  # files of other endings that are opened to tell whether they are text
FEW = 20  # names that can be listed in a message

_endings: ContextVar[tuple[str, ...]] = ContextVar("endings", default=())


@contextmanager
def endings_said(endings: Sequence[str]) -> Iterator[None]:
    """Within this block, files of text in folders are those with the endings that a user names; none leaves it open."""
    token = _endings.set(
        tuple(f".{one.strip().lower().lstrip('.')}" for one in endings if one.strip()) or _endings.get()
    )
    try:
        yield
    finally:
        _endings.reset(token)


def endings_asked() -> tuple[str, ...]:
    """The endings of the files of text that a user wants to be read; none where nobody says."""
    return _endings.get()


@dataclass(frozen=True)
class FoundFiles:
    """Files to read, in order, and what was left out: (name, reason).

    `passed_by` has the bytes of files of text in folders, by their endings, that were left out for these alone.
    """

    paths: tuple[Path, ...]
    skipped: tuple[tuple[str, str], ...]
    passed_by: Mapping[str, int] = field(default_factory=dict)


def ending(path: str | Path, endings: tuple[str, ...]) -> str | None:
    """Which of the endings a file's name has, whether or not `.gz` follows it; letter case does not matter."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((e for e in endings if name.endswith(e)), None)


def is_pattern(name: str | Path) -> bool:
    """Whether a name that no file has stands for several."""
    return any(mark in str(name) for mark in "*?[")


def require_data(sources: Iterable[str], where: str, command: str) -> None:
    """Refuse to go on with data that was moved or deleted since a run was made; `command` names its new place."""
    for source in sources:
        if not is_pattern(source) and not os.path.exists(source):
            problem = f"the data that this run was trained on is no longer at {shown(Path(source))}"
            raise DataError(problem, where=where, fix=f"if it has moved, say where it is: {command}")


def missing(path: Path) -> DataError:
    """The error for a name that is not there, with the nearest one that is."""
    names = [name for name in os.listdir(path.parent) if name[0] != "."] if path.parent.is_dir() else []
    hint = nearest(path.name, names[:1000]) if names else ""
    fix = hint if len(names) <= FEW or hint.startswith("did you mean") else ""
    return DataError("no such file or folder", where=shown(path), fix=fix)


def matching(pattern: Path) -> tuple[Path, list[Path]]:
    """The folder below which a glob pattern looks, and what it matches there, by name.

    `**` does not follow links, so a loop of links cannot trap it.
    """
    fixed = next((i for i, part in enumerate(pattern.parts) if is_pattern(part)), None)
    if fixed is None:
        raise missing(pattern)
    root = Path(*pattern.parts[:fixed])
    try:
        return root, sorted(root.glob("/".join(pattern.parts[fixed:])))
    except (ValueError, OSError) as error:
        raise DataError(f"not a usable pattern: {error}", where=shown(pattern)) from None


def find(
    sources: Sequence[str | Path], endings: tuple[str, ...], *, text: bool = True, others: bool = False
) -> FoundFiles:
    """The files that the sources stand for: a file, a folder with all below it, or a glob pattern.

    The order is that of the sources, and by name within a folder or pattern. A file is taken once, however often it is
    met. With `text`, files in folders that hold binary data are left out. With `others`, a file named by hand may have
    any ending, and a folder or pattern without one of these endings gives all files that are text.
    """
    if not sources:
        raise DataError("no data was named", fix=f"name files or folders with {_listed(endings)} files")
    search = _Search(endings, text, others)
    for source in sources:
        search.source(source)
    return FoundFiles(tuple(search.taken.values()), tuple(search.skipped), dict(search.passed_by.most_common()))


class _Search:
    """One search: what was taken (by real path), which folders were entered, what was skipped."""

    def __init__(self, endings: tuple[str, ...], text: bool, others: bool):
        self.endings, self.text, self.others = endings, text, others
        self.any = False  # whether files of all endings are taken now
        self.taken: dict[str, Path] = {}
        self.entered: set[tuple[int, int]] = set()
        self.skipped: list[tuple[str, str]] = []
        self.passed_by = Counter[str]()
        self.tried = 0  # files of other endings that were opened to tell whether they are text

    def source(self, source: str | Path) -> None:
        path = Path(source)
        if not os.path.lexists(path):
            self.pattern(path)
            return
        try:
            info = path.stat()
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", where=shown(path)) from None
        if stat.S_ISDIR(info.st_mode):
            self.several(path, path, [path])
        else:
            self.named(path, info)

    def named(self, path: Path, info: os.stat_result) -> None:
        """A file named by hand: anything wrong with it is an error."""
        if not stat.S_ISREG(info.st_mode):
            fix = "save what it holds as a file first"
            raise DataError(f"expected a file or folder, found {kind(info)}", where=shown(path), fix=fix)
        if ending(path, self.endings) is None and not self.others:
            if known := foreign.by_ending(path):
                raise foreign.refusal(known, path, shown(path))
            fix = f"convert it to one of the kinds that are read here: {_listed(self.endings)}"
            raise DataError("the ending of this file is not known", where=shown(path), fix=fix)
        with opened(path):
            self.take(path)

    def pattern(self, path: Path) -> None:
        """What a glob pattern matches."""
        self.several(path, *matching(path))

    def several(self, source: Path, root: Path, starts: list[Path]) -> None:
        """Walk from starting points at or below a root; at least one file must come of it."""
        known, before, run = len(self.taken), len(self.skipped), lru_cache(None)(is_run)
        entered = set(self.entered)
        for start in starts:
            if any(part.startswith(".") for part in start.relative_to(root).parts):
                self.skip(start, "hidden")
            elif any(run(folder) for folder in start.parents if folder.is_relative_to(root)):
                self.skip(start, "in a run of weft's, not data")
            elif leads_out(start, root):
                self.skip(start, OUTSIDE)
            else:
                self.walk(start, root)
        fresh = self.skipped[before:]
        if len(self.taken) > known or any(reason == TWICE for _, reason in fresh):
            return
        if not self.others or self.any or endings_asked():
            problem = f"0 files to read, {len(fresh)} skipped{':' if fresh else ''}{reasons(fresh)}"
            raise DataError(problem, where=shown(source), fix=f"known endings are {_listed(self.endings)}")
        self.entered, self.any = entered, True
        del self.skipped[before:]
        self.several(source, root, starts)
        self.any = False

    def walk(self, start: Path, root: Path) -> None:
        """Take or skip everything from a starting point down, in order of name. Nothing here raises."""
        waiting = [start]
        while waiting:
            path = waiting.pop()
            if path != start and path.name.startswith("."):
                self.skip(path, "hidden")
                continue
            try:
                info = path.stat()
                if (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)) and link_leads_out(path, root):
                    self.skip(path, OUTSIDE)
                elif stat.S_ISDIR(info.st_mode):
                    waiting.extend(reversed(self.enter(path, info)))
                elif reason := self.unfit(path, info):
                    self.skip(path, reason)
                else:
                    self.take(path)
            except OSError as error:
                self.skip(path, f"cannot be read: {error.strerror}")
            except DataError as error:
                self.skip(path, error.problem)

    def enter(self, path: Path, info: os.stat_result) -> list[Path]:
        """The entries of a folder in order; none where it was read before or is a run of weft's."""
        place = (info.st_dev, info.st_ino)
        if place in self.entered:
            if path.is_symlink():
                self.skip(path, "a link to a folder already read")
            return []
        self.entered.add(place)
        if is_run(path):
            self.skip(path, "a run of weft's, not data")
            return []
        return [path / name for name in sorted(os.listdir(path))]

    def unfit(self, path: Path, info: os.stat_result) -> str:
        """Why a file met on the way is left out, or nothing."""
        if not stat.S_ISREG(info.st_mode):
            return kind(info)
        if ending(path, self.endings) is None and not self.any:
            self.pass_by(path, info)
            return f"not {_listed(self.endings)}"
        with opened(path) as file:
            # Text in the wrong wrapping (gzip, UTF-16) is let through: reading refuses it aloud, with the remedy.
            head = file.read(HEAD) if self.text and ending(path, NOT_TEXT) is None else b""
        if known := foreign.by_content(path, head):
            return known.name
        packed = head.startswith(GZIP) and path.name.lower().endswith(".gz") and not is_archive(path)
        if self.any and not packed and not is_utf8(head) and not is_wide(head):
            return "not text"
        return "binary" if is_binary(head) and not head.startswith(GZIP) and wide_encoding(head) is None else ""

    def pass_by(self, path: Path, info: os.stat_result) -> None:
        """Count the bytes of a file of another ending where it is text; of the first such files."""
        if not self.others or self.tried >= TRIED or foreign.by_ending(path) or named_as_picture(path.name):
            return
        self.tried += 1
        with opened(path) as file:
            head = file.read(HEAD)
        if is_utf8(head) and not is_binary(head):
            self.passed_by[path.suffix.lower()] += info.st_size

    def take(self, path: Path) -> None:
        real = os.path.realpath(path)
        if real in self.taken:
            self.skip(path, TWICE)
        else:
            self.taken[real] = path

    def skip(self, path: Path, reason: str) -> None:
        self.skipped.append((shown(path), reason))


def _listed(endings: tuple[str, ...]) -> str:
    return f"{', '.join(endings)} (.gz may follow)"


def is_run(folder: Path) -> bool:
    """Whether a folder is what a training run of weft's leaves behind."""
    holds = [(folder / name).is_file() for name in ("config.json", "metrics.jsonl", "model.safetensors")]
    return holds[0] and (holds[1] or holds[2])
