"""The samples that ship, by their fingerprints: a run on a sample is resumed and measured on the very same data.

Python's help texts differ from version to version, so the sample that is made of them is tried with texts of our own.
"""

import json
from pathlib import Path
from pydoc_data import topics

import pytest

from weft.domains.registry import CARDS

KNOWN: dict[str, str] = json.loads((Path(__file__).parents[1] / "fixtures" / "samples.json").read_text())
TOPICS = {f"TOPIC{number}": f"\n{number} threads\nof weft\n" * (number + 1) for number in range(40)}
LONG = {"caption", "answer"}  # 5,500 scenes are drawn


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in CARDS])
def test_a_sample_is_what_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name.endswith("-images"):
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    monkeypatch.setattr(topics, "topics", TOPICS)
    found = CARDS[name].reader.read([], None, CARDS[name].training())
    assert found.fingerprint == KNOWN[name], "the sample, or how its fingerprint is made, has changed"


def test_every_task_has_its_sample_in_the_table() -> None:
    assert list(KNOWN) == list(CARDS)
