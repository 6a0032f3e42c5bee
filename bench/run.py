"""All measurements, one script after another, each in a process of its own; `make bench` runs this.

python bench/run.py                  measure, write results.json, print the tables
python bench/run.py --only window    measure again in part; the other results stay
python bench/run.py --markdown       measure nothing: put the tables of results.json into README.md
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from report import Table, arguments, machine

HERE = Path(__file__).parent
RESULTS, README = HERE / "results.json", HERE / "README.md"
SCRIPTS = ("startup", "train_gpt", "generate_gpt2", "small_steps", "window", "train_translation", "decode_translation",
           "vit", "pictures", "quality_lm")  # fmt: skip
BEGIN, END = "<!-- results: python bench/run.py --markdown -->", "<!-- end of results -->"


def run(script: str, options: list[str]) -> list[dict[str, Any]] | None:
    """The tables of one script, or None if it failed and said why."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "tables.json"
        command = [sys.executable, str(HERE / f"{script}.py"), "--json", str(found), *options]
        print(f"bench: {' '.join(command[1:2] + options)}", file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        return json.loads(found.read_text()) if done.returncode == 0 else None


def markdown(results: dict[str, Any]) -> str:
    """All tables, under the machines they were measured on."""
    pages, said = [], None
    for script in (script for script in SCRIPTS if script in results):
        here = described(results[script]["machine"])
        pages += [here] if here != said else []
        pages += [Table(**table).markdown() for table in results[script]["tables"]]
        said = here
    loads = ", ".join(f"{script} {results[script]['machine']['load']}" for script in SCRIPTS if script in results)
    return "\n\n".join([*pages, f"Load of the machine before each script: {loads}."])


def described(m: dict[str, Any]) -> str:
    """Where and when, in a sentence."""
    cores = f"{m['cores']} cores ({m['threads']} threads used)"
    where = f"{m['processor']}, {cores}, {m['vectors']}, {m['bf16']}, torch {m['torch']}, Python {m['python']}"
    quick = " **Quick sizes on a busy machine: a placeholder, the numbers mean nothing.**" if m["quick"] else ""
    return f"{m['date']}: {where}.{quick}"


def put_into_readme(text: str) -> None:
    """Replace the results of the README."""
    before, _, rest = README.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--only", metavar="SCRIPT,...", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument("--quality", action="store_true", help="train to quality too: about 12 minutes more")
    parser.add_argument("--markdown", action="store_true", help="only put the stored results into README.md")
    given = parser.parse_args()
    path = given.json or (None if given.quick else RESULTS)
    results = json.loads(path.read_text()) if path is not None and path.exists() else {}
    if given.markdown:
        put_into_readme(markdown(results))
        return 0
    chosen = given.only.split(",") if given.only else [s for s in SCRIPTS if given.quality or s != "quality_lm"]
    if unknown := set(chosen) - set(SCRIPTS):
        parser.error(f"there is no script {', '.join(sorted(unknown))}; there are {', '.join(SCRIPTS)}")
    failed = []
    for script in chosen:
        options = [f"--{name}" for name in ("quick", "bf16") if getattr(given, name)]
        now = {**machine(), "quick": given.quick}
        tables = run(script, [*options, *(["--peer"] if script == "quality_lm" else [])])
        if tables is None:
            failed.append(script)
            continue
        results[script] = {"machine": now, "tables": tables}
        if path is not None:
            path.write_text(json.dumps(results, indent=1) + "\n")
    print(markdown({script: results[script] for script in chosen if script in results}))
    if failed:
        print(f"bench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
