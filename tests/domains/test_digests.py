"""What each task learns from and is measured on, against a table of digests: nothing of it ever changes."""

import copy
import json
from typing import Any

import pytest
from helpers.batch_digests import CASES, TABLE, TOLERANCE, Digest, differences, digests
from helpers.trials import TRIALS

from weft.domains.registry import CARDS

KNOWN: dict[str, Any] = json.loads(TABLE.read_text())


@pytest.mark.parametrize("case", CASES)
def test_batches_and_held_out_rows_are_what_they_were(case: str) -> None:
    needed = TRIALS[CASES[case][0]].needs
    if needed is not None:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    found = json.loads(json.dumps(digests(case)))
    assert case in KNOWN, "new cases are added to the table by: python -m helpers.batch_digests"
    assert list(differences(KNOWN[case], found)) == []


def test_every_task_is_in_the_table() -> None:
    assert list(KNOWN) == list(CASES) and set(CARDS) <= set(KNOWN)


def test_a_difference_is_noticed() -> None:
    for case, entry in KNOWN.items():
        other = copy.deepcopy(entry)
        other["batches"][1]["sha256"] = "0"
        assert list(differences(entry, other)) == [f"batches[1] sha256 was {entry['batches'][1]['sha256']} and is 0"], (
            case
        )
    known = KNOWN["forecast"]["held_out"]
    other = copy.deepcopy(known)
    other["means"][0][0] += 3 * TOLERANCE * max(1.0, abs(other["means"][0][0]))
    assert len(list(differences(known, other))) == 1
    assert list(differences(known, {**known, "means": known["means"][1:]}))


def test_a_digest_tells_values_types_shapes_and_order_apart() -> None:
    import numpy as np
    import torch

    values = [
        torch.arange(4),
        torch.arange(4).to(torch.int32),
        torch.arange(4).reshape(2, 2),
        torch.arange(4).flip(0),
        torch.zeros(4),
        torch.zeros(4, dtype=torch.float64),
        torch.tensor([0.0, 0.0, float("nan"), 0.0]),
        [torch.arange(2), torch.arange(2)],
        (torch.arange(4), None),
        {"a": 1},
        {"b": 1},
        "1",
        1,
        True,
        np.array(["a", "b"]),
        np.array(["ab"]),
    ]
    assert len({Digest().add(value).to_json()["sha256"] for value in values}) == len(values)
    assert Digest().add(torch.tensor([1.0, -3.0])).means == [[-1.0, -2.0]]
    assert Digest(signs=False).add(torch.tensor([1.0, -3.0])).means == [[2.0, 1.0]]
