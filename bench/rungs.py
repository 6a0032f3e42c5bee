"""What a size costs that is one step of the ladder too small or too large: language models after some minutes.

    python bench/rungs.py TEXT --minutes 1 5 20 [--threads 1] [--out rungs.json]

For each number of minutes weft names the size that it would take, and trains that size and its two neighbours for as
long. Every model is scored on the same held-out part. The rate is measured once, so that all plans have the same.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from weft.domains.texts.recipe.language import LADDER, RECIPE, for_budget, step_operations, with_batch
from weft.tasks.sizing import Sizing
from weft.training.precision import pick_device, pick_precision, product_rate

VOCAB = 4096
WORDS = {-1: "one smaller", 0: "the one taken", 1: "one larger"}


def trained(text: Path, minutes: float, rung: int, rate: float, tokens: int) -> dict[str, Any]:
    """Train one rung by the command line; returns what the command reports, and the rung's size."""
    size = LADDER[rung]
    seen = rate * 60 * minutes / step_operations(size, VOCAB)
    sized = with_batch(size, seen, tokens)
    own = {"dim": size.dim, "depth": size.depth, "heads": size.heads, "context": size.context, "batch": sized.batch,
           "dropout": sized.dropout, "tokenizer": "bpe", "vocab": VOCAB}  # fmt: skip
    weft = str(Path(sys.executable).with_name("weft"))
    with tempfile.TemporaryDirectory() as folder:
        asked = [weft, "train", str(text), "--task", "language-model", "--minutes", str(minutes), "--json"]
        asked += [word for name, value in own.items() for word in ("--set", f"{name}={value}")]
        report = subprocess.run([*asked, "--out", f"{folder}/run"], check=True, stdout=subprocess.PIPE).stdout
    return {"minutes": minutes, "dim": size.dim, "depth": size.depth, **json.loads(report)}


def main() -> None:
    """Train all rungs, the shortest runs first, and write what each reached after every run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("--minutes", type=float, nargs="+", default=[1, 5, 20])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("rungs.json"))
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)  # of the commands
    torch.set_num_threads(asked.threads)
    device = pick_device()
    rate = RECIPE.efficiency * product_rate(device, pick_precision("auto", device))
    tokens = asked.text.stat().st_size // 4
    found = []
    for minutes in sorted(asked.minutes):
        taken = LADDER.index(for_budget(Sizing(60 * minutes, rate), VOCAB, tokens).size)
        for off in (0, -1, 1):
            if not 0 <= taken + off < len(LADDER):
                continue
            found.append({**trained(asked.text, minutes, taken + off, rate, tokens), "rung": WORDS[off]})
            asked.out.write_text(json.dumps({"rate": rate, "threads": asked.threads, "runs": found}, indent=2) + "\n")
            print(json.dumps(found[-1]), flush=True)


if __name__ == "__main__":
    main()
