"""Labels of the nodes of one graph by several seeds, through `weft.train` and `Run.evaluate` as a user has them.

    python bench/citations.py cora.npz [--seeds 10] [--first 0] [--model NAME] [--keep FOLDER]

The file names nodes to train on, to validate on and to test on. Nothing but the seed is said to `weft.train`: the model
is the one that wins the race on validation nodes. Test nodes are measured at the end of each run and choose nothing;
plain methods, fitted on the nodes to train on, are measured on them once.
"""

import argparse
import json
import statistics
import tempfile
from collections import Counter
from pathlib import Path

import weft
from weft.domains.graphs.dataset.data import LabelledNodes
from weft.tasks.using import own_data
from weft.training.progress import Progress


def plain_methods(run: weft.Run) -> dict[str, float]:
    """The accuracy of each plain method on the nodes to test on."""
    data = own_data(run.task, run.loaded)
    test = LabelledNodes(data.held_out.graphs, data.held_out.others)
    measured = run.task.measure(run.loaded, test, Progress(quiet=True))
    return {one.name: one.tally.value for one in run.task.baselines(run.loaded, data, test, measured)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--model")
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    model = {} if asked.model is None else {"model": asked.model}
    with tempfile.TemporaryDirectory() as scratch:
        folder, rows = asked.keep or Path(scratch), []
        for seed in range(asked.first, asked.first + asked.seeds):
            out = folder / f"{asked.graph.stem}-{seed}"
            run = weft.train(asked.graph, seed=seed, out=out, quiet=True, baselines=False, **model)
            found = run.evaluate(baselines=False)
            row = {"seed": seed, "model": run.config["model_name"], "steps": run.report["steps"],
                   "validation": found["metrics"]["accuracy"], "test": found["test"]["accuracy"]}  # fmt: skip
            print(json.dumps(row), flush=True)
            rows.append(row)
        plain = plain_methods(run)
    test = [row["test"] for row in rows]
    chosen = Counter(row["model"] for row in rows)
    print(json.dumps({"mean": statistics.mean(test), "sd": statistics.pstdev(test), "chosen": chosen, "plain": plain}))


if __name__ == "__main__":
    main()
