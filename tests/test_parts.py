"""Names that are in people's runs and settings that they give: none is lost or changed, against a table of them."""

import copy
import json
from typing import Any

import pytest
from helpers.part_table import TABLE, kept, part_table

KNOWN: dict[str, Any] = json.loads(TABLE.read_text())


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """All parts, settings and cards of today."""
    return json.loads(json.dumps(part_table()))


def test_no_name_is_lost_or_changed(found: dict[str, Any]) -> None:
    assert kept(KNOWN, found) == []


def test_every_name_is_in_the_table(found: dict[str, Any]) -> None:
    assert found == KNOWN, "new names are added to the table by: python -m helpers.part_table"


def test_types_name_no_module() -> None:
    words = {field["type"] for part in KNOWN["parts"].values() for field in part["fields"].values()}
    assert len(words) > 50 and not any("weft" in word or "<" in word or "typing" in word for word in words)


def test_a_loss_or_a_change_is_noticed() -> None:
    """Of a part, a field, its type, its default, its order, the slot it fills, a model, a task's place, a setting."""
    changes = [
        lambda table: table["parts"].pop("Rotary"),
        lambda table: table["parts"]["Rotary"]["fields"].popitem(),
        lambda table: table["parts"]["Rotary"]["fields"].update(more={"type": "int", "default": 1}),
        lambda table: table["parts"]["Attention"]["fields"]["heads"].update(type="float"),
        lambda table: table["parts"]["Additive"]["fields"]["temperature"].update(default=1),
        lambda table: table["parts"]["Additive"]["kinds"].remove("Score"),
        lambda table: table["parts"]["Additive"].update(builds=False),
        lambda table: table["parts"]["Attention"].update(
            fields=dict(reversed(table["parts"]["Attention"]["fields"].items()))
        ),
        lambda table: table["tasks"][0]["models"].reverse(),
        lambda table: table["tasks"].reverse(),
        lambda table: table["tasks"].pop(),
        lambda table: table["uses"]["parse"]["Predict"].pop("precision"),
        lambda table: table["uses"]["parse"].update(Look=None),
        lambda table: table["renamed"].pop("Shift"),
    ]
    for number, change in enumerate(changes):
        other = copy.deepcopy(KNOWN)
        change(other)
        assert kept(KNOWN, other), number
    more = copy.deepcopy(KNOWN)
    more["parts"]["Newcomer"] = more["parts"]["Rotary"]
    more["parts"]["Rotary"]["kinds"].append("Newcomer")
    assert kept(KNOWN, more) == []
