"""One process or many: the same run. Every task with its own chance: losses, samples and what is left behind.

`python tests/laws/test_one_or_many.py` prints the largest difference of each task (docs/scaling.md).
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.steps import few_quick
from helpers.together import Together
from helpers.trials import DATA, EVERY, train

import weft
from weft.training.earlier import upgraded

EXACT = 1e-6  # of a loss
STEPS: dict[str, Any] = {"steps": 4, "evaluate_every": 2, "record_samples": True}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in EVERY},
    "language-model, gpt": ("language-model", {"model": "gpt", "model.embed.grams.buckets": None}),
    "language-model, lstm": ("language-model", {"model": "lstm", "model.embed.grams.buckets": None}),
    "translate, lstm-attention": ("translate", {"model": "lstm-attention"}),
    "embed-words, cbow": ("embed-words", {"contexts": "cbow"}),
    "embed-words, glove": ("embed-words", {"model": "glove"}),
    "classify-images, resnet": ("classify-images", {"model": "resnet", "patch": None, "dropout": None, "drop": None,
                                                    "heads": None}),
    "caption, coca": ("caption", {"model": "coca"}),
    "answer, swift": ("answer", {"model": "swift"}),
    "parse, gaps": ("parse", {"model": "gaps"}),
}  # fmt: skip
QUICK = ("language-model", "classify-text", "embed-words")
# rows of one batch that are no samples, and cannot be divided
WHOLE = {"fit-field": {"batch": 4}}


def settings_of(variant: str) -> tuple[str, dict[str, Any]]:
    """The task of a variant, and its settings with all that lets chance in."""
    name, more = VARIANTS[variant]
    return name, {**EVERY[name].drawn, **STEPS, **WHOLE.get(name, {}), **more}


def apart(one: weft.Run, other: weft.Run) -> float:
    """The largest difference of losses, as a share of the loss; the samples must be the same."""
    lines = list(zip(one.metrics, other.metrics, strict=True))
    assert [a.get("samples") for a, _ in lines] == [b.get("samples") for _, b in lines]
    pairs = [(a[name], b[name]) for a, b in lines for name in ("loss", "held_out") if name in a]
    return max(abs(a - b) / abs(a) for a, b in pairs)


@pytest.fixture(scope="module")
def two() -> Iterator[Together]:
    with Together(2) as pair:
        yield pair


@pytest.fixture(scope="module")
def four() -> Iterator[Together]:
    with Together(4) as some:
        yield some


@pytest.mark.parametrize("variant", few_quick(VARIANTS, QUICK))
def test_two_processes_train_the_run_of_one(variant: str, two: Together, tmp_path: Path) -> None:
    name, settings = settings_of(variant)
    alone = train(name, EVERY[name].data, out=tmp_path / "one", **settings)
    two.train(name, tmp_path / "two", **settings)
    assert apart(alone, weft.load(tmp_path / "two")) <= EXACT


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_four_processes_train_the_run_of_one(variant: str, four: Together, tmp_path: Path) -> None:
    name, settings = settings_of(variant)
    settings |= {"batch": 4}
    alone = train(name, EVERY[name].data, out=tmp_path / "one", **settings)
    four.train(name, tmp_path / "four", **settings)
    assert apart(alone, weft.load(tmp_path / "four")) <= EXACT


ONLY_WHOLE = ("caption, coca", "classify-images, resnet", "distill-images")  # what looks at a whole batch


@pytest.mark.parametrize("variant", few_quick([one for one in VARIANTS if one not in ONLY_WHOLE], ("language-model",)))
def test_a_batch_in_pieces_trains_the_run_of_the_whole(variant: str, tmp_path: Path) -> None:
    name, settings = settings_of(variant)
    whole, pieces = (
        train(name, EVERY[name].data, out=tmp_path / str(micro), micro=micro, **settings) for micro in (None, 1)
    )
    assert apart(whole, pieces) <= EXACT


@pytest.mark.parametrize("name", [path.name for path in sorted((DATA.parent / "begun").iterdir())])
def test_a_run_begun_by_an_earlier_version_goes_on_drawing_by_process(name: str) -> None:
    config = json.loads((DATA.parent / "begun" / name / "config.json").read_text())
    assert upgraded(config, name)["training"]["as_one"] is False


def main() -> None:
    """The largest difference of each task, for two and four processes."""
    import tempfile

    with tempfile.TemporaryDirectory() as place, Together(2) as pair, Together(4) as some:
        for variant in sys.argv[1:] or VARIANTS:
            name, settings = settings_of(variant)
            settings |= {"batch": 4}
            folder = Path(place) / variant.replace(", ", "-")
            alone = train(name, EVERY[name].data, out=folder / "1", **settings)
            found = []
            for group in (pair, some):
                group.train(name, folder / str(group.size), **settings)
                found.append(apart(alone, weft.load(folder / str(group.size))))
            print(f"| {variant} | {found[0]:.0e} | {found[1]:.0e} |", flush=True)


if __name__ == "__main__":
    main()
