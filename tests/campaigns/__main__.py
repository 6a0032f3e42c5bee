"""python -m campaigns [NAME ...]: runs campaigns and writes their counts to docs/reliability.md and docs/interop.md."""

import argparse
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from campaigns import (
    answers,
    families,
    flips,
    hostile,
    kills,
    links,
    lying,
    model_types,
    mutants,
    outputs,
    saves,
    subjects,
    uploads,
)
from campaigns.tally import Tally, table, write_between

DOCS = Path(__file__).parents[2] / "docs"
CAMPAIGNS: dict[str, Callable[[Path, int], Tally]] = {
    "kills": lambda place, count: kills.kills(None, place / "kills"),
    "answers": lambda place, count: answers.answers(count or 100, place / "answers"),
    "disk-faults": lambda place, count: saves.disk_faults(place / "disk"),
    "flips": lambda place, count: flips.flips(count or 2000, place),
    "mutants": lambda place, count: mutants.mutants(subjects.every(place / "runs"), count or 5000, place, tell=print),
    "links": lambda place, count: links.links(place / "links", count=count, tell=print),
    "outputs": lambda place, count: outputs.outputs(place / "outputs"),
    "hostile-folders": lambda place, count: hostile.hostile(place / "hostile"),
    "lying-files": lambda place, count: lying.lying(place / "lying"),
    "uploads": lambda place, count: uploads.uploads(place / "uploads"),
    "model-types": lambda place, count: model_types.model_types(place / "types"),
}
FAMILIES = "families"  # its table is of another kind, and stands on another page


def run(name: str, place: Path, count: int, docs: Path | None) -> Tally:
    """One campaign, in a process of its own; its table is written into its page among `docs`."""
    place.mkdir(parents=True, exist_ok=True)
    if name == FAMILIES:
        found = families.families(place / "family")
        tally, page = families.tally_of(found), "interop.md"
        content = table(families.HEADER, [result.row(kind) for kind, result in found.items()], words=(1, 6))
    else:
        tally, page = CAMPAIGNS[name](place, count), "reliability.md"
        content = table(("what was tried", "times", "missed"), tally.rows())
    if docs is not None:
        write_between(docs / page, name, content)
    return tally


def main() -> int:
    """The number of campaigns that missed something."""
    parser = argparse.ArgumentParser(prog="campaigns", description=__doc__)
    names = (*CAMPAIGNS, FAMILIES)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which of {', '.join(names)}; all where none is named"
    )
    parser.add_argument("--count", type=int, default=0, help="how many of each, where that can be chosen")
    parser.add_argument("--no-page", action="store_true", help="do not write into the pages")
    asked = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        for name in asked.names or names:
            child = os.fork()  # each begins with a fresh interpreter's memory
            if child == 0:
                tally = run(name, Path(place), asked.count, None if asked.no_page else DOCS)
                print(
                    f"{name}: {tally.total:,} tried, {len(tally.problems)} missed",
                    *tally.problems,
                    sep="\n",
                    flush=True,
                )
                os._exit(bool(tally.problems))
            failed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
