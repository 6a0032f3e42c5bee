"""Data larger than memory: how long a run takes to start and what it holds, and a million answers.

    python bench/large_data.py text --mb 1000        running text: the first start and the second, to the first step
    python bench/large_data.py pairs --mb 200        pairs of texts: the same; memory against that of 10 MB of pairs
    python bench/large_data.py answers --rows 1000000   short texts classified: peak memory, seconds to the first answer
    python bench/large_data.py answers --quick

The data is made in the folder --place (by default a temporary one), as is what is prepared from it. Each start and each
prediction is a process of its own. `peak_mb` is the peak of its resident set, files that are mapped into it included;
`own_mb` that of the memory which the kernel cannot drop (Linux only).
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

WORDS = 20_000  # different ones that texts are made of
START = """
import json, signal, sys, time
began = time.perf_counter()
import weft
data, task, prepared, out = sys.argv[1:]
ready = []
def begun(folder, say):
    ready.append(time.perf_counter() - began)
    signal.raise_signal(signal.SIGTERM)  # the step that is made now is the last one
try:
    weft.train(
        data, task=task, preset="tiny", steps=9, quiet=True, baselines=False, prepared=prepared, out=out, begun=begun)
except weft.errors.Interrupted:
    pass
print(json.dumps({"ready_s": round(ready[0], 1), "step_s": round(time.perf_counter() - began, 1)}))
"""


def words() -> list[str]:
    """Made-up words, the frequent ones short."""
    draw = random.Random(0)
    return ["".join(draw.choices("abcdefghijklmnoprstuvw", k=2 + n % 3 + n // 4000)) for n in range(WORDS)]


def sentences(seed: int) -> Iterator[str]:
    """Sentences without end, whose words are as frequent as those of a language are."""
    draw, known = random.Random(seed), words()
    weights = [1 / (n + 10) for n in range(WORDS)]
    while True:
        drawn = draw.choices(known, weights, k=100_000)
        for start in range(0, len(drawn), 12):
            yield " ".join(drawn[start : start + 12])


def written(path: Path, line: Callable[[int, str], str], size: int, *, head: str = "", rows: int | None = None) -> Path:
    """A file of lines, about of a size in bytes or of a number of rows."""
    done, whole = 0, path.with_suffix(path.suffix + ".whole")
    if whole.exists():
        return path
    with path.open("w") as file:
        file.write(head)
        for number, sentence in enumerate(sentences(1)):
            if done >= size if rows is None else number >= rows:
                break
            done += file.write(line(number, sentence) + "\n")
    whole.touch()
    time.sleep(3)  # what was changed less than two seconds before it is read is not remembered
    return path


def process(command: Sequence[str], watch: Callable[[], bool] = lambda: True) -> dict[str, Any]:
    """A command's last line of output as JSON, its seconds, the peak of its memory, and when `watch` was first true."""
    began, first, own = time.perf_counter(), list[float](), 0
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None

    def look() -> None:
        nonlocal own
        while child.returncode is None:
            if not first and watch():
                first.append(time.perf_counter() - began)
            own = max(own, own_kb(child.pid))
            time.sleep(0.05)

    threading.Thread(target=look, daemon=True).start()
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)[:200]} ended with {child.returncode}")
    found = json.loads(output.strip().splitlines()[-1]) if output.strip().endswith("}") else {}
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    peak = round(usage.ru_maxrss / 1024)
    told = {"seconds": round(seconds, 1), "cpu_s": round(cpu, 1), "peak_mb": peak, "own_mb": round(own / 1024)}
    return {**found, **told, "first_s": first[:1]}


def own_kb(process: int) -> int:
    """What a process holds now in memory of its own; 0 where that is not known."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def started(data: Path, task: str, place: Path) -> dict[str, Any]:
    """A run that is stopped after its first step on data, in a process of its own."""
    out = place / "run"
    shutil.rmtree(out, ignore_errors=True)
    found = process([sys.executable, "-c", START, str(data), task, str(place / "kept"), str(out)])
    return {name: found[name] for name in ("ready_s", "step_s", "cpu_s", "peak_mb", "own_mb")}


def text(place: Path, size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Two starts on running text."""
    data = written(place / f"text-{size}.txt", lambda n, line: line + ".", size)
    yield "first start", started(data, "language-model", place)
    yield "second start", started(data, "language-model", place)


def pairs(place: Path, size: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Two starts on pairs, and two on few of them."""
    for bytes_ in (10 * 10**6, size):
        data = written(place / f"pairs-{bytes_}.tsv", lambda n, line: f"{line}\t{line[::-1]} {n}", bytes_)
        yield f"{bytes_ / 1e6:.0f} MB, first start", started(data, "translate", place)
        yield f"{bytes_ / 1e6:.0f} MB, second start", started(data, "translate", place)


def answers(place: Path, rows: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Many short texts classified by the smallest model."""
    label: Callable[[int, str], str] = lambda n, line: f"{line[:30]} {'good' if n % 2 else 'bad'},{'ab'[n % 2]}"  # noqa: E731
    learned = written(place / "few.csv", label, 0, head="text,label\n", rows=2000)
    run, data = place / "labels", written(place / f"many-{rows}.csv", label, 0, head="text,label\n", rows=rows)
    if not (run / "config.json").exists():
        weft = [sys.executable, "-m", "weft"]
        subprocess.run([*weft, "train", learned, "--preset", "tiny", "--steps", "20", "--out", run], check=True)
    out = place / "answers.csv"
    part = out.with_name("answers.csv.part")
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "weft", "predict", str(run), str(data), "--output", str(out)]
    found = process(command, lambda: part.exists() and part.stat().st_size > 200)
    with out.open() as file:
        assert sum(1 for _ in file) == rows + 1
    yield f"{rows:,} texts", {name: found[name] for name in ("first_s", "seconds", "cpu_s", "peak_mb", "own_mb")}


def main() -> None:
    """Print what one of the three gives, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("text", "pairs", "answers"))
    parser.add_argument("--mb", type=int, default=250)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--place", type=Path, help="A folder on a disk with room; what is made there stays.")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    size, rows = (2 * 10**6, 3000) if given.quick else (given.mb * 10**6, given.rows)
    with tempfile.TemporaryDirectory(prefix="weft-large-") as temporary:
        place = given.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        made = {"text": lambda: text(place, size), "pairs": lambda: pairs(place, size)}
        for name, found in made.get(given.what, lambda: answers(place, rows))():
            print(f"{name:<28} {json.dumps(found)}", flush=True)


if __name__ == "__main__":
    main()
